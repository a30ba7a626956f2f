"""Calibrated probabilities for any classifier that names its k best classes."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import HasMethods, Interval, StrOptions, all_or_nothing, as_it_is
from ..base._nearly_empty import WarnsIfNearlyEmpty
from ..base._predict_topk import check_kind_of_scores
from ..calibration._calibrators import (
    METHODS,
    N_CANDIDATES,
    Calibration,
    fit_calibration,
    method_for,
)
from ..calibration._mixin import all_probabilities, topk_probabilities
from ..model_selection._cross_val_topk import codes_of
from ..model_selection._out_of_fold import held_out_topk
from ..topk._predict import topk_predictor
from ..topk._restriction import Restriction
from ..utils._callbacks import with_callbacks
from ..utils._matrix import n_rows
from ..utils._records import is_a, require_attributes, savable
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_k
from ._base import FOLDS, BaseTopKWrapper


@savable
class TopKCalibratedClassifier(WarnsIfNearlyEmpty, BaseTopKWrapper):
    """Calibrated probabilities for a classifier with very many classes or labels.

    A transform with a handful of parameters, shared by all classes, maps the scores of the k best
    classes of a sample to probabilities. It is fitted on samples that were held out: one pair of
    score and truth for each of their k best classes. The classes beyond share one probability, so
    that nothing of the shape (n_samples, n_classes) is needed in fit, nor one fit for each class.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline that ends in
        one. In a :class:`~sklearn.frozen.FrozenEstimator` it stays as it is, and all samples of
        `fit`, which it should not have seen, calibrate it. None is
        ``PPDSparseClassifier(random_state=0)``.
    method : {"auto", "sigmoid", "isotonic", "temperature", "top_label"}, default="auto"
        "auto" is "top_label" where samples have one of three or more classes, and "sigmoid"
        elsewhere. "sigmoid" is ``1 / (1 + exp(-(a * score + b)))`` with a and b by maximum
        likelihood [1]_, "isotonic" a rising function by least squares [2]_, which needs some
        thousand samples and makes ties. Where samples have one class, the probabilities of a
        sample are then divided by their sum. "temperature", for one class a sample, is the softmax
        of ``score / T`` over the k best classes and, with a utility of its own, all others
        together [3]_. "top_label", for one class a sample too, calibrates whether the best class
        is right, by its score and its lead over the second [4]_; the others share what it leaves.
        With thousands of rare classes only this one is sure of anything: see the page
        "Probabilities".
    cv : int, float, splitter or iterable of splits, default=5
        How samples are held out from copies of the estimator: an int is the number of folds of
        :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float up to 0.5 the share of one
        part that is held out once, which costs a single further fit (of three or more classes one
        of ``round(1 / cv)`` folds). Not used if the estimator is
        frozen.
    k : int, default=10
        How many of the best classes of a sample are looked at; all if there are fewer. The sigmoid
        fits best where the most scores are: a larger k moves its attention to lower ones.
    n_jobs : int or None, default=None
        Folds that are fitted at once, as in joblib.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all samples.
    calibration_ : object
        The fitted calibration: `calibration_.transform` has its parameters, and
        `calibration_.rest_probability` is how often a class beyond the k best was true, each.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
        If the estimator has it.
    feature_names_in_ : ndarray of str, shape (n_features,)
        If the estimator has it.

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : One transform for each class, for few classes.
    sklearn_xc.metrics.reliability_curve : To look at the result.

    Notes
    -----
    What is fitted on the k best says nothing about the others: where these exclude each other, the
    softmax gives them what the k best leave, in equal parts. Elsewhere each gets
    `rest_probability`, or the probability of the k-th best class if that is lower.

    References
    ----------
    .. [1] J. C. Platt. "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods". Advances in Large Margin Classifiers, 1999.
    .. [2] B. Zadrozny and C. Elkan. "Transforming classifier scores into accurate multiclass
       probability estimates". KDD 2002.
    .. [3] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger. "On calibration of modern neural
       networks". ICML 2017.
    .. [4] C. Gupta and A. Ramdas. "Top-label calibration and multiclass-to-binary reductions".
       ICLR 2022.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(600, 500, 40, n_labels=2.0, random_state=0)
    >>> model = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=0.2)
    >>> labels, p = model.fit(X[:500], Y[:500]).predict_topk(X[500:], k=3, scores="proba")
    >>> print([f"{value:.1f}" for value in p[0]])
    ['1.0', '0.1', '0.0']
    """

    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "method": [StrOptions({"auto", *METHODS})],
        "cv": FOLDS,
        "k": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        method: str = "auto",
        cv: Any = 5,
        k: int = N_CANDIDATES,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.k = k
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator and its calibration.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in both fits.
        **fit_params : dict
            Given to the estimator's fit.

        Returns
        -------
        self : TopKCalibratedClassifier

        Raises
        ------
        ValueError
            If a parameter or y is not as described, or "temperature" or "top_label" meets an
            indicator.
        """
        given = X, y, sample_weight
        with all_or_nothing(self):
            X, y, labels, weight, params, split_params = self._read(X, y, sample_weight, fit_params)
            # A method that does not go with y is refused here, before folds are fitted for minutes.
            method_for(self.method, labels.kind)
            self._labels = replace(labels, truth=None)
            self._count_rows_with_labels(labels.truth, weight)
            splits = self._splits(X, y, labels, split_params, weight)
            fits = self._start_fits(splits, *given)
            self._fit_estimator(X, y, params, fits)
            # One pair of score and truth for each of the k best of a held-out sample: these are the
            # scores that a prediction will see.
            _, held_out, _ = held_out_topk(
                self._to_hold_out(params),
                X,
                y,
                labels,
                k=min(self.k, len(labels.classes)),
                splits=splits,
                weight=weight,
                params=params,
                n_jobs=self.n_jobs,
                next_fit=fits.next,
            )
            self.calibration_ = fit_calibration(
                self.method, labels.kind, len(labels.classes), held_out
            )
            fits.finish()
        return self

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(self, calibration_=is_a(Calibration))
        self.calibration_.require_classes(len(self.classes_))

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the most probable class, or all labels with a probability above one half.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

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
        now = as_it_is(self)
        if now._labels.kind != "multilabel":
            best, _ = topk_probabilities(now.calibration_, lambda m: now._best(X, m), 1)
            return now.classes_[best.ravel()]
        # Classes beyond the candidates share one small probability: none of them is above one half.
        k = now.calibration_.n_candidates
        best, p = topk_probabilities(now.calibration_, lambda m: now._best(X, m), k)
        self._warn_if_nearly_empty((p > 0.5).sum(axis=1), "probability above one half")
        return now._labels.indicator(best, p > 0.5)

    def _topk_probabilities(
        self, rows: MatrixLike, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        def best(m: int, only: Restriction | None = None) -> tuple[np.ndarray, np.ndarray]:
            return self._topk(rows, m, only)

        return topk_probabilities(self.calibration_, best, k, only)

    def _predictor(self, k: int | None, scores: str, only: dict[str, Any]) -> Any:
        if scores == "decision":
            return super()._predictor(k, scores, only)
        check_kind_of_scores(self, scores, only["label_weight"])
        return CalibratedPredictor(as_it_is(self), k, only)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return probabilities of all classes.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

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
        now = as_it_is(self)
        return all_probabilities(now.calibration_, lambda m: now._best(X, m), n_rows(X))

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return logarithms of the probabilities of all classes.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

        Returns
        -------
        log_p : ndarray of float64, shape (n_samples, n_classes)
        """
        p = self.predict_proba(X)
        return np.log(p, out=p)


class CalibratedPredictor:
    """Predictor of single samples with the probabilities of a TopKCalibratedClassifier.

    Attributes
    ----------
    classes_, k, scores : as of `TopkPredictor`
    """

    def __init__(self, model: BaseEstimator, k: int | None, only: dict[str, Any]) -> None:
        self._calibration, self.classes_, self.scores = model.calibration_, model.classes_, "proba"
        # `_all` ranks without a restriction: probabilities of the k best depend on all of them,
        # also on those that may not be answered. `_left` ranks what a restriction leaves.
        self._left: Any = None
        if any(value is not None for value in only.values()):
            self._left = topk_predictor(model.estimator_, k, **only)
            k = self._left.k
            if self._calibration.kind == "binary":  # which of the two is first, probabilities say
                self._left = topk_predictor(model.estimator_, **only)
        self.k = check_k(k, len(self.classes_))
        most = 2 if self._calibration.kind == "binary" else self._calibration.n_candidates
        n_ranks = most if self._left is not None else max(self.k, most)
        self._all = topk_predictor(model.estimator_, n_ranks)

    def __repr__(self) -> str:
        return f"CalibratedPredictor({self._all!r}, k={self.k}, scores='proba')"

    def __call__(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best classes of each sample, and their probabilities.

        Parameters
        ----------
        X : whatever the estimator takes

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of float32, shape (n_samples, k)
        """
        if self._calibration.kind == "binary":
            best, p = topk_probabilities(self._calibration, lambda m: self._best(X, m), 2)
            if self._left is not None and self._left.k < 2:
                left = self._best(X, 1, self._left)[0]
                best, p = left, np.where(left == best[:, :1], p[:, :1], p[:, 1:])
            best, p = best[:, : self.k], p[:, : self.k]
        else:
            best, p = topk_probabilities(
                self._calibration, lambda m, only=None: self._best(X, m, only), self.k, self._left
            )
        return self.classes_[best], p

    def _best(
        self, X: MatrixLike, m: int, left: Callable | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the m best classes, of all or of those that are left."""
        labels, scores = (self._all if left is None else left)(X)
        return codes_of(labels, self.classes_)[:, :m], scores[:, :m]
