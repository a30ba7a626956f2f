"""The state of an estimator as JSON and arrays, and back.

What Python calls a value is told by a tag, ``{"$": kind, ...}``; numbers, texts, truth values, None
and lists stand for themselves. Nothing in a file names code: classes come from the two tables
``ESTIMATORS`` and ``RECORDS``, and every other kind is made here.
"""

import math
import os

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..utils._records import ESTIMATORS, RECORDS, made_record
from ._file import array_segment, dtype_of, json_segment
from ._skeleton import Hollow, filled, function, is_step, number_type, vocabulary
from ._weights import LoadedWeights, StoredWeights

MATRICES = {
    name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
}
INDICES = "<i4", "<i8"
DEEPEST = 64  # values within values; those of a model are some ten deep, wrapped ones twenty


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


class Encoder:
    """Turns values into JSON and collects the arrays.

    Parameters
    ----------
    dtype, threshold : as in `SaveMixin.save`

    Attributes
    ----------
    segments : list of Segment
    n_weights : int
        Sets of linear weights, which dtype and threshold are for.
    """

    def __init__(self, dtype, threshold):
        self.dtype, self.threshold = dtype, threshold
        self.segments, self.n_weights = [], 0
        self._numbers = {}  # id of an array -> its number: what is shared is stored once
        self._kept = []  # so that no id is used twice

    def estimator(self, estimator):
        cls = type(estimator)
        if ESTIMATORS.get(cls.__name__) is not cls:
            raise TypeError(
                f"{cls.__module__}.{cls.__qualname__} is not an estimator of sklearn_xc; save the "
                "parts that are, or use skops or joblib"
            )
        parameters = estimator.get_params(deep=False)
        state = estimator._state_to_save(self) if _is_fitted(estimator) else {}
        name = cls.__name__
        return {
            "$": "estimator",
            "class": name,
            "parameters": {
                key: self.encode(value, f"parameter {key!r} of {name}")
                for key, value in parameters.items()
            },
            "attributes": {
                key: self.encode(value, f"attribute {key!r} of {name}")
                for key, value in state.items()
                if key not in parameters and key not in estimator._not_saved
            },
        }

    def encode(self, value, where):
        """JSON of a value; `where` says in an error what it is."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if type(value) is list:
            return [self.encode(item, where) for item in value]
        if type(value) is tuple:
            return {"$": "tuple", "values": [self.encode(item, where) for item in value]}
        if type(value) is dict:
            items = [[self.encode(part, where) for part in item] for item in value.items()]
            return {"$": "dict", "items": items}
        if isinstance(value, os.PathLike):  # a parameter such as `scratch`: a file has its text
            return self.encode(os.fspath(value), where)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"$": "scalar", "of": self._array(np.asarray(value), where)}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "value": value.str}
        if isinstance(value, np.random.RandomState):
            return {"$": "random_state", "state": self.encode(value.get_state(), where)}
        if isinstance(value, StoredWeights):
            return self._weights(value)
        if type(value) in MATRICES.values():
            return self._matrix(value, where)
        for name, matrix in MATRICES.items():
            if value is matrix:
                return {"$": "container", "value": name}
        if RECORDS.get(type(value).__name__) is type(value):
            fields = {key: self.encode(part, where) for key, part in vars(value).items()}
            return {"$": "record", "class": type(value).__name__, "fields": fields}
        if hasattr(value, "_state_to_save") and not isinstance(value, type) and not is_step(value):
            return self.estimator(value)
        if isinstance(value, BaseEstimator):
            return self.steps(value, where)
        raise TypeError(
            f"{where} is {value!r:.100} of type {type(value).__module__}.{type(value).__name__}, "
            "which a model file cannot hold: it takes numbers, texts, None, lists, tuples, dicts, "
            "NumPy and SciPy sparse arrays, RandomState and estimators of sklearn_xc"
        )

    def steps(self, estimator, where="the estimator"):
        """JSON of an estimator of scikit-learn, such as a Pipeline."""
        hollow = Hollow(self.encode)
        if not is_step(estimator):
            hollow.refuse(estimator, where)
        skeleton = np.frombuffer(hollow.skeleton(estimator), dtype=np.uint8)
        return {"$": "steps", "skeleton": self._array(skeleton, where), "parts": hollow.parts}

    def _add(self, segment):
        self.segments.append(segment)
        return len(self.segments) - 1

    def _array(self, array, where):
        if id(array) not in self._numbers:
            self._kept.append(array)
            if array.dtype.kind == "O":
                values = [self.encode(item, where) for item in array.ravel().tolist()]
                segment = json_segment(values)
            else:
                try:
                    segment = array_segment(array)
                except ValueError as error:
                    raise TypeError(f"{where}: {error}") from error
            self._numbers[id(array)] = self._add(segment)
        number = self._numbers[id(array)]
        if array.dtype.kind == "O":
            return {"$": "objects", "values": number, "shape": list(array.shape)}
        return {"$": "array", "number": number}

    def _matrix(self, matrix, where):
        names = "data", "indices", "indptr"
        return {
            "$": "matrix",
            "container": type(matrix).__name__,
            "shape": [int(n) for n in matrix.shape],
            **{name: self._array(getattr(matrix, name), where)["number"] for name in names},
        }

    def _weights(self, weights):
        self.n_weights += 1
        return {
            "$": "weights",
            "shape": [int(n) for n in weights.index.shape],
            "sparse": weights.is_sparse,
            "arrays": {name: self._add(part) for name, part in weights.segments().items()},
        }


class Decoder:
    """Makes values of a file's JSON and arrays.

    Parameters
    ----------
    reader : Reader
    mapped : bool
        Whether large arrays stay in the mapped file; what kernels or SciPy would follow blindly
        (index arrays) is in memory and checked either way.
    """

    def __init__(self, reader, mapped):
        self.reader, self.mapped = reader, mapped
        self._objects_of = {}  # number -> array: made once, as it was before it was saved
        self._depth, self._left = 0, reader.size  # a value takes a byte of the file at least

    def array(self, number, mapped):
        found = self.reader.view(number) if mapped else self.reader.copy(number)
        if not isinstance(found, np.ndarray):
            raise ValueError(f"array {number} is JSON")
        return found

    def decode(self, node):
        """The value of a node.

        Raises
        ------
        ValueError
            If it is of an unknown kind, deeper than any model, or more than the file can hold.
        """
        self._left -= 1
        if self._left < 0 or self._depth > DEEPEST:
            raise ValueError("its values are nested too deeply, or more than the file has room for")
        self._depth += 1
        try:
            return self._decoded(node)
        finally:
            self._depth -= 1

    def _decoded(self, node):
        if isinstance(node, list):
            return self._items(node)
        if not isinstance(node, dict):
            return node
        method = getattr(self, f"_{node['$']}", None) if node["$"] in KINDS else None
        if method is None:
            raise ValueError(f"values of the kind {node['$']!r} are unknown to this version")
        return method(node)

    def _items(self, values):
        """The values of a list; a million labels are texts, which stand for themselves."""
        self._left -= len(values)
        return [self.decode(v) if isinstance(v, (list, dict)) else v for v in values]

    def _estimator(self, node):
        cls = ESTIMATORS.get(node["class"])
        if cls is None:
            raise ValueError(f"{node['class']!r} is not an estimator of this version")
        parameters = {name: self.decode(value) for name, value in node["parameters"].items()}
        parameters = cls._renamed_parameters(parameters)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{node['class']} has no parameters {sorted(unknown)}")
        estimator = cls(**parameters)
        nodes = node["attributes"]
        for name in nodes:
            overrides = getattr(cls, name, None) is not None  # a method; None is a default
            if not name.isidentifier() or name.startswith("__") or overrides:
                raise ValueError(f"{name!r} is no attribute of a fitted {node['class']}")
            if name in parameters or name in cls._not_saved:
                raise ValueError(f"{name!r} is no attribute of a fitted {node['class']}")
        if nodes:
            origin = Origin(self, nodes) if self.mapped else None
            late = origin.late() if self.mapped else ()
            state = {name: self.decode(nodes[name]) for name in nodes if name not in late}
            estimator._set_loaded_state(state, origin)
        return estimator

    def _steps(self, node):
        skeleton = self.array(node["skeleton"]["number"], False)
        return filled(skeleton.tobytes(), [self.decode(part) for part in node["parts"]])

    def _vocabulary(self, node):
        return vocabulary(self.decode(node["words"]))

    def _number_type(self, node):
        return number_type(node["name"])

    def _function(self, node):
        return function(node["name"])

    def _float(self, node):
        if node["value"] not in ("inf", "-inf", "nan"):
            raise ValueError(f"{node['value']!r} is no float")
        return float(node["value"])

    def _tuple(self, node):
        return tuple(self.decode(value) for value in node["values"])

    def _dict(self, node):
        return {self.decode(key): self.decode(value) for key, value in node["items"]}

    def _array(self, node):
        return self.array(node["number"], self.mapped)

    def _scalar(self, node):
        array = self.array(node["of"]["number"], False)
        if array.ndim:
            raise ValueError("a scalar has dimensions")
        return array[()]

    def _objects(self, node):
        number = node["values"]
        if number not in self._objects_of:
            values = self.reader.copy(number)
            if not isinstance(values, list):
                raise ValueError("the values of an object array are no list")
            array = np.empty(len(values), dtype=object)
            array[:] = self._items(values)
            self._objects_of[number] = array
        return self._objects_of[number].reshape(node["shape"])

    def _dtype(self, node):
        return np.dtype(object) if node["value"] == "|O" else dtype_of(node["value"])

    def _container(self, node):
        return MATRICES[node["value"]]

    def _random_state(self, node):
        name, key, place, has_gauss, gauss = self.decode(node["state"])
        if name != "MT19937" or key.shape != (624,) or not 0 <= place <= 624:
            raise ValueError("a random state is out of range")  # NumPy would read beyond it
        state = np.random.RandomState()
        state.set_state((name, key, place, int(bool(has_gauss)), float(gauss)))
        return state

    def _matrix(self, node):
        container, shape = MATRICES[node["container"]], tuple(node["shape"])
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
            raise ValueError(f"a matrix has the shape {shape}")
        parts = [self.array(node[name], False) for name in ("data", "indices", "indptr")]
        kinds = [part.dtype.kind for part in parts]
        if kinds[0] not in "biuf" or any(part.dtype.str not in INDICES for part in parts[1:]):
            raise ValueError(f"a matrix of arrays of {[str(part.dtype) for part in parts]}")
        matrix = container(tuple(parts), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def _weights(self, node):
        arrays = node["arrays"]
        return LoadedWeights(
            tuple(node["shape"]),
            bool(node["sparse"]),
            lambda name, mapped: self.array(arrays[name], mapped),
            arrays,
            self.mapped,
        )

    def _record(self, node):
        cls = RECORDS.get(node["class"])
        if cls is None:
            raise ValueError(f"{node['class']!r} is unknown to this version")
        return made_record(cls, {n: self.decode(value) for n, value in node["fields"].items()})


KINDS = {
    "estimator", "float", "tuple", "dict", "array", "scalar", "objects", "dtype", "container",
    "random_state", "matrix", "weights", "record", "steps", "vocabulary", "number_type", "function",
}  # fmt: skip


def _is_late(node):
    """Whether there is a matrix in the node, which has to be read to be checked."""
    if isinstance(node, list):
        return any(_is_late(item) for item in node)
    if not isinstance(node, dict) or node.get("$") in ("estimator", "steps"):
        return False
    return node.get("$") == "matrix" or any(_is_late(part) for part in node.values())


class Origin:
    """The place in a mapped file that the attributes of an estimator came from.

    Parameters
    ----------
    decoder : Decoder
    nodes : dict
        Name -> node.
    """

    def __init__(self, decoder, nodes):
        self._decoder, self._nodes = decoder, nodes

    def late(self):
        """The names of the attributes that are not read with the others."""
        return [name for name, node in self._nodes.items() if _is_late(node)]

    def read(self, names=None):
        """Name -> attribute, of some or all, in memory and verified."""
        decoder = Decoder(self._decoder.reader, False)
        nodes = self._nodes if names is None else {name: self._nodes[name] for name in names}
        return {name: decoder.decode(node) for name, node in nodes.items()}
