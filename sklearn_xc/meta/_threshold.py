"""Thresholds that decide which of the k best labels of a sample are predicted."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import HasMethods, Interval, StrOptions, all_or_nothing, as_it_is
from ..model_selection._out_of_fold import NO_SCORE, HeldOut, Labels, held_out_topk
from ..model_selection._routing import fit_with
from ..model_selection._take_rows import take
from ..utils._callbacks import FIT_CALLER, InnerFits, with_callbacks
from ..utils._csr import LARGEST_INDEX
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_one_of,
    is_positive,
    require_attributes,
    savable,
)
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._unwrap import find_inner
from ._base import FOLDS
from ._by_response import RESPONSES, BaseThresholdWrapper
from ._threshold_search import ScoredPairs, global_threshold, label_thresholds

MOST_LABELS = 100  # looked at without max_labels


@savable
class TopKThresholdClassifier(BaseThresholdWrapper):
    """Predict the labels whose scores reach thresholds, which are tuned for an F measure.

    The best threshold on scores is seldom 0, and there is none on the number of labels: how many
    labels a sample gets follows from its scores. Thresholds are chosen on the scores of the best
    labels of samples that were held out, which takes (n_samples, max_labels) numbers, not
    (n_samples, n_classes). All thresholds are evaluated, not a grid: the choice is exact.

    For an indicator of labels, and for two classes, where the threshold is on the score of
    ``classes_[1]``. Samples of exactly one class out of many have no set to decide on, and are
    refused: whether to answer at all is what :class:`TopKAbstainClassifier` decides.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline that ends in
        one. In a :class:`~sklearn.frozen.FrozenEstimator` it stays as it is. None is
        ``PPDSparseClassifier(random_state=0)``.
    metric : {"micro_f1", "macro_f1", "example_f1"}, default="micro_f1"
        The F measure of all pairs of sample and label, that of each label averaged over the
        labels, or that of each sample averaged over the samples. As scikit-learn's, it is 0 for a
        label or sample that neither has nor is predicted any.
    beta : float, default=1.0
        Weight of recall: ``(1 + beta^2) P R / (beta^2 P + R)`` of precision P and recall R. Below
        1 thresholds rise and precision with them, above 1 they fall.
    scope : {"global", "per_label"}, default="global"
        One threshold, or one for each label; not the latter with "example_f1", for which labels
        cannot be looked at one after another.
    min_positives : int, default=5
        With ``scope="per_label"``: labels with fewer held-out positives among the scores looked at
        share one threshold, tuned for them together. One of their own would follow one or two
        scores: it fits them and fails on others [2]_.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Whether thresholds are on probabilities or on scores. "auto" is "predict_proba" where the
        estimator has it, such as a :class:`TopKCalibratedClassifier` or one with `calibration`,
        otherwise "decision_function", as in
        :class:`~sklearn.model_selection.TunedThresholdClassifierCV`. A calibration tells apart its
        own k best labels only; if more are looked at, fit warns and names the parameter.
    max_labels : int, default=None
        The most labels of a sample that are predicted, and looked at when thresholds are chosen.
        None is the largest number of labels of a sample of `fit`, at least 5 and at most 100, and
        no more than a calibration tells apart.
    cv : int, float, splitter, iterable of splits or "prefit", default=5
        How samples are held out from copies of the estimator: an int is the number of folds of
        :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float up to 0.5 the share of one
        part that is held out once. With "prefit" the estimator is fitted already, and all samples
        of `fit`, which it should not have seen, choose the thresholds.
    refit : bool, default=True
        Whether to fit the estimator on all samples in the end. False keeps the one that the
        thresholds were chosen with, for "prefit" and a single split only, as in
        :class:`~sklearn.model_selection.TunedThresholdClassifierCV`.
    n_jobs : int or None, default=None
        Folds that are fitted at once, as in joblib.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one that predicts.
    best_threshold_ : float or ndarray of float64, shape (n_classes,)
        Labels are predicted whose probabilities or scores (see `response_method_`) are at least as
        high; infinite where nothing could be learned about a label.
    response_method_ : {"predict_proba", "decision_function"}
        What `best_threshold_` is compared with.
    best_score_ : float
        The measure with it, on the samples held out: somewhat optimistic, as it is the highest.
    max_labels_ : int
        The most labels predicted.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
        If the estimator has it.
    feature_names_in_ : ndarray of str, shape (n_features,)
        If the estimator has it.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : For two classes and any metric.
    TopKCalibratedClassifier : Probabilities.

    Notes
    -----
    There is no `decision_function`, since its sign is not what is predicted: ask `estimator_`.

    Per label, the macro average is maximised label by label; the micro average by Dinkelbach's
    iteration for ratios [3]_, exactly as well.

    References
    ----------
    .. [1] Z. C. Lipton, C. Elkan and B. Naryanaswamy. "Optimal thresholding of classifiers to
       maximize F1 measure". ECML PKDD 2014.
    .. [2] Y. Yang. "A study of thresholding strategies for text categorization". SIGIR 2001.
    .. [3] W. Dinkelbach. "On nonlinear fractional programming". Management Science 13, 1967.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier, TopKThresholdClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.metrics import micro_f1
    >>> X, Y = make_xc_classification(600, 500, 40, n_labels=2.0, random_state=0)
    >>> plain = PPDSparseClassifier(random_state=0).fit(X[:500], Y[:500])
    >>> tuned = TopKThresholdClassifier(PPDSparseClassifier(random_state=0)).fit(X[:500], Y[:500])
    >>> for model in (plain, tuned):
    ...     print(round(micro_f1(Y[500:], model.predict(X[500:])), 1))
    0.8
    0.9
    """

    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "metric": [StrOptions({"micro_f1", "macro_f1", "example_f1"})],
        "beta": [Interval(Real, 1e-3, 1e3, closed="both")],
        "scope": [StrOptions({"global", "per_label"})],
        "min_positives": [Interval(Integral, 1, None, closed="left")],
        "response_method": [StrOptions({"auto", *RESPONSES})],
        "max_labels": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
        "cv": [*FOLDS, StrOptions({"prefit"})],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        metric: str = "micro_f1",
        beta: float = 1.0,
        scope: str = "global",
        min_positives: int = 5,
        response_method: str = "auto",
        max_labels: int | None = None,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.beta = beta
        self.scope = scope
        self.min_positives = min_positives
        self.response_method = response_method
        self.max_labels = max_labels
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator and choose thresholds.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes
        y : indicator of shape (n_samples, n_classes), or array-like of shape (n_samples,)
            The latter of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fit and in the measure.
        **fit_params : dict
            Given to the estimator's fit.

        Returns
        -------
        self : TopKThresholdClassifier

        Raises
        ------
        ValueError
            If a parameter or y is not as described, thresholds per label are requested for
            "example_f1", or `refit` and `cv` do not go together.
        """
        given = X, y, sample_weight
        with all_or_nothing(self):
            X, y, labels, weight, params, split_params = self._read(X, y, sample_weight, fit_params)
            self._check_combinations(labels)
            self._labels = replace(labels, truth=None)
            self.max_labels_ = self._most_labels(labels, weight)
            splits = self._splits(X, y, labels, split_params, weight)
            # The estimator that predicts is fitted first: whether there are probabilities, and how
            # many labels its calibration tells apart, decides which held-out scores are needed.
            if splits is None or self.refit:
                fits = self._start_fits(splits, *given)
                self._fit_estimator(X, y, params, fits)
                self._choose_response()
                found = held_out_topk(
                    self._to_hold_out(params),
                    X,
                    y,
                    labels,
                    k=self.max_labels_,
                    splits=splits,
                    weight=weight,
                    params=params,
                    n_jobs=self.n_jobs,
                    response=self._response(),
                    next_fit=fits.next,
                )
            else:
                # One split leaves one estimator, which is kept; of folds there would be several.
                if len(splits) != 1:
                    raise ValueError("When cv has several folds, refit cannot be False.")
                fits = self._start_fits(splits, *given, also=0)
                found = self._fit_on_single_split(X, y, labels, weight, params, splits[0], fits)
            pairs = _pairs(labels, *found)
            if self.scope == "global":
                best = global_threshold(self.metric, pairs, self.beta)
            else:
                best = label_thresholds(self.metric, pairs, self.beta, self.min_positives)
            self.best_threshold_, self.best_score_ = best
            fits.finish()
        return self

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(
            self,
            max_labels_=is_positive,
            response_method_=is_one_of(*RESPONSES),
            best_threshold_=either(is_a(float, np.floating), is_array(np.float64, finite=False)),
            best_score_=either(is_a(float, np.floating), is_array(np.float64, finite=False)),
        )
        thresholds = np.shape(vars(self).get("best_threshold_", 0.0))
        if thresholds and thresholds != (len(self.classes_),):
            raise ValueError("the thresholds are not one for each label")

    def _check_combinations(self, labels: Labels) -> None:
        """Refuse parameters, or labels, that do not go together."""
        if labels.kind == "multiclass":
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                "a sample of exactly one class has nothing to decide by a threshold; predict with "
                "the estimator itself, let TopKAbstainClassifier decide whether to answer, or "
                "give an indicator of labels (n_samples, n_classes)"
            )
        if self.scope == "per_label" and self.metric == "example_f1":
            raise ValueError(
                "scope='per_label' goes with metric='micro_f1' or 'macro_f1'; for 'example_f1' "
                "use scope='global'"
            )
        if isinstance(self.cv, str) and self.refit:
            raise ValueError("When cv='prefit', refit cannot be True.")

    def _choose_response(self) -> None:
        super()._choose_response()
        if self.response_method_ == "predict_proba" and self._labels.kind == "multilabel":
            self._warn_of_few_candidates()

    def _warn_of_few_candidates(self) -> None:
        """Look at no more labels than a calibration tells apart, or warn of it."""
        # Beyond its k best a calibration gives all labels one probability. A threshold below that
        # would predict them all, one above none of them.
        try:
            calibrated = find_inner(self.estimator_, "calibration_").estimator
        except TypeError:  # probabilities of another kind, such as a softmax
            return
        k = calibrated.calibration_.n_candidates
        if self.max_labels is None:
            self.max_labels_ = min(self.max_labels_, k)
        elif k < min(self.max_labels_, len(self.classes_)):
            more = (
                f"k={self.max_labels_} or more in {type(calibrated).__name__}"
                if hasattr(calibrated, "k")
                else "a TopKCalibratedClassifier with a larger k"
            )
            warnings.warn(
                f"the probabilities of {type(calibrated).__name__} tell apart the {k} best labels "
                f"of a sample, but max_labels_={self.max_labels_} are looked at: the others are "
                f"predicted all or none; use {more}, a smaller max_labels, or "
                "response_method='decision_function'",
                UserWarning,
                stacklevel=FIT_CALLER + 2,
            )

    def _most_labels(self, labels: Labels, weight: np.ndarray | None) -> int:
        """Return how many labels of a sample are looked at, and predicted at most."""
        if self.max_labels is not None:
            return min(self.max_labels, len(labels.classes))
        # Samples of weight zero are nowhere; 5 at least: a sample may have more than any seen.
        n_labels = np.diff(labels.truth.indptr)
        largest = int(
            n_labels.max() if weight is None else n_labels.max(where=weight > 0, initial=0)
        )
        return min(len(labels.classes), MOST_LABELS, max(5, largest))

    def _fit_on_single_split(
        self,
        X: MatrixLike,
        y: LabelsLike,
        labels: Labels,
        weight: np.ndarray | None,
        params: dict[str, Any],
        split: tuple[np.ndarray, np.ndarray],
        fits: InnerFits,
    ) -> tuple[np.ndarray, HeldOut, np.ndarray]:
        """Keep the estimator that was fitted on the training part; its scores on the other."""
        train, test = split
        self.estimator_ = clone(self._wrapped())
        fit_with(self.estimator_, X, y, train, params, fits.next("fold"))
        self._remember()
        self._choose_response()
        found = held_out_topk(
            self.estimator_,
            take(X, test),
            take(y, test),
            replace(labels, truth=labels.truth[test], classes=self.classes_),
            k=self.max_labels_,
            splits=None,
            weight=None if weight is None else weight[test],
            response=self._response(),
        )
        # Numbers of samples in the test part become numbers in y.
        codes, held_out, samples = found
        return codes, held_out, test[samples]

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the labels whose probabilities or scores reach the thresholds, possibly none.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

        Returns
        -------
        y : ndarray or CSR of shape (n_samples, n_classes), or ndarray of shape (n_samples,)
            In the container of fit's y.
        """
        check_is_fitted(self)
        now = as_it_is(self)
        # A global threshold is a number, one a label an array: both as an array.
        threshold = np.asarray(now.best_threshold_)
        if now._labels.kind == "binary":
            best, scores = now._best(X, 2, now._response())
            above = scores[best == 1] >= threshold.ravel()[-1]
            return now.classes_[above.astype(int)]
        best, scores = now._best(X, now.max_labels_, now._response())
        return now._labels.indicator(
            best, scores >= (threshold if threshold.ndim == 0 else threshold[best])
        )


def _pairs(
    labels: Labels, codes: np.ndarray, held_out: HeldOut, samples: np.ndarray
) -> ScoredPairs:
    """Return the held-out scores as pairs of sample and label."""
    # Of two classes the second is the only label: it is predicted, or the first is.
    truth = labels.truth[samples]
    if labels.kind == "binary":
        truth, codes = truth[:, [1]], np.zeros_like(codes)
        n_labels = 1
    else:
        n_labels = len(labels.classes)
    # Scores of a class without positives in the training part are none: no threshold goes below.
    sample, place = np.nonzero((codes >= 0) & (held_out.scores > NO_SCORE))
    weight = held_out.weight
    return ScoredPairs(
        score=held_out.scores[sample, place].astype(np.float64),
        hit=held_out.hits[sample, place],
        sample=sample,
        label=codes[sample, place],
        weight=weight,
        sample_true=np.diff(truth.indptr).astype(np.float64),
        label_true=np.bincount(
            truth.indices, np.repeat(weight, np.diff(truth.indptr)), truth.shape[1]
        )[:n_labels],
    )
