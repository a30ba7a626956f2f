"""Values of parameters and attributes of scikit-learn's steps, tested before they are used."""

from collections import UserList
from collections.abc import Callable
from numbers import Integral

import numpy as np
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.preprocessing import OneHotEncoder

from ..utils._records import is_truth

SCORES = (f_classif, chi2, f_regression, mutual_info_classif, mutual_info_regression)
# Functions by names of our own. A file that named any module and function would run code: that is
# what makes a pickle unsafe.
FUNCTIONS = {f"sklearn.{f.__name__}": f for f in SCORES}
NUMBER_TYPES = {"float": float, "int": int}
SIMPLE = bool, int, float, str, np.generic, np.ndarray, np.dtype, slice, np.random.RandomState


def is_plain(value: object) -> bool:
    """Return whether a value is of numbers, texts and arrays, and containers of these."""
    if value is None or isinstance(value, SIMPLE):
        return True
    if isinstance(value, dict):
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    kinds = list, tuple, set, frozenset, UserList  # scikit-learn 1.6 has the last for columns
    return isinstance(value, kinds) and all(map(is_plain, value))


def is_vocabulary(value: object) -> bool:
    """Return whether a dict numbers words from 0 on, as text vectorizers have it."""
    return (
        type(value) is dict
        and bool(value)
        and all(type(word) is str for word in value)
        and all(isinstance(n, Integral) for n in value.values())
        and sorted(value.values()) == list(range(len(value)))
    )


def words_of(vocabulary: dict[str, int]) -> np.ndarray:
    """Return the words of a vocabulary in the order of their numbers."""
    words = np.empty(len(vocabulary), dtype=object)
    words[list(vocabulary.values())] = list(vocabulary)
    return words


def vocabulary(words: np.ndarray) -> dict[str, int]:
    """Return word -> number, of an array of words."""
    # A word that stands twice leaves a number out. The matrix of a CountVectorizer has as many
    # columns as the vocabulary has words, and the number of the last word would be behind them.
    if words.ndim != 1 or not all(type(word) is str for word in words):
        raise ValueError("the words of a vocabulary are not texts")
    numbers = {word: number for number, word in enumerate(words)}
    if len(numbers) < len(words):
        raise ValueError("a word stands twice in a vocabulary")
    return numbers


def is_number_type(value: object) -> bool:
    """Return whether a value says of which type numbers are."""
    return (
        value is None
        or isinstance(value, np.dtype)
        or (isinstance(value, type) and name_of_type(value) is not None)
    )


def name_of_type(cls: type) -> str | None:
    """Return the name of a type of numbers in a file; None for other types."""
    # The very class that NumPy has under its name: a subclass of the user's has code of its own.
    if issubclass(cls, np.number) and getattr(np, cls.__name__, None) is cls:
        return cls.__name__
    return next((name for name, kind in NUMBER_TYPES.items() if kind is cls), None)


def number_type(name: object) -> type:
    """Return the type of numbers of a name."""
    if not isinstance(name, str):
        raise ValueError(f"{name!r} is no type of numbers")
    # `getattr` with a name from a file finds functions, modules and classes; what is not a type of
    # numbers under this very name goes no further.
    kind = NUMBER_TYPES.get(name, getattr(np, name, None))
    if not isinstance(kind, type) or name_of_type(kind) != name:
        raise ValueError(f"{name!r} is no type of numbers")
    return kind


def name_of_function(value: object) -> str | None:
    """Return the name of a function in a file; None for what a file cannot name."""
    if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:
        return f"numpy.{value.__name__}"
    return next((name for name, function in FUNCTIONS.items() if function is value), None)


def is_function(value: object) -> bool:
    """Return whether a value is a ufunc of NumPy."""
    return isinstance(value, np.ufunc) and name_of_function(value) is not None


def is_score(value: object) -> bool:
    """Return whether a value is a score function of scikit-learn's feature selection."""
    return any(value is score for score in SCORES)


def function(name: object) -> Callable:
    """Return the function of a name: a ufunc of NumPy, or a score of scikit-learn's."""
    if isinstance(name, str) and name.startswith("numpy."):
        # Of NumPy only ufuncs: they take numbers to numbers, while np.load, np.fromfile or
        # np.memmap in a FunctionTransformer would open the files that its input names.
        ufunc = getattr(np, name.removeprefix("numpy."), None)
        if isinstance(ufunc, np.ufunc):
            return ufunc
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise ValueError(f"{name!r} is no function that a model file may name")
    return FUNCTIONS[name]


def require_encoder(encoder: OneHotEncoder) -> None:
    """Refuse a loaded OneHotEncoder that would point outside of the matrix which it makes."""
    # `transform` adds the code of a category to the first column of its feature, and builds a CSR
    # of these indices without a check. Codes of a feature go up to the number of its categories, or
    # of the groups that these are in: it must have as many columns, less the one that is dropped.
    state = vars(encoder)
    if "categories_" not in state:
        return
    categories, sizes = state["categories_"], []
    n = len(categories) if isinstance(categories, list) else -1
    nothing = [None] * max(n, 0)
    grouped = state.get("_infrequent_enabled", False)
    lists = [
        state[name] if grouped else nothing
        for name in ("_default_to_infrequent_mappings", "_infrequent_indices")
    ]
    dropped = state.get("_drop_idx_after_grouping")
    lists.append(nothing if dropped is None else list(dropped))
    if n < 1 or not is_truth(grouped) or any(len(part) != n for part in lists):
        raise ValueError("a OneHotEncoder has not one list of categories for each feature")
    for values, groups, rare, drop in zip(categories, *lists, strict=True):
        size = _n_codes(values, groups, rare)
        # Codes above the dropped one move down by one: with one below 0 all would, and the first
        # category come to stand at -1.
        if drop is not None and not (isinstance(drop, Integral) and 0 <= drop < size):
            raise ValueError(f"a OneHotEncoder drops category {drop!r} of {size}")
        sizes.append(size - (drop is not None))
    if sizes != state.get("_n_features_outs"):
        raise ValueError("a OneHotEncoder has other columns than its categories give")


def _n_codes(values: object, groups: object, rare: object) -> int:
    """Return how many codes a feature of a OneHotEncoder has.

    `groups` has the code of each category, if rare ones, which `rare` lists, share one.
    """
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not len(values):
        raise ValueError("the categories of a OneHotEncoder are no array")
    # Numbers are looked up by bisection, which in an array that does not ascend may end behind the
    # last. Only a last NaN is a category.
    if values.dtype.kind not in "OUS":
        known = values[values == values]
        if len(known) < len(values) - 1 or not (known[1:] > known[:-1]).all():
            raise ValueError("the categories of a OneHotEncoder do not ascend")
    if groups is None and rare is None:
        return len(values)
    # scikit-learn takes both as indices.
    for part, limit in ((groups, len(values)), (rare, len(values))):
        if not isinstance(part, np.ndarray) or part.dtype.kind != "i" or not part.size:
            raise ValueError("the rare categories of a OneHotEncoder are no array of numbers")
        if part.ndim != 1 or part.min() < 0 or part.max() >= limit:
            raise ValueError("the rare categories of a OneHotEncoder do not fit")
    if groups.shape != values.shape:
        raise ValueError("a OneHotEncoder has not a group for each category")
    return int(groups.max()) + 1
