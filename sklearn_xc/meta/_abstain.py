"""Answers for the samples that a model is sure of, and none for the others."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import HasMethods, Interval, StrOptions, all_or_nothing, as_it_is
from ..metrics._coverage import curve_of
from ..model_selection._out_of_fold import HeldOut, held_out_topk
from ..utils._callbacks import FIT_CALLER, with_callbacks
from ..utils._given_labels import plain_labels
from ..utils._records import is_a, is_one_of, require_attributes, savable
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._validation import check_sample_weight
from ._base import FOLDS
from ._by_response import RESPONSES, BaseThresholdWrapper


@savable
class TopKAbstainClassifier(BaseThresholdWrapper):
    """Answer with the best class of a sample, or abstain where the model is not sure enough.

    For one class a sample: "accept these by themselves, and leave the rest to a person". A sample
    is answered if the probability, or score, of its best class reaches a threshold, which is chosen
    on samples that were held out: the lowest with which the answers are right as often as `target`
    says. All thresholds are looked at, not a grid. Samples to come are right as often if they are
    like those of `fit`, in the shares of the classes too: where frequent classes are rarer among
    them, fewer answers are right.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline that ends in
        one. In a :class:`~sklearn.frozen.FrozenEstimator` it stays as it is. None is
        ``PPDSparseClassifier(random_state=0)``. A :class:`TopKCalibratedClassifier` puts samples
        into a better order, as its probability looks at the lead over the second class as well.
    criterion : {"accuracy", "coverage"}, default="accuracy"
        What `target` is of: the accuracy of the answers, or the share of samples that are answered.
    target : float, default=0.9
        With "accuracy" the least share of right answers, with "coverage" the least share of samples
        that are answered, both among the samples held out.
    abstain_label : str, number or None, default=None
        What `predict` returns where it abstains, no class itself. None is -1 for classes that are
        numbers (one less than the least where -1 is a class), the empty text for texts, and None
        for objects of other kinds.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Whether the threshold is on probabilities or on scores. "auto" is "predict_proba" where the
        estimator has it.
    cv : int, float, splitter, iterable of splits or "prefit", default=5
        How samples are held out from copies of the estimator: an int is the number of folds of
        :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float up to 0.5 the share of one
        part that is held out once. With "prefit" the estimator is fitted already, and all samples
        of `fit`, which it should not have seen, choose the threshold; labels that it does not know
        are then samples to abstain from.
    n_jobs : int or None, default=None
        Folds that are fitted at once, as in joblib.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one that predicts.
    best_threshold_ : float
        Samples are answered whose best probability or score is at least as high; infinite where no
        threshold was good enough.
    response_method_ : {"predict_proba", "decision_function"}
        What `best_threshold_` is compared with.
    abstain_label_ : object
        The label that says that there is no answer.
    accuracy_, coverage_ : float
        Share of right answers, and of samples answered, on the samples held out. The first is
        somewhat optimistic, as the threshold was chosen for it.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
        If the estimator has it.
    feature_names_in_ : ndarray of str, shape (n_features,)
        If the estimator has it.

    See Also
    --------
    TopKThresholdClassifier : Sets of labels by thresholds.
    sklearn_xc.metrics.coverage_curve : Accuracy by the share of samples answered.

    References
    ----------
    .. [1] C. K. Chow. "On optimum recognition error and reject tradeoff". IEEE Transactions on
       Information Theory 16(1), 1970.
    .. [2] R. El-Yaniv and Y. Wiener. "On the foundations of noise-free selective classification".
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier, TopKAbstainClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, y = make_xc_classification(900, 300, 30, signal=0.1, random_state=1)
    >>> plain = PPDSparseClassifier(random_state=0).fit(X[:600], y[:600])
    >>> sure = TopKAbstainClassifier(PPDSparseClassifier(random_state=0), target=0.8)
    >>> found = sure.fit(X[:600], y[:600]).predict(X[600:])
    >>> answered = found != sure.abstain_label_
    >>> right = (found == y[600:])[answered].mean()
    >>> print(f"{answered.mean():.1f} answered, {right:.1f} of these right")
    0.6 answered, 0.8 of these right
    >>> print(f"all answered, {plain.score(X[600:], y[600:]):.1f} right")
    all answered, 0.6 right
    """

    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "criterion": [StrOptions({"accuracy", "coverage"})],
        "target": [Interval(Real, 0, 1, closed="right")],
        "abstain_label": [str, Real, None],
        "response_method": [StrOptions({"auto", *RESPONSES})],
        "cv": [*FOLDS, StrOptions({"prefit"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        criterion: str = "accuracy",
        target: float = 0.9,
        abstain_label: str | float | None = None,
        response_method: str = "auto",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.target = target
        self.abstain_label = abstain_label
        self.response_method = response_method
        self.cv = cv
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator and choose the threshold.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fit and in the shares.
        **fit_params : dict
            Given to the estimator's fit.

        Returns
        -------
        self : TopKAbstainClassifier

        Raises
        ------
        ValueError
            If a parameter or y is not as described, or `abstain_label` is one of the classes.

        Warns
        -----
        UserWarning
            If no threshold reaches the accuracy `target`: no sample is answered then.
        """
        given = X, y, sample_weight
        with all_or_nothing(self):
            X, y, labels, weight, params, split_params = self._read(X, y, sample_weight, fit_params)
            if labels.kind == "multilabel":
                raise ValueError(
                    "TopKAbstainClassifier is for one class a sample, and y is an indicator of "
                    "labels: TopKThresholdClassifier predicts none where no score is high enough"
                )
            self.abstain_label_ = label_of_none(self.abstain_label, labels.classes)
            self._labels = replace(labels, truth=None)
            splits = self._splits(X, y, labels, split_params, weight)
            fits = self._start_fits(splits, *given)
            self._fit_estimator(X, y, params, fits)
            self._choose_response()
            _, held_out, _ = held_out_topk(
                self._to_hold_out(params),
                X,
                y,
                labels,
                k=1,
                splits=splits,
                weight=weight,
                params=params,
                n_jobs=self.n_jobs,
                response=self._response(),
                next_fit=fits.next,
            )
            self._choose_threshold(held_out)
            fits.finish()
        return self

    def _choose_threshold(self, held_out: HeldOut) -> None:
        """Set best_threshold_ and what it reaches."""
        score, hit = held_out.scores[:, 0].astype(np.float64), held_out.hits[:, 0]
        # Scores of two classes are those of the second: below the middle the first is the answer,
        # and as sure as the distance to the middle says.
        if self._labels.kind == "binary":
            middle = 0.5 if self._response() == "proba" else 0.0
            hit = hit == (score > middle)
            score = np.abs(score - middle) + middle
        coverage, accuracy, scores = curve_of(score, hit, held_out.weight)
        # All thresholds at once: the curve has the accuracy and coverage of each. Less 1e-12, as a
        # mean of 0.9 may be a rounding below 0.9.
        reached = np.flatnonzero(
            (accuracy if self.criterion == "accuracy" else coverage) >= (self.target * (1 - 1e-12))
        )
        if not len(reached):
            self.best_threshold_, self.accuracy_, self.coverage_ = np.inf, np.nan, 0.0
            best = np.argmax(accuracy)
            warnings.warn(
                f"no threshold makes {self.target:g} of the answers right (of all samples held "
                f"out {accuracy[-1]:.3g} are, of the surest {coverage[best]:.1%} "
                f"{accuracy[best]:.3g}): no sample is answered; lower target",
                UserWarning,
                stacklevel=FIT_CALLER + 1,
            )
            return
        # Accuracy wants as many answers as it allows, coverage no more than it needs.
        place = reached[-1] if self.criterion == "accuracy" else reached[0]
        self.accuracy_, self.coverage_ = float(accuracy[place]), float(coverage[place])
        if place + 1 < len(scores):
            self.best_threshold_ = float(scores[place] + (scores[place + 1] - scores[place]) / 2)
        # All were answered. Below the lowest score seen nothing is known of accuracy, while a
        # coverage of all means to answer all.
        else:
            lowest = self.criterion == "accuracy"
            self.best_threshold_ = float(scores[place]) if lowest else -np.inf

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(
            self,
            response_method_=is_one_of(*RESPONSES),
            best_threshold_=is_a(float),
            accuracy_=is_a(float),
            coverage_=is_a(float),
            abstain_label_=is_a(str, int, float, type(None)),
        )

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the best class of each sample whose probability or score reaches the threshold.

        Parameters
        ----------
        X : array-like, sparse, or whatever the estimator takes

        Returns
        -------
        y : ndarray of shape (n_samples,)
            `abstain_label_` for the other samples; of the dtype of the classes where that can hold
            it, otherwise objects.
        """
        check_is_fitted(self)
        now = as_it_is(self)
        best, scores = now._best(X, 1, now._response())
        return now._answers(best[:, 0], scores[:, 0] >= now.best_threshold_)

    def _answers(self, codes: np.ndarray, answered: np.ndarray) -> np.ndarray:
        """Return the classes of these numbers, but abstain_label_ where there is no answer."""
        # A dtype that holds both: "" fits texts of any length, -1 no unsigned numbers.
        found = self.classes_[codes]
        found = found.astype(dtype_of_both(self.classes_, self.abstain_label_))
        found[~answered] = self.abstain_label_
        return found

    def score(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of all samples that are answered, and rightly.

        Parameters
        ----------
        X : whatever the estimator takes
        y : array-like of shape (n_samples,)
            Where it holds `abstain_label_`, to abstain is right.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        found, y = self.predict(X), column_or_1d(plain_labels(y))
        check_consistent_length(found, y)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        # By Python's equality: classes and the label of no answer may be of different types.
        right = [one == other for one, other in zip(found.tolist(), y.tolist(), strict=True)]
        return float(np.average(right, weights=weight))


def label_of_none(given: Any, classes: np.ndarray) -> str | float | None:
    """Return the label that stands for no answer among these classes.

    Raises
    ------
    ValueError
        If it is one of the classes.
    """
    if given is None:
        # Asked of each class, as texts of a pandas column are objects.
        given = "" if all(isinstance(name, str) for name in classes.tolist()) else None
        if classes.dtype.kind in "iuf":
            given = -1 if -1 not in classes else classes.min() - 1
    if given in classes.tolist():
        raise ValueError(
            f"abstain_label={given!r} is one of the classes of y: give one that no class has"
        )
    return given.item() if isinstance(given, np.generic) else given


def dtype_of_both(classes: np.ndarray, label: object) -> np.dtype:
    """Return the dtype of classes where it holds a label too, or the next one that does."""
    dtype = classes.dtype
    if dtype.kind == "U" and isinstance(label, str):
        return np.result_type(dtype, f"U{max(len(label), 1)}")
    if isinstance(label, bool) or not isinstance(label, Real):
        return np.dtype(object)
    if dtype.kind == "f":
        return dtype
    if dtype.kind in "iu" and isinstance(label, Integral):
        for wider in (dtype, np.dtype(np.int64)):
            held = np.iinfo(wider)
            if held.min <= label <= held.max and int(classes.max()) <= held.max:
                return wider
    return np.dtype(object)
