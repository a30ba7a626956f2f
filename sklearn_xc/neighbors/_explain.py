"""Why a label got its score: the neighbours that have it, its text, and what each gave."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..base._explanation import Explanation, Explanations
from ..utils._rows import Rows

TEXT = -1  # the number of a label's text among rows


class NeighborExplanation(Explanation):
    """Why one label got its score on one sample: the neighbours that have the label.

    As an :class:`~sklearn_xc.inspection.Explanation`, whose features are training samples here:
    ``features`` are their numbers, -1 for the label's text, ``values`` the similarities s, and
    ``weights`` what these are multiplied with, ``s ** (p - 1)`` times the grade, the sample's
    weight and ``f ** -q``. The intercept is 0.
    """

    @property
    def rest_label(self) -> str:
        """The neighbours that are not listed, as a text."""
        return f"({self.n_rest} more neighbour{'s' if self.n_rest > 1 else ''})"


class Votes(NamedTuple):
    """Votes for labels from the neighbours of one sample; texts are label -> similarity."""

    ids: np.ndarray
    similarities: np.ndarray
    texts: dict[int, float]


def explained(
    row: int,
    place: int,
    votes: Votes,
    model: BaseEstimator,
    k: int | None,
    row_names: np.ndarray | None,
) -> NeighborExplanation:
    """Return the explanation of the score of one label on one sample."""
    # Of two classes the decision function is (second - first) / (second + first): neighbours of the
    # other class count down, and the sum of what all gave divides each part.
    parts = [_parts(place, 1.0, votes, model)]
    if model._encoding.kind == "binary":
        parts.append(_parts(1 - place, -1.0, votes, model))
    ids, values, weights = (np.concatenate(some) for some in zip(*parts, strict=True))
    if model._encoding.kind == "binary":
        weights = weights / (np.abs(weights * values).sum() or 1.0)
    parts = weights * values
    order = np.argsort(-np.abs(parts), kind="stable")
    listed, rest = (order, order[:0]) if k is None else (order[:k], order[k:])
    return NeighborExplanation(
        row=row,
        label=model.classes_[place : place + 1].tolist()[0],
        score=float(parts.sum()),
        intercept=0.0,
        feature_names=_names(ids[listed], row_names),
        features=ids[listed],
        values=values[listed],
        weights=weights[listed].astype(np.float32),
        contributions=parts[listed],
        rest=float(parts[rest].sum()),
        n_rest=len(rest),
    )


def _parts(
    place: int, sign: float, votes: Votes, model: BaseEstimator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers, similarities and weights of the neighbours, and the text, of one label."""
    # A vote is s ** p: with the similarity as the value of a feature, s ** (p - 1) is its weight.
    labels, settings = model._row_labels, model._settings()
    ids, similarities, weights = [], [], []
    for number, similarity in zip(votes.ids.tolist(), votes.similarities.tolist(), strict=True):
        part = slice(labels.starts[number], labels.starts[number + 1])
        there = np.flatnonzero(labels.labels[part] == place)
        if similarity > 0 and len(there):
            weight = float(labels.grades[part][there[0]]) if len(labels.grades) else 1.0
            weight *= float(labels.weights[number]) if len(labels.weights) else 1.0
            ids.append(number)
            similarities.append(similarity)
            weights.append(weight)
    if settings.text_weight > 0 and votes.texts.get(place, 0) > 0:
        ids.append(TEXT)
        similarities.append(votes.texts[place])
        weights.append(settings.text_weight)
    values = np.array(similarities, dtype=np.float32)
    weights = sign * np.array(weights) * values.astype(np.float64) ** (settings.power - 1)
    return np.array(ids, dtype=np.int64), values, weights * model._model().factors[place]


def _names(ids: np.ndarray, row_names: np.ndarray | None) -> np.ndarray:
    """Return what to call neighbours, -1 being the text of the label."""
    return np.array([_name(i, row_names) for i in ids.tolist()], dtype=object)


def _name(i: int, row_names: np.ndarray | None) -> object:
    """Return what to call one neighbour."""
    if i == TEXT:
        return "(text of the label)"
    return f"row {i}" if row_names is None else row_names[i : i + 1].tolist()[0]


def explain_rows(
    model: BaseEstimator,
    rows: Rows,
    places: Sequence[Sequence[int]],
    k: int | None,
    row_names: np.ndarray | None,
    n_threads: int,
) -> Explanations:
    """Return the explanations of some labels of each sample, by falling score."""
    n = min(model.n_neighbors_, model._row_parts.n_rows)
    ids = np.empty((rows.shape[0], 0), np.int32)
    similarities = np.empty((rows.shape[0], 0), np.float32)
    if n:
        ids, similarities = model._row_parts.nearest(rows, n, n_threads)
    starts, labels, values = None, None, None
    if model._texts is not None:
        starts, labels, values = model._texts.matches(rows, n_threads)
    found = []
    for i, of_row in enumerate(places):
        texts = {}
        if starts is not None:
            part = slice(starts[i], starts[i + 1])
            texts = dict(zip(labels[part].tolist(), values[part].tolist(), strict=True))
        votes = Votes(ids[i], similarities[i], texts)
        some = [explained(i, place, votes, model, k, row_names) for place in of_row]
        found += sorted(some, key=lambda item: -item.score)
    return Explanations(found)
