"""Why a stack gives a label its log-odds: shares of the parts, then each part's own reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from ..base._explain import check_options, explain, places_of_labels
from ..base._explanation import Explanation, Explanations
from ..model_selection._out_of_fold import NO_SCORE
from ..model_selection._take_rows import take
from ..topk._restriction import Restriction
from ..utils._matrix import n_rows
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._unwrap import find_inner
from ._candidates import Candidates

# Of each part, by its name: place of the sample and of the label -> why.
Reasons: TypeAlias = dict[str, dict[tuple[int, int], Explanation]]


@dataclass(frozen=True, eq=False, repr=False)
class StackExplanation(Explanation):
    """Why a stack gives one label its log-odds on one sample.

    As an :class:`~sklearn_xc.inspection.Explanation`, whose features are the parts, with their
    scores as values, and what else the second stage knows of the label and the sample.

    Parameters
    ----------
    parts : dict of str to Explanation
        The reasons of each part that has some, for its own score of the label.
    """

    parts: dict[str, Explanation]


def explain_rows(
    model: BaseEstimator,
    X: MatrixLike,
    labels: LabelsLike,
    k: int | None,
    feature_names: ArrayLike | None = None,
) -> Explanations:
    """Return the explanations of some labels of each sample, by falling log-odds.

    The names are of the columns of X, for parts that explain by features and have none themselves.
    """
    width = np.shape(X)[1] if np.ndim(X) == 2 else 0
    names = check_options(k, feature_names, width)
    n, n_labels, stack = n_rows(X), len(model.classes_), model._stack()
    if labels is None:
        places = model._topk(X, 1)[0].tolist()
    else:
        places = places_of_labels(labels, model.classes_, n)
    starts = np.append(0, np.cumsum([len(of_row) for of_row in places])).astype(np.int64)
    wanted = np.array([place for of_row in places for place in of_row], dtype=np.int64)
    ones = np.ones(len(wanted), dtype=bool)
    pattern = sparse.csr_array((ones, wanted, starts), shape=(n, n_labels))
    pattern.sort_indices()
    # Candidates are only the labels to be explained. The best score of each part in the sample, on
    # which features depend, is of any label nevertheless: features are those of a prediction.
    only = Restriction(n_labels, n, pattern)
    most = int(np.diff(starts).max(initial=1))
    reasons = _reasons(model, X, places, k, names)
    items = []
    for part, found, features, log_odds in stack.blocks(X, most, only):
        row = found.row
        for i in range(part.start, part.stop):
            of_row = []
            for place in places[i]:
                pair = int(np.flatnonzero((row == i - part.start) & (found.places == place))[0])
                of_row.append(_explained(model, i, place, found, features, log_odds, pair, reasons))
            items += sorted(of_row, key=lambda item: -item.score)
    return Explanations(items)


def _explained(
    model: BaseEstimator,
    row: int,
    place: int,
    found: Candidates,
    features: np.ndarray | None,
    log_odds: np.ndarray,
    pair: int,
    reasons: Reasons,
) -> StackExplanation:
    """Return the explanation of one pair."""
    names = [part.name for part in model._parts]
    middles = [part.middle for part in model._parts]
    scores = found.scores[:, pair].astype(np.float64)
    # Where a part knows nothing, the second stage has read its middle.
    scores = np.where(scores > NO_SCORE, scores, middles)
    score = float(log_odds[pair])
    if model.final_ is None:
        values, parts, intercept = scores, np.array([score - model._alone[1]]), model._alone[1]
    else:
        known = model.final_.contributions(features[pair : pair + 1])
        facts = features[pair, 3 * len(names) :]
        values = np.concatenate([scores, facts])
        names = names + model._facts.names(model._counted)
        if known is None:
            parts, intercept = np.zeros(len(names)), 0.0
        else:
            added, before = known
            # Each part has three features, forms of one score: a reader gets their sum.
            of_parts = added[0, : 3 * len(model._parts)].reshape(-1, 3).sum(axis=1)
            parts = np.concatenate([of_parts, added[0, 3 * len(model._parts) :]])
            intercept = float(before[0])
    order = np.argsort(-np.abs(parts), kind="stable")
    order = order[parts[order] != 0]
    label = model.classes_[place : place + 1].tolist()[0]
    # An explanation is made of values and weights. The forms are no linear functions of a score, so
    # a weight is what makes the product the contribution.
    quotient = parts / np.where(values != 0, values, 1)
    rest = score - intercept - float(parts.sum())
    return StackExplanation(
        row=row,
        label=label,
        score=score,
        intercept=intercept,
        feature_names=np.array(names, dtype=object)[order],
        features=order.astype(np.int64),
        values=values[order].astype(np.float32),
        weights=quotient[order].astype(np.float32),
        contributions=parts[order],
        rest=rest,
        n_rest=int(abs(rest) > 1e-9 * max(1, abs(score))),
        parts={n: of[row, place] for n, of in reasons.items() if (row, place) in of},
    )


def _reasons(
    model: BaseEstimator,
    X: MatrixLike,
    places: Sequence[Sequence[int]],
    k: int | None,
    names: np.ndarray | None,
) -> Reasons:
    """Return for each part that explains: (sample, place) -> its explanation."""
    found = {}
    for part, (name, estimator) in zip(model._parts, model.estimators_, strict=True):
        try:
            inner = find_inner(estimator, "explain").estimator
        except TypeError:
            continue
        # Behind a vectorizer the columns of X are not the features; such a part has its own names.
        named = {}
        takes_names = "feature_names" in signature(inner.explain).parameters
        if names is not None and inner is estimator and takes_names:
            named = {"feature_names": names}
        own = np.arange(len(model.classes_))
        if part.codes is not None:
            own = np.full(len(model.classes_), -1)
            own[part.codes] = np.arange(len(part.codes))
        of = found[name] = {}
        for i, of_row in enumerate(places):
            known = [place for place in of_row if own[place] >= 0]
            if not known:
                continue
            labels = [inner.classes_[own[place]] for place in known]
            by_label = {
                item.label: item
                for item in explain(estimator, take(X, np.array([i])), [labels], k, **named)
            }
            for place, label in zip(known, labels, strict=True):
                key = label.item() if hasattr(label, "item") else label
                of[i, place] = by_label[key]
    return found
