"""Checks of a stack that comes from a file."""

import numpy as np
from sklearn.base import BaseEstimator

from ..base._fitted import predicts_topk
from ..utils._records import is_number
from ..utils._unwrap import find_inner
from ._features import FORMS
from ._label_facts import LabelFacts
from ._parts import StackPart

NEEDED = "estimators_", "_parts", "_labels", "final_", "_alone", "_counted", "_misses"


def check_loaded(stack: BaseEstimator) -> None:
    """Raise ValueError if what a file holds of a stack does not fit together.

    ``_facts`` are missing where they are still in a mapped file; `check_facts` sees them later.
    """
    missing = [name for name in NEEDED if name not in vars(stack)]
    if missing:
        raise ValueError(f"it holds a TopKStackingClassifier without {missing}")
    n_labels, parts, estimators = len(stack._labels.classes), stack._parts, stack.estimators_
    pairs = all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in estimators
    )
    if not pairs or not parts or len(parts) != len(estimators):
        raise ValueError("parts and estimators that are not as many")
    for part, (name, estimator) in zip(parts, estimators, strict=True):
        if not isinstance(part, StackPart) or part.name != name or not predicts_topk(estimator):
            raise ValueError("a part of another kind, or of another name")
        # Codes are indices into arrays of the stack: each is compared with its number of labels.
        n_own = np.shape(getattr(find_inner(estimator, "predict_topk").estimator, "classes_", ()))
        codes = part.codes
        if n_own != ((n_labels,) if codes is None else codes.shape):
            raise ValueError(f"part {name!r} has {n_own} labels, and its stack {n_labels}")
        if codes is not None and len(codes) and codes.max() >= n_labels:
            raise ValueError(f"part {name!r} has labels that the stack does not know")
    if stack.final_ is None:
        alone = stack._alone
        if alone is None or len(alone) != 2 or not all(map(is_number, alone)) or len(parts) != 1:
            raise ValueError("a part by itself without slope and intercept")
    if not all(isinstance(n, str) and is_number(v) for n, v in stack.validation_scores_.items()):
        raise ValueError("scores of parts that are no numbers")
    if "_facts" in vars(stack):
        check_facts(stack, stack._facts)


def check_facts(stack: BaseEstimator, facts: LabelFacts) -> None:
    """Raise ValueError if facts are of other labels, or not what the stage learnt."""
    n_labels = len(stack._labels.classes)
    if len(facts.frequencies) != n_labels:
        raise ValueError(f"frequencies of another number than {n_labels} labels")
    # Trees and coefficients go by places: a feature more or less would shift all that follow.
    n_features = sum(len(FORMS[part.kind]) for part in stack._parts)
    n_features += len(facts.names(stack._counted))
    if stack.final_ is not None and stack.final_.n_features != n_features:
        raise ValueError("a second stage of another number of features")
    n_columns = vars(stack).get("n_features_in_")
    if facts.shares and n_columns not in (None, facts.shares[0].shape[1]):
        raise ValueError("texts of another number of features than X has")
