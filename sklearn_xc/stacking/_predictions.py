"""Predictions of TopKStackingClassifier from the log-odds of candidates."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import all_or_nothing, as_it_is
from ..base._explanation import Explanations
from ..base._nearly_empty import WarnsIfNearlyEmpty
from ..base._predict_topk import PredictsTopK, check_kind_of_scores
from ..base._scored_by_labels import ScoredByLabels
from ..base._topk_predictor import AnswersSingleRows
from ..topk._restriction import Restriction, best_of_each, read_restriction
from ..utils._matrix import n_rows
from ..utils._memory_limit import require_memory
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_k
from ._candidates import Candidates
from ._explain import explain_rows
from ._features import FORMS
from ._growth import grown
from ._scorer import in_rows_of


class StackPredictions(WarnsIfNearlyEmpty, PredictsTopK, AnswersSingleRows, ScoredByLabels):
    """Mixin of predictions, made from ``_stack()`` and ``_labels``."""

    @property
    def feature_names_final_(self) -> list[str]:
        """The names of the features of the second stage; of a part alone its score."""
        check_is_fitted(self)
        if self.final_ is None:
            return [f"{self._parts[0].name}: score"]
        names = [f"{part.name}: {form}" for part in self._parts for form in FORMS[part.kind]]
        return names + self._facts.names(self._counted)

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much each feature of the second stage says; the sum is 1."""
        check_is_fitted(self)
        if self.final_ is None:
            return np.ones(1)
        found = self.final_.importances()
        if found is None:
            raise AttributeError(f"final={self.final!r} has neither feature_importances_ nor coef_")
        return found / found.sum() if found.sum() > 0 else found

    def _rows(self, X: MatrixLike) -> MatrixLike:
        return in_rows_of(X)

    def _topk(
        self, rows: MatrixLike, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return _best(self, rows, k, False, only)

    def _topk_probabilities(
        self, rows: MatrixLike, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return _best(self, rows, k, True, only)

    def _predictor(self, k: int | None, scores: str, only: dict[str, Any]) -> "StackPredictor":
        now = as_it_is(self)
        restriction = read_restriction(now.classes_, 1, **only)
        k = check_k(k, len(now.classes_)) if restriction is None else restriction.check_k(k, False)
        check_kind_of_scores(now, scores, only["label_weight"])
        return StackPredictor(now, k, scores, only)

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the most probable class, or all labels with a probability above one half.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) dense or CSR
            In the container of fit's y.

        Warns
        -----
        UserWarning
            Once for each fit, if nine in ten of a hundred samples or more get no label, while
            samples of fit had some: put :class:`TopKThresholdClassifier` around this one.
        """
        check_is_fitted(self)
        now, X = as_it_is(self), in_rows_of(X)
        if now._labels.kind != "multilabel":
            best, _ = now._topk(X, 1)
            return now.classes_[best.ravel()]
        # Labels beyond the candidates were seldom true, and have a probability far below one half.
        rows, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part, found, _, log_odds in now._stack().blocks(X):
            there = log_odds > 0
            rows.append(found.row[there] + part.start)
            places.append(found.places[there])
        rows, places = np.concatenate(rows), np.concatenate(places)
        counts = np.bincount(rows, minlength=n_rows(X))
        self._warn_if_nearly_empty(counts, "probability above one half")
        codes = np.full((len(counts), max(1, int(counts.max(initial=1)))), -1)
        codes[rows, np.arange(len(rows)) - np.append(0, np.cumsum(counts))[rows]] = places
        return now._labels.indicator(codes, codes >= 0)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return log-odds of all classes.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take

        Returns
        -------
        scores : ndarray of float32, shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the logarithm of the quotient of the second's probability and the
            first's. Labels that no part names share one value, below those of the others.

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; :meth:`predict_topk` never
            does.
        """
        check_is_fitted(self)
        now, X = as_it_is(self), in_rows_of(X)
        if now._labels.kind == "binary":
            log_p = [_logs(now, found, v) for _, found, _, v in now._stack().blocks(X)]
            return np.concatenate([_balance(part) for part in log_p]).astype(np.float32)
        out = _empty(now, X, np.float32, "decision_function")
        for part, found, _, log_odds in now._stack().blocks(X):
            # log-odds of the labels beyond the candidates, log(p / (1 - p)), all at once; then
            # those of the candidates go to their places.
            out[part] = _log_odds(_rest(now, found, log_odds))[:, None]
            out[part][found.row, found.places] = log_odds
        return out

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of all classes.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take

        Returns
        -------
        p : ndarray of float64, shape (n_samples, n_classes)
            Where samples have one class, each row sums to 1. Of the labels of an indicator each
            has a probability of its own, inside (0, 1).

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        check_is_fitted(self)
        now, X = as_it_is(self), in_rows_of(X)
        out = _empty(now, X, np.float64, "predict_proba")
        for part, found, _, log_odds in now._stack().blocks(X):
            p, rest = _probabilities(now, found, log_odds)
            out[part] = rest[:, None]
            out[part][found.row, found.places] = p
        return out

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return logarithms of the probabilities of all classes.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take

        Returns
        -------
        log_p : ndarray of float64, shape (n_samples, n_classes)
        """
        p = self.predict_proba(X)
        return np.log(p, out=p)

    def explain(
        self,
        X: MatrixLike,
        labels: LabelsLike = None,
        k: int | None = 5,
        *,
        feature_names: ArrayLike | None = None,
    ) -> Explanations:
        """Explain the log-odds of labels by the parts, the samples and the text of a label.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take
        labels : label, sequence of labels, one sequence of labels a sample, or sparse indicator, \
                default=None
            What to explain, as in :meth:`PPDSparseClassifier.explain`; by default the best label.
        k : int or None, default=5
            Features, or neighbours, that each part lists; None lists all.
        feature_names : array-like of shape (n_features,), default=None
            Names of the columns of X, for the reasons of parts; by default those of a DataFrame,
            or ``x0, x1, ...``.

        Returns
        -------
        explanations : Explanations
            Sample by sample, the labels of a sample by falling log-odds. Features are the parts
            there, with their scores as values; ``explanation.parts`` has the reasons of each part
            by its name. With a second stage of the user's nothing is known of the parts' shares.

        Raises
        ------
        ValueError
            If a label is not in ``classes_`` or named twice for a sample, or k or feature_names are
            not as described.
        """
        check_is_fitted(self)
        return explain_rows(as_it_is(self), in_rows_of(X), labels, k, feature_names)

    def add_labels(self, label_features: MatrixLike, names: ArrayLike | None = None) -> Self:
        """Add labels that no sample has, by their texts.

        They join the parts that take labels so, :class:`TopKNeighborsClassifier`; for the others
        they are labels of which nothing is known, as the second stage has met them.

        Parameters
        ----------
        label_features : array-like or sparse, shape (n_new, n_features), or sequence of these
            Their texts, as in :meth:`fit`.
        names : array-like of shape (n_new,), default=None
            Classes, where a sample has one; otherwise the names of the new columns, where those of
            before have names.

        Returns
        -------
        self : TopKStackingClassifier

        Raises
        ------
        ValueError
            If no part takes labels by their texts; if names are missing, given where labels have
            none, or there already; if the texts do not fit the samples.
        """
        check_is_fitted(self)
        with all_or_nothing(self):
            found = grown(self, label_features, names)
            self._labels, self._facts = found.labels, found.facts
            self._parts, self.estimators_ = found.parts, found.estimators
            if self.label_names is not None:  # so that a clone can be fitted on all columns
                self.label_names = found.labels.classes
        return self


def _best(
    model: BaseEstimator,
    X: MatrixLike,
    k: int,
    probabilities: bool = False,
    only: Restriction | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and scores of the k best classes of each row; -1 where it may have fewer."""
    kind = model._labels.kind
    best, values = [np.empty((0, k), np.int64)], [np.empty((0, k), np.float32)]
    of_all = only is not None and probabilities and kind != "multilabel"
    whole = model._stack().blocks(X) if of_all else None
    for part, found, _, log_odds in model._stack().blocks(X, k, only):
        scores, rest = log_odds, None
        if whole is not None:
            _, others, _, log_odds_of_all = next(whole)
            scores = _among_all(model, found, log_odds, others, log_odds_of_all)
            _, rest = _probabilities(model, others, log_odds_of_all)
        elif probabilities:
            scores, rest = _probabilities(model, found, log_odds)
        elif kind == "binary":
            difference = _balance(_logs(model, found, log_odds))
            scores = np.where(found.places == 1, 1, -1) * difference[found.row]
        block = None if only is None else only.of_rows(part.start, part.stop)
        if block is None:
            pair = best_of_each(found.starts, found.places, scores, k)
        else:
            pair = block.best_of_pairs(found.starts, found.places, scores, k)
        if kind != "binary" and (pair[0] < 0).any():
            rest = _log_odds(_rest(model, found, log_odds)) if rest is None else rest
            _complete(*pair, rest, len(model.classes_), block)
        best.append(pair[0])
        values.append(pair[1])
    return np.concatenate(best), np.concatenate(values)


def _complete(
    codes: np.ndarray,
    scores: np.ndarray,
    rest: np.ndarray,
    n_classes: int,
    only: Restriction | None,
) -> None:
    """Put labels beyond the candidates, whose scores are `rest`, into places of -1."""
    # Classes without samples, which parts need not know. All candidates are there before them.
    labels = np.arange(n_classes)
    for i in np.flatnonzero((codes < 0).any(axis=1)):
        allowed = labels if only is None else labels[only.permits(np.full(n_classes, i), labels)]
        others = np.setdiff1d(allowed, codes[i])
        free = np.flatnonzero(codes[i] < 0)[: len(others)]
        codes[i, free], scores[i, free] = others[: len(free)], rest[i]


def _log_odds(p: np.ndarray) -> np.ndarray:
    """Return the log-odds of probabilities."""
    return np.log(p) - np.log1p(-p)


def _sigmoid(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities, float64, inside (0, 1)."""
    # Never 0 or 1: logarithms of both p and 1 - p are taken.
    p = 1 / (1 + np.exp(-log_odds))
    return np.clip(p, 1e-15, 1 - 1e-9)


def _rest(model: BaseEstimator, found: Candidates, log_odds: np.ndarray) -> np.ndarray:
    """Return the probability of a label beyond the candidates of each row, below all of theirs."""
    # How often labels beyond the candidates were true on held-out samples; but no label that no
    # part has named comes before one that was.
    lowest = np.ones(len(found.starts) - 1)
    np.minimum.at(lowest, found.row, _sigmoid(log_odds))
    return np.minimum(lowest, model._misses)


def _probabilities(
    model: BaseEstimator, found: Candidates, log_odds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of candidates, and that of each label beyond them in each row."""
    p, rest = _sigmoid(log_odds), _rest(model, found, log_odds)
    if model._labels.kind == "multilabel":
        return p, rest
    # Classes exclude each other: all K probabilities are divided by their sum.
    total = _total(model, found, p, rest)
    return p / total[found.row], rest / total


def _total(model: BaseEstimator, found: Candidates, p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the sum over all classes of each row."""
    n_beyond = len(model.classes_) - np.diff(found.starts)
    return np.bincount(found.row, p, len(rest)) + n_beyond * rest


def _among_all(
    model: BaseEstimator,
    found: Candidates,
    log_odds: np.ndarray,
    others: Candidates,
    log_odds_of_all: np.ndarray,
) -> np.ndarray:
    """Return the probabilities of allowed candidates among all classes, of which `others` are."""
    p, rest = _sigmoid(log_odds), _rest(model, others, log_odds_of_all)
    total = _total(model, others, _sigmoid(log_odds_of_all), rest)[found.row]
    # A class that is no candidate without the restriction counts there as one of the rest.
    width = len(model.classes_)
    inside = np.isin(found.row * width + found.places, others.row * width + others.places)
    return p / np.where(inside, total, total - rest[found.row] + p)


def _logs(model: BaseEstimator, found: Candidates, log_odds: np.ndarray) -> np.ndarray:
    """Return the logarithms of the probabilities of two classes, (n_rows, 2)."""
    p, rest = _probabilities(model, found, log_odds)
    logs = np.tile(np.log(rest)[:, None], (1, 2))
    logs[found.row, found.places] = np.log(p)
    return logs


def _balance(logs: np.ndarray) -> np.ndarray:
    """Return the log-odds of the second of two classes."""
    return logs[:, 1] - logs[:, 0]


def _empty(model: BaseEstimator, X: MatrixLike, dtype: DTypeLike, method: str) -> np.ndarray:
    """Return memory for a number of each row and class."""
    shape = n_rows(X), len(model.classes_)
    require_memory(
        shape[0] * shape[1] * np.dtype(dtype).itemsize,
        f"{method}: a dense output of shape {shape}",
        "use predict_topk, or fewer samples at a time",
    )
    return np.empty(shape, dtype=dtype)


class StackPredictor:
    """Predictor of single samples by a stack, with its arguments.

    Attributes
    ----------
    classes_, k, scores : as of `TopkPredictor`
    """

    def __init__(self, model: StackPredictions, k: int, scores: str, only: dict[str, Any]) -> None:
        self._model, self._only = model, only
        self.classes_, self.k, self.scores = model.classes_, k, scores

    def __repr__(self) -> str:
        parts = ", ".join(part.name for part in self._model._parts)
        return f"StackPredictor({parts}, k={self.k}, scores={self.scores!r})"

    def __call__(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best classes of each sample, and their scores.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of float32, shape (n_samples, k)
        """
        return self._model.predict_topk(X, self.k, self.scores, **self._only)
