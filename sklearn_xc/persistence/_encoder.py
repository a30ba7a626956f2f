"""The state of an estimator as JSON and arrays; `_decoder` has the way back.

A tag, ``{"$": kind, ...}``, names the kind of a value; numbers, texts, truth values, None
and lists stand for themselves. Nothing in a file names code: classes come from the tables
``ESTIMATORS`` and ``RECORDS`` and, of scikit-learn, `STEPS`.
"""

import inspect
import math
import os
from collections import UserList
from collections.abc import Set as AbstractSet
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..utils._records import ESTIMATORS, RECORDS, check_record
from ._file import Segment, array_segment, json_segment
from ._step_values import is_vocabulary, name_of_function, name_of_type, words_of
from ._steps import DROPPED, MADE_ANEW, STEPS, Rule, is_step
from ._weights import StoredWeights

MATRICES = {
    name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
}
# Whole numbers below it have hashes of their own; larger ones can be chosen to collide, see
# `Decoder._dict`.
LARGEST_KEY = 2**53


def _is_fitted(estimator: BaseEstimator) -> bool:
    """Return whether an estimator has been fitted, by its own word."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


class Encoder:
    """Encoder of values as JSON, which collects their arrays in `segments`.

    `dtype` and `threshold` are those of `SaveMixin.save`; `n_weights` counts the sets of linear
    weights that they were applied to.
    """

    def __init__(self, dtype: str = "float32", threshold: float = 0.0) -> None:
        self.dtype, self.threshold = dtype, threshold
        self.segments, self.n_weights = [], 0
        self._numbers = {}  # id of an array -> its number: what is shared is stored once
        # An array that only this call holds (words of a vocabulary) would be freed, and the next
        # one might get its id, and with it the number of the wrong array.
        self._kept = []

    def refuse(self, why: str) -> Any:
        """Raise TypeError for a value that a model file cannot hold."""
        raise TypeError(why)

    def estimator(self, estimator: BaseEstimator) -> dict[str, Any]:
        """Encode an estimator of ours as JSON."""
        cls = type(estimator)
        # The very class: `load` would make a subclass of the user's, of the same name, the parent.
        if ESTIMATORS.get(cls.__name__) is not cls:
            return self.refuse(
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
                if key not in cls._places
            },
            "attributes": {
                key: self.encode(value, f"attribute {key!r} of {name}")
                for key, value in state.items()
                if key not in parameters and key not in estimator._not_saved
            },
        }

    def step(self, estimator: BaseEstimator, where: str = "the estimator") -> dict[str, Any]:
        """Encode an estimator of scikit-learn, such as a Pipeline, as JSON."""
        name, parameters = type(estimator).__name__, {}
        if not is_step(estimator):
            known = ", ".join(sorted(STEPS))
            return self.refuse(
                f"{where} is a {type(estimator).__module__}.{name}, which a model file cannot "
                f"hold; it takes estimators of sklearn_xc and, of scikit-learn, {known}. Apply it "
                "before the pipeline, or save the whole with joblib or skops, which take any"
            )
        given, step = estimator.get_params(deep=False), STEPS[name]
        for key, value in given.items():
            rule = step.parameters.get(key)
            # A newer scikit-learn has parameters that no rule knows. At their defaults they can be
            # left out; with another value the loaded step would do another thing.
            if key in DROPPED or (rule is None and _is_default(type(estimator), key, value)):
                continue
            parameters[key] = self._by_rule(value, rule, f"parameter {key!r} of {name}")
        attributes = {
            key: self._by_rule(value, step.attributes.get(key), f"attribute {key!r} of {name}")
            for key, value in vars(estimator).items()
            if key not in given and key not in MADE_ANEW
        }
        return {
            "$": "step",
            "class": name,
            "parameters": parameters,
            "attributes": attributes,
            "version": sklearn.__version__,
        }

    def _by_rule(self, value: Any, rule: Rule | None, where: str) -> Any:
        """Encode a value of a step that passes the test by which `load` will let it in."""
        if rule is None:
            return self.refuse(
                f"{where} is unknown to this version of sklearn_xc, and a model file holds none "
                "but known ones; save the whole with joblib or skops"
            )
        if not rule.test(value):
            return self.refuse(
                f"{where} is {value!r:.100}, and in a model file it has to be {rule.words}"
            )
        return self.encode(value, where)

    def encode(self, value: Any, where: str) -> Any:
        """Encode a value as JSON; `where` says in an error what it is."""
        # The exact types: a subclass (an enumeration, a text with attributes) would come back as
        # its parent, and compare and print as another value.
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            if not -(2**63) <= value < 2**64:
                return self.refuse(f"{where} is {value}, a number of more than 64 bits")
            return value
        if type(value) is float:
            # JSON has no infinity and no NaN; Python's writer would put words that others reject.
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if type(value) is list or isinstance(value, UserList):
            return [self.encode(item, where) for item in value]
        if type(value) is tuple:
            return {"$": "tuple", "values": [self.encode(item, where) for item in value]}
        if type(value) is dict:
            return self._dict(value, where)
        if isinstance(value, (set, frozenset)):
            return self._set(value, where)
        if isinstance(value, slice):
            parts = value.start, value.stop, value.step
            return {"$": "slice", "parts": [self.encode(part, where) for part in parts]}
        # As a text: the class of a path is that of the operating system it was made on.
        if isinstance(value, os.PathLike):
            return self.encode(os.fspath(value), where)
        return self._of_arrays(value, where)

    def _of_arrays(self, value: Any, where: str) -> Any:
        """Encode arrays, types of numbers, functions and random states as JSON."""
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
        if isinstance(value, type) and (name := _name_of(value)) is not None:
            kind = "container" if name in MATRICES else "number_type"
            return {"$": kind, "name": name}
        if (name := name_of_function(value)) is not None:
            return {"$": "function", "name": name}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        """Encode records and estimators as JSON."""
        if RECORDS.get(type(value).__name__) is type(value):
            value = value.as_saved() if hasattr(value, "as_saved") else value
            # The same test as in `load`: what a user has set by hand fails here, where it can still
            # be mended, and not in another process a month later.
            try:
                check_record(value)
            except ValueError as error:
                return self.refuse(f"{where}: {error}")
            fields = {key: self.encode(part, where) for key, part in vars(value).items()}
            return {"$": "record", "class": type(value).__name__, "fields": fields}
        if hasattr(value, "_state_to_save") and not isinstance(value, type) and not is_step(value):
            return self.estimator(value)
        if isinstance(value, BaseEstimator):
            return self.step(value, where)
        if hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 1:  # an Index, a Series
            return self._array(np.asarray(value.to_numpy()), where)
        return self.refuse(
            f"{where} is {value!r:.100} of type {type(value).__module__}.{type(value).__name__}, "
            "which a model file cannot hold: it takes numbers, texts, None, lists, tuples, dicts, "
            "NumPy and SciPy sparse arrays, RandomState and estimators of sklearn_xc"
        )

    def _dict(self, value: dict, where: str) -> Any:
        """Encode a dict: a vocabulary as its words in order, any other as pairs."""
        # Ten thousand words are one array then, and not as many pairs of JSON.
        if is_vocabulary(value):
            return {"$": "vocabulary", "words": self._array(words_of(value), where)}
        # Pairs, since keys of JSON are texts: 1 and "1" would be one key.
        items = [[self._key(key, where), self.encode(part, where)] for key, part in value.items()]
        return {"$": "dict", "items": items}

    def _key(self, key: Any, where: str) -> Any:
        """Return a key as JSON has it: a text, or a whole number."""
        if isinstance(key, str):
            return str(key)
        number = isinstance(key, (Integral, float, np.floating, np.bool_))
        if number and abs(key) < LARGEST_KEY and key == int(key):
            return int(key)
        return self.refuse(
            f"{where} has the key {key!r:.60}, and keys in a model file are texts, or whole "
            f"numbers below 2**53"
        )

    def _set(self, value: AbstractSet, where: str) -> Any:
        """Encode a set of texts, sorted, so that the same model has the same bytes."""
        if not all(type(item) is str for item in value):
            return self.refuse(f"{where} is a set of other things than texts")
        return {"$": "set", "values": sorted(value)}

    def _add(self, segment: Segment) -> int:
        """Return the number of a segment, which is now one of the file."""
        self.segments.append(segment)
        return len(self.segments) - 1

    def _array(self, array: np.ndarray, where: str) -> Any:
        """Encode an array as the number of its segment, of objects as that of their JSON."""
        if id(array) not in self._numbers:
            self._kept.append(array)
            if array.dtype.kind == "O":
                values = [self.encode(item, where) for item in array.ravel().tolist()]
                segment = json_segment(values)
            else:
                try:
                    segment = array_segment(array)
                except ValueError as error:
                    return self.refuse(f"{where}: {error}")
            self._numbers[id(array)] = self._add(segment)
        number = self._numbers[id(array)]
        if array.dtype.kind == "O":
            return {"$": "objects", "values": number, "shape": list(array.shape)}
        return {"$": "array", "number": number}

    def _matrix(self, matrix: sparse.csr_array, where: str) -> dict[str, Any]:
        """Encode a CSR or CSC matrix by the three arrays that it lies in."""
        names = "data", "indices", "indptr"
        return {
            "$": "matrix",
            "container": type(matrix).__name__,
            "shape": [int(n) for n in matrix.shape],
            **{name: self._array(getattr(matrix, name), where)["number"] for name in names},
        }

    def _weights(self, weights: StoredWeights) -> dict[str, Any]:
        """Encode linear weights as the arrays that prediction follows."""
        self.n_weights += 1
        return {
            "$": "weights",
            "shape": [int(n) for n in weights.index.shape],
            "sparse": weights.is_sparse,
            "arrays": {name: self._add(part) for name, part in weights.segments().items()},
        }


class Survey(Encoder):
    """Encoder that collects in `problems` why an estimator cannot be saved, and raises no error."""

    def __init__(self) -> None:
        super().__init__()
        self.problems = []

    def refuse(self, why: str) -> dict[str, None]:
        """Write down why a value cannot be saved."""
        self.problems.append(why)
        # Has the one key that a caller looks up, so that the survey goes on to the next problem.
        return {"number": None}


def _is_default(cls: type, name: str, value: Any) -> bool:
    """Return whether a parameter that no rule is for has its default value."""
    parameter = inspect.signature(cls).parameters.get(name)
    # Only simple values are compared: `==` of arrays is an array, and of others their own code.
    return parameter is not None and (
        parameter.default is value
        or (isinstance(value, (bool, int, float, str)) and parameter.default == value)
    )


def _name_of(cls: type) -> str | None:
    """Return the name of a class in a file: a sparse container's, or that of a type of numbers."""
    return next(
        (name for name, container in MATRICES.items() if container is cls), name_of_type(cls)
    )
