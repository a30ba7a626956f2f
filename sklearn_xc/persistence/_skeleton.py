"""Estimators of scikit-learn in a model file: a skeleton that skops knows, and our parts in it.

A Pipeline and the steps of `STEPS` are written by skops, as JSON, after everything large or of our
own has been taken out: arrays, matrices, vocabularies, functions and our estimators. These are
parts of the model file like any others, checked and mapped as they always are; in the skeleton a
text stands in the place of each.
"""

import io
import json
import zipfile
from copy import copy

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    SelectKBest,
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MultiLabelBinarizer,
    Normalizer,
    StandardScaler,
)

from ..utils._optional_import import optional_import

STEPS = (
    Pipeline, FeatureUnion, ColumnTransformer, FrozenEstimator,
    CountVectorizer, TfidfVectorizer, HashingVectorizer, TfidfTransformer,
    Normalizer, StandardScaler, MaxAbsScaler, FunctionTransformer, TruncatedSVD, SelectKBest,
    MultiLabelBinarizer,
)  # fmt: skip
SCORES = (f_classif, chi2, f_regression, mutual_info_classif, mutual_info_regression)
FUNCTIONS = {f"sklearn.{f.__name__}": f for f in SCORES}
MARK = "\0sklearn_xc "
SCHEMA = "schema.json"
# What skops says of the values that a skeleton has.
PLAIN = {f"builtins.{name}" for name in ("dict", "list", "tuple", "set", "str", "slice")}
PLAIN |= {"builtins.int", "builtins.float", "builtins.bool", "builtins.frozenset"}
LOADERS = {
    "ObjectNode", "DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode", "SliceNode",
    "TypeNode",
}  # fmt: skip
DEEPEST = 200  # nodes within nodes


def is_step(value):
    """Whether a value is an estimator of scikit-learn that a model file may hold."""
    return type(value) in STEPS


# ---------------------------------------------------------------------------------------- writing


class Hollow:
    """Takes out of estimators what is not for skops.

    Parameters
    ----------
    encode : callable
        ``encode(value, where)`` returns the JSON of a value of ours.

    Attributes
    ----------
    parts : list
        What was taken out, encoded.
    """

    def __init__(self, encode):
        self._encode, self.parts = encode, []

    def skeleton(self, estimator):
        """The bytes that skops makes of an estimator without its parts."""
        skops = optional_import("skops.io", f"saving a {type(estimator).__name__}")
        return skops.dumps(self._of_estimator(estimator, type(estimator).__name__))

    def _of_estimator(self, estimator, where):
        hollow = copy(estimator)
        for name, value in vars(hollow).items():
            vars(hollow)[name] = self._of(value, f"attribute {name!r} of {where}")
        return hollow

    def _of(self, value, where):
        if value is None or type(value) in (bool, int, float, set, frozenset, slice):
            return value
        if type(value) is str:
            return self._part(value, where) if value.startswith(MARK) else value
        if is_step(value):
            return self._of_estimator(value, type(value).__name__)
        if isinstance(value, (list, tuple)) and type(value).__module__ == "builtins":
            return type(value)(self._of(item, where) for item in value)
        if type(value) is dict and not _is_vocabulary(value):
            return {key: self._of(item, where) for key, item in value.items()}
        return self._part(value, where)

    def _part(self, value, where):
        self.parts.append(self._part_node(value, where))
        return f"{MARK}{len(self.parts) - 1}"

    def _part_node(self, value, where):
        if isinstance(value, dict):
            return {"$": "vocabulary", "words": self._encode(_words(value), where)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"$": "number_type", "name": value.__name__}
        name = _name_of_function(value)
        if name is not None:
            return {"$": "function", "name": name}
        if isinstance(value, BaseEstimator) and not hasattr(value, "_state_to_save"):
            self.refuse(value, where)
        return self._encode(value, where)

    def refuse(self, value, where):
        """Raise TypeError for an estimator that a model file cannot hold."""
        known = ", ".join(sorted(step.__name__ for step in STEPS))
        raise TypeError(
            f"{where} is a {type(value).__module__}.{type(value).__name__}, which a model file "
            f"cannot hold; it takes estimators of sklearn_xc and, of scikit-learn, {known}. Apply "
            "it before the pipeline, or save the whole with joblib or skops, which take any"
        )


def _is_vocabulary(value):
    """Whether a dict numbers words from 0 on, as text vectorizers have it."""
    return (
        bool(value)
        and all(type(word) is str for word in value)
        and all(isinstance(n, (int, np.integer)) for n in value.values())
        and sorted(value.values()) == list(range(len(value)))
    )


def _words(vocabulary):
    words = np.empty(len(vocabulary), dtype=object)
    words[list(vocabulary.values())] = list(vocabulary)
    return words


def _name_of_function(value):
    if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:
        return f"numpy.{value.__name__}"
    return next((name for name, function in FUNCTIONS.items() if function is value), None)


# ---------------------------------------------------------------------------------------- reading


def filled(skeleton, parts):
    """The estimator of a skeleton, with its parts.

    Parameters
    ----------
    skeleton : bytes
        Whoever wrote them: what they name is checked before skops sees them, and what they
        describe before it is used.
    parts : list
        Values, decoded.

    Returns
    -------
    estimator : estimator
        Of `STEPS`.

    Raises
    ------
    ValueError
        If they name or hold what :class:`Hollow` does not write.
    """
    _check_schema(skeleton)
    skops = optional_import("skops.io", "a model file with estimators of scikit-learn")
    try:
        trusted = skops.get_untrusted_types(data=skeleton)  # all in `_known_types`
        found = skops.loads(skeleton, trusted=trusted)
    except Exception as error:  # skops raises many kinds for what it did not write
        raise ValueError(f"skops cannot read its estimators: {error}") from error
    if not is_step(found):
        raise ValueError(f"its skeleton is a {type(found).__name__}")
    return _filled(found, parts)


def _check_schema(skeleton):
    """Refuse what could name code, or unpack to more than its bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(skeleton)) as archive:
            entries = archive.infolist()
            if [e.filename for e in entries] != [SCHEMA] or entries[0].compress_type:
                raise ValueError("its skeleton holds more than a schema")
            schema = json.loads(archive.read(SCHEMA))
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise ValueError(f"its skeleton is damaged: {error}") from error
    _check_node(schema, _known_types(), 0)


def _known_types():
    return PLAIN | {f"{step.__module__}.{step.__name__}" for step in STEPS}


def _check_node(node, known, depth):
    if depth > DEEPEST:
        raise ValueError("its skeleton is nested too deeply")
    if isinstance(node, dict):
        if "__class__" in node or "__module__" in node or "__loader__" in node:
            name = f"{node.get('__module__')}.{node.get('__class__')}"
            if name not in known or node.get("__loader__") not in LOADERS:
                raise ValueError(f"it names {name}, which no model file holds")
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            _check_node(part, known, depth + 1)


def _filled(value, parts):
    """A value of a skeleton, with its parts in their places."""
    if type(value) is str and value.startswith(MARK):
        return parts[int(value[len(MARK) :])]
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, parts) for item in value)
    if type(value) is dict:
        return {key: _filled(item, parts) for key, item in value.items()}
    if not is_step(value):
        return value
    for name, part in vars(value).items():
        if not name.isidentifier() or callable(getattr(type(value), name, None)):
            raise ValueError(f"{name!r} is no attribute of a {type(value).__name__}")
        vars(value)[name] = _filled(part, parts)
    if hasattr(value, "_parameter_constraints"):
        value._validate_params()  # what transform of some steps no longer does
    words = vars(value).get("vocabulary_")
    if words is not None and not (type(words) is dict and _is_vocabulary(words)):
        raise ValueError(f"vocabulary_ of a {type(value).__name__} does not number its words")
    return value


def vocabulary(words):
    """Word -> number, of an array of words."""
    if words.ndim != 1 or not all(type(word) is str for word in words):
        raise ValueError("the words of a vocabulary are not texts")
    found = {word: number for number, word in enumerate(words)}
    if len(found) < len(words):
        raise ValueError("a word stands twice in a vocabulary")
    return found


def number_type(name):
    """The type of numbers of a name."""
    found = getattr(np, name, None) if isinstance(name, str) else None
    if not (isinstance(found, type) and issubclass(found, np.number)):
        raise ValueError(f"{name!r} is no type of numbers")
    return found


def function(name):
    """The function of a name: a ufunc of NumPy, or a score of scikit-learn's."""
    if isinstance(name, str) and name.startswith("numpy."):
        found = getattr(np, name.removeprefix("numpy."), None)
        if isinstance(found, np.ufunc):
            return found
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise ValueError(f"{name!r} is no function that a model file may name")
    return FUNCTIONS[name]
