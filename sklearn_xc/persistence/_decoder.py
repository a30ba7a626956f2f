"""Values of a file's JSON and arrays, whoever wrote them; `_encoder` has the way in.

Work and memory are bounded by the bytes of the file. Each node takes a byte at least, and arrays
that many nodes share are paid for each time that something is made or tested of one.

The author of a file is taken for an attacker: the checksums can be recomputed by anybody, and say
nothing about intent. Each rule below therefore names what a forged file would do without it.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..utils._records import ESTIMATORS, RECORDS, made_record
from ._encoder import LARGEST_KEY, MATRICES
from ._file import DAMAGES, Reader, dtype_of
from ._step_values import function, number_type, vocabulary
from ._steps import made_step
from ._weights import LoadedWeights

Node: TypeAlias = dict[str, Any]  # an object of JSON: a tag and what its kind needs
INDICES = "<i4", "<i8"
# Values within values: a kilobyte of brackets would otherwise exhaust the stack of the interpreter.
# Values of a model are some ten deep, wrapped ones twenty.
DEEPEST = 64
# How often all of a file may be used, in the mean: of some arrays several attributes are made. A
# megabyte that names one array ten thousand times would otherwise have ten thousand vocabularies or
# converted copies made of it, and fill the memory.
MOST_USES = 32
# An allow-list of kinds, each with exactly its keys: `_decoded` calls the method that a kind names,
# which must not be any attribute of the decoder that a file thinks of.
KEYS = {
    "estimator": {"class", "parameters", "attributes"},
    "step": {"class", "parameters", "attributes", "version"},
    "record": {"class", "fields"},
    "float": {"value"},
    "tuple": {"values"},
    "set": {"values"},
    "slice": {"parts"},
    "dict": {"items"},
    "array": {"number"},
    "scalar": {"of"},
    "objects": {"values", "shape"},
    "dtype": {"value"},
    "container": {"name"},
    "random_state": {"state"},
    "matrix": {"container", "shape", "data", "indices", "indptr"},
    "weights": {"shape", "sparse", "arrays"},
    "vocabulary": {"words"},
    "number_type": {"name"},
    "function": {"name"},
}


class Decoder:
    """Decoder of a file's JSON and arrays into values.

    With `mapped`, large arrays stay in the mapped file; index arrays, which kernels and SciPy
    follow blindly, are in memory and checked either way. `estimators` lists the estimators of ours
    that were made.
    """

    def __init__(self, reader: Reader, mapped: bool) -> None:
        self.reader, self.mapped, self.estimators = reader, mapped, []
        # number -> array. An object array of labels is made once, as attributes shared it before
        # they were saved, and so that a file cannot have it made again at the price of a node.
        self._objects_of = {}
        self._depth, self._left = 0, MOST_USES * reader.size

    def array(self, number: int, mapped: bool) -> np.ndarray:
        """Return the array with a number, in the file if it may stay there."""
        array = self.reader.view(number) if mapped else self.reader.copy(number)
        if not isinstance(array, np.ndarray):
            raise ValueError(f"array {number} is JSON")
        # A view costs no memory; whoever copies or tests a shared array pays for all of it.
        if not mapped:
            self._pay(array.nbytes)
        return array

    def _pay(self, n_bytes: int) -> None:
        """Take bytes off the budget; raise ValueError if the file has used it up."""
        self._left -= n_bytes
        if self._left < 0:
            raise ValueError("its values are more than the file has room for")

    def decode(self, node: Any) -> Any:
        """Return the value of a node.

        Raises
        ------
        ValueError
            If it is of an unknown kind, deeper than any model, or more than the file can hold.
        """
        self._pay(1)
        if self._depth > DEEPEST:
            raise ValueError("its values are nested too deeply")
        self._depth += 1
        try:
            return self._decoded(node)
        finally:
            self._depth -= 1

    def _decoded(self, node: Any) -> Any:
        """Return the value of a node whose depth has been counted."""
        if isinstance(node, list):
            return self._items(node)
        if not isinstance(node, dict):
            # Integers of Python have no end; one of more than 64 bits would overflow where NumPy or
            # a kernel takes it as an argument, in the midst of a fit or a prediction.
            if type(node) is int and not -(2**63) <= node < 2**64:
                raise ValueError("it holds a number of more than 64 bits")
            return node
        kind = node.get("$")
        if kind not in KEYS:
            raise ValueError(f"values of the kind {kind!r} are unknown to this version")
        # Exactly these keys: one that nobody reads today could mean something to the next version,
        # which would make another model of the same file.
        if node.keys() - {"$"} != KEYS[kind]:
            raise ValueError(f"a value of the kind {kind!r} has the keys {sorted(node)}")
        return getattr(self, f"_{kind}")(node)

    def _items(self, values: list) -> list:
        """Return the values of a list; a million labels are texts, which stand for themselves."""
        self._pay(len(values))
        return [self.decode(v) if isinstance(v, (list, dict, int)) else v for v in values]

    def _named(self, nodes: Any) -> dict[str, Any]:
        """Return the values of an object of JSON by their names."""
        if not isinstance(nodes, dict):
            raise ValueError("it holds names and values that are no object")
        return {name: self.decode(value) for name, value in nodes.items()}

    def _estimator(self, node: Node) -> BaseEstimator:
        """Return an estimator of ours, whose class checks its attributes."""
        # A table of classes, never an import by name: a file that could name any class or function
        # would run code, as a pickle does.
        cls = ESTIMATORS.get(node["class"])
        if cls is None:
            raise ValueError(f"{node['class']!r} is not an estimator of this version")
        parameters = self._named(node["parameters"])
        # `_places` are parameters that name files and folders (scratch, checkpoint): a file that
        # set them would choose where the next fit of its reader writes.
        unknown = set(parameters) - (set(cls._get_param_names()) - set(cls._places))
        if unknown:
            raise ValueError(f"{node['class']} has no parameters {sorted(unknown)} in a file")
        estimator = cls(**parameters)
        nodes = node["attributes"]
        if not isinstance(nodes, dict):
            raise ValueError("attributes are no object")
        # An attribute named as a method would replace it: "predict" as an array breaks the
        # estimator, "__class__" or "__dict__" makes it another one. Nor may an attribute stand for
        # a parameter, which was checked as one, or for what is made again here (an index, the
        # origin of a file).
        for name in nodes:
            overrides = getattr(cls, name, None) is not None  # a method; None is a default
            overrides = overrides and name not in cls._shown_otherwise
            reserved = name in estimator.get_params(deep=False) or name in cls._not_saved
            if not name.isidentifier() or name.startswith("__") or overrides or reserved:
                raise ValueError(f"{name!r} is no attribute of a fitted {node['class']}")
        if nodes:
            origin = Origin(self, nodes) if self.mapped else None
            late = origin.late() if self.mapped else ()
            state = {name: self.decode(nodes[name]) for name in nodes if name not in late}
            estimator._set_loaded_state(state, origin)
            # Not before: the checks of the class above declare which names they have tested.
            estimator._refuse_undeclared(nodes.keys())
        self.estimators.append(estimator)
        return estimator

    def _step(self, node: Node) -> BaseEstimator:
        """Return an estimator of scikit-learn, made by the rules of its row in `STEPS`."""
        return made_step(
            node["class"],
            self._named(node["parameters"]),
            self._named(node["attributes"]),
            node["version"],
        )

    def _record(self, node: Node) -> Any:
        """Return a part of an estimator, of a class that is declared as a record."""
        cls = RECORDS.get(node["class"])
        if cls is None:
            raise ValueError(f"{node['class']!r} is unknown to this version")
        return made_record(cls, self._named(node["fields"]))

    def _vocabulary(self, node: Node) -> dict[str, int]:
        """Return word -> number of a text vectorizer."""
        words = self.decode(node["words"])
        # A dict for each node that names the same array of words: each is paid for.
        self._pay(words.nbytes)
        return vocabulary(words)

    def _number_type(self, node: Node) -> type:
        """Return a type of numbers by its name."""
        return number_type(node["name"])

    def _function(self, node: Node) -> Callable:
        """Return a function of the allow-list by its name."""
        return function(node["name"])

    def _float(self, node: Node) -> float:
        """Return a float that JSON has no word for."""
        if node["value"] not in ("inf", "-inf", "nan"):
            raise ValueError(f"{node['value']!r} is no float")
        return float(node["value"])

    def _tuple(self, node: Node) -> tuple:
        """Return a tuple of the values of its nodes."""
        return tuple(self._items(node["values"]))

    def _set(self, node: Node) -> frozenset[str]:
        """Return a set of texts."""
        values = node["values"]
        # Texts only: their hashes are salted, so that a file cannot choose a million that collide,
        # which would take quadratic time.
        if not isinstance(values, list) or not all(type(value) is str for value in values):
            raise ValueError("a set holds other things than texts")
        return frozenset(values)

    def _slice(self, node: Node) -> slice:
        """Return a slice, by which a ColumnTransformer chooses columns."""
        parts = self._items(node["parts"])
        if not all(part is None or type(part) in (int, str) for part in parts):
            raise ValueError("a slice of other things than numbers and texts")
        return slice(*parts)

    def _dict(self, node: Node) -> dict[int | str, Any]:
        """Return a dict from texts or small whole numbers to values."""
        values = {}
        for key, value in node["items"]:
            # Python hashes whole numbers modulo 2**61 - 1: multiples of it would all collide, and n
            # of them take n**2 steps. Below 2**53 all hashes differ; those of texts are salted.
            number = type(key) is int and abs(key) < LARGEST_KEY
            if not number and type(key) is not str:
                raise ValueError(f"a key is {key!r:.60}, no text and no number below 2**53")
            # Who reads a file with another program might see the other value of the two.
            if key in values:
                raise ValueError(f"the key {key!r:.60} stands twice in a dict")
            values[key] = self.decode(value)
        return values

    def _array(self, node: Node) -> np.ndarray:
        """Return an array, in the file if that is mapped."""
        return self.array(node["number"], self.mapped)

    def _scalar(self, node: Node) -> Any:
        """Return a NumPy scalar, stored as an array without dimensions."""
        array = self.array(node["of"]["number"], False)
        if array.ndim:
            raise ValueError("a scalar has dimensions")
        return array[()]

    def _objects(self, node: Node) -> np.ndarray:
        """Return an object array of the values in a segment of JSON."""
        number = node["values"]
        if number not in self._objects_of:
            values = self.reader.copy(number)
            if not isinstance(values, list):
                raise ValueError("the values of an object array are no list")
            array = np.empty(len(values), dtype=object)
            array[:] = self._items(values)
            self._objects_of[number] = array
        array = self._objects_of[number]
        # Whoever takes in an object array tests each item of it.
        self._pay(array.nbytes)
        return array.reshape(node["shape"])

    def _dtype(self, node: Node) -> np.dtype:
        """Return a dtype: that of an array, or object, which the y of a fit may have had."""
        return np.dtype(object) if node["value"] == "|O" else dtype_of(node["value"])

    def _container(self, node: Node) -> type:
        """Return a class of SciPy's sparse matrices."""
        return MATRICES[node["name"]]

    def _random_state(self, node: Node) -> np.random.RandomState:
        """Return a random state at the place of its stream where it was saved."""
        name, key, place, has_gauss, gauss = self.decode(node["state"])
        # NumPy stores the place as it is given, and the generator then reads key[place]: one beyond
        # the 624 words reads memory of the process into the "random" numbers.
        if name != "MT19937" or key.shape != (624,) or not 0 <= place <= 624:
            raise ValueError("a random state is out of range")
        state = np.random.RandomState()
        state.set_state((name, key, place, int(bool(has_gauss)), float(gauss)))
        return state

    def _matrix(self, node: Node) -> sparse.csr_array:
        """Return a sparse matrix whose structure has been checked."""
        container, shape = MATRICES[node["container"]], tuple(node["shape"])
        # SciPy computes with shapes in 64 bits: sums and products of larger ones would wrap around
        # before anything is compared with the arrays.
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
            raise ValueError(f"a matrix has the shape {shape}")
        # In memory, never mapped: another program could change a mapped index after the check.
        parts = [self.array(node[name], False) for name in ("data", "indices", "indptr")]
        kinds = [part.dtype.kind for part in parts]
        if kinds[0] not in "biuf" or any(part.dtype.str not in INDICES for part in parts[1:]):
            raise ValueError(f"a matrix of arrays of {[str(part.dtype) for part in parts]}")
        matrix = container(tuple(parts), shape=shape)
        # SciPy's constructor compares lengths only. Its kernels, as ours, follow indptr and indices
        # without a look: one index outside reads or writes anywhere.
        matrix.check_format(full_check=True)
        return matrix

    def _weights(self, node: Node) -> LoadedWeights:
        """Return linear weights; `LoadedWeights` checks the arrays against one another."""
        arrays = node["arrays"]
        return LoadedWeights(
            tuple(node["shape"]),
            bool(node["sparse"]),
            lambda name, mapped: self.array(arrays[name], mapped),
            self.mapped,
        )


def _is_late(node: Any) -> bool:
    """Return whether there is a matrix in the node, which has to be read to be checked."""
    if isinstance(node, list):
        return any(_is_late(item) for item in node)
    # An estimator inside is read with its own attributes, late or not, as its own origin says.
    if not isinstance(node, dict) or node.get("$") in ("estimator", "step"):
        return False
    return node.get("$") == "matrix" or any(_is_late(part) for part in node.values())


class Origin:
    """The place in a mapped file that the attributes of an estimator came from, name -> node."""

    def __init__(self, decoder: Decoder, nodes: Node) -> None:
        self._decoder, self._nodes = decoder, nodes
        self._late = frozenset(name for name, node in nodes.items() if _is_late(node))

    def late(self) -> frozenset[str]:
        """Return the names of the attributes that are not read with the others."""
        return self._late

    def read(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Return some or all attributes by name, in memory and verified."""
        reader = self._decoder.reader
        # A budget of its own: otherwise a model that is read twice would end as a forged one.
        decoder = Decoder(reader, False)
        nodes = self._nodes if names is None else {name: self._nodes[name] for name in names}
        try:
            return {name: decoder.decode(node) for name, node in nodes.items()}
        except DAMAGES as error:
            reader.refuse_content(error)
