"""Base of the classifiers that wrap another one and read its k best classes."""

import warnings
from dataclasses import replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ..base._classifier import Interval, check_parameters
from ..base._fitted import predicts_topk
from ..base._predict_topk import PredictsTopK
from ..base._scored_by_labels import ScoredByLabels
from ..base._topk_predictor import AnswersSingleRows
from ..model_selection._choices import choices_of, named_inside, with_choices_of
from ..model_selection._cross_val_topk import codes_of
from ..model_selection._out_of_fold import Labels, is_prefit, read_labels, splits_of
from ..model_selection._routing import named_classes, routing_enabled
from ..persistence import SaveMixin
from ..ppdsparse._classifier import PPDSparseClassifier
from ..topk._predict import predict_topk, topk_predictor
from ..topk._restriction import Restriction, best_of_each
from ..utils._callbacks import FIT_CALLER, CallbackSupportMixin, InnerFits
from ..utils._matrix import in_rows, n_rows
from ..utils._records import is_a, is_count, is_labels, is_number, require_attributes
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._validation import check_sample_weight

# Pairs of training and test samples, by their numbers.
Splits: TypeAlias = list[tuple[np.ndarray, np.ndarray]]
FOLDS = [  # values of the parameter `cv`
    Interval(Integral, 2, None, closed="left"),
    Interval(Real, 0, 0.5, closed="right"),
    "cv_object",
]


def best_classes(
    estimator: BaseEstimator, X: MatrixLike, k: int, response: str, only: Restriction | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and scores of the k best classes of an estimator, also inside a pipeline.

    With a restriction `only` -1 stands where a row may have fewer.
    """
    classes = np.asarray(estimator.classes_)
    if only is None:
        labels, scores = predict_topk(estimator, X, k, response)
        return codes_of(labels, classes), scores
    # Rows may be of different lengths under a restriction, which only a sparse answer can say.
    given = only.arguments(classes)
    found = predict_topk(estimator, X, k, response, True, **given)
    order = found
    # Calibrations make probabilities equal, of which the better score comes first.
    if response == "proba":
        scores = predict_topk(estimator, X, k, "decision", True, **given)
        same = np.array_equal(scores.indptr, found.indptr)
        order = scores if same and np.array_equal(scores.indices, found.indices) else found
    pair, _ = best_of_each(found.indptr, np.arange(found.nnz), order.data, k)
    # place -1, which rows may have at their end, is what is appended
    return np.append(found.indices, -1)[pair], np.append(found.data, np.float32(0))[pair]


class BaseTopKWrapper(
    PredictsTopK,
    AnswersSingleRows,
    ScoredByLabels,
    SaveMixin,
    CallbackSupportMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Base of the classifiers that fit something on the held-out k best classes of another.

    A subclass has the parameters ``estimator``, ``cv`` and ``n_jobs``, and declares
    ``_parameter_constraints``.
    """

    _parameter_constraints: dict = {}  # noqa: RUF012  (scikit-learn's convention)

    def _wrapped(self) -> BaseEstimator:
        """Return the estimator to copy: by default PPDSparseClassifier."""
        if self.estimator is not None:
            return self.estimator
        # With routing enabled scikit-learn refuses a weight that nobody has requested; the default
        # is ours to request it for.
        estimator = PPDSparseClassifier(random_state=0)
        if routing_enabled():
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._wrapped())
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_label = inner.classifier_tags.multi_label
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata to the estimator and the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        fit = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self._wrapped(), method_mapping=fit)
        if hasattr(self.cv, "get_metadata_routing"):
            split = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=self.cv, method_mapping=split)
        return router

    # ------------------------------------------------------------------------------- for fit

    def _read(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None,
        fit_params: dict[str, Any],
    ) -> tuple[Any, Any, Labels, np.ndarray | None, dict[str, Any], dict[str, Any]]:
        """Check parameters and arguments of fit.

        Return X and y as given, but for lists; labels; checked weights; and what goes to the
        estimator's fit and to the splitter.
        """
        check_parameters(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y = in_rows(X, y, names="Xy")
        if n_rows(X) == 0:
            raise ValueError("X and y have 0 sample(s); at least one is needed in each class")
        # Classes are those of a fitted estimator, or named by fit_params. Labels in y that are none
        # of these are misses of every answer.
        estimator = self._wrapped()
        prefit = is_prefit(estimator, self.cv)
        known = estimator.classes_ if prefit else named_classes(fit_params, estimator, y)
        labels = read_labels(y, known)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, labels.truth.shape[0])
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=weight, **fit_params)
            split_params = routed.splitter.split if "splitter" in routed else {}
            return X, y, labels, weight, routed.estimator.fit, split_params
        # Without routing a weight goes to a fit that has the argument by name. A Pipeline has none:
        # there the user must name the step.
        params = dict(fit_params)
        if weight is not None:
            if "sample_weight" in signature(estimator.fit).parameters:
                params["sample_weight"] = weight
            elif not prefit:
                warnings.warn(
                    f"fit of {type(estimator).__name__} takes no sample_weight: the weights are "
                    f"used by {type(self).__name__} alone; name the step that takes them "
                    "(step__sample_weight), or enable metadata routing",
                    UserWarning,
                    stacklevel=FIT_CALLER + 1,
                )
        return X, y, labels, weight, params, {}

    def _splits(
        self,
        X: MatrixLike,
        y: LabelsLike,
        labels: Labels,
        split_params: dict[str, Any],
        weight: np.ndarray | None,
    ) -> Splits | None:
        """Return the splits of `cv`; None where the estimator is fitted already."""
        if is_prefit(self._wrapped(), self.cv):
            return None
        return splits_of(self.cv, X, y, labels.kind, split_params, weight)

    def _start_fits(
        self,
        splits: Splits | None,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None,
        also: int = 1,
    ) -> InnerFits:
        """Tell callbacks that the fits of all folds begin, and `also` one on all samples."""
        n_fits = 0 if splits is None else len(splits) + also
        return InnerFits(self, n_fits, X, y, sample_weight)

    def _fit_estimator(
        self, X: MatrixLike, y: LabelsLike, params: dict[str, Any], fits: InnerFits
    ) -> None:
        """Set estimator_, fitted on all samples unless it is fitted already, and what it saw."""
        self.estimator_ = self._wrapped()
        if not is_prefit(self.estimator_, self.cv):
            self.estimator_ = clone(self.estimator_)
            with fits.next("all samples").around(
                self.estimator_, X, y, params.get("sample_weight")
            ):
                self.estimator_.fit(X, y, **params)
        self._remember()

    def _to_hold_out(self, params: dict[str, Any]) -> BaseEstimator:
        """Return the estimator whose copies are fitted, with params, without samples held out."""
        if is_prefit(self._wrapped(), self.cv):
            return self.estimator_
        return with_choices_of(self._wrapped(), self.estimator_, params)

    def _choices(self) -> dict[str, Any]:
        """Return what the estimator inside has chosen, for copies of this one."""
        choices = choices_of(self.estimator_)
        if self.estimator is not None or not choices:
            return named_inside("estimator", choices)
        return {"estimator": clone(self._wrapped()).set_params(**choices)}

    def _remember(self) -> None:
        """Take over labels and features that the fitted estimator has seen."""
        # The estimator may call the columns by other names, such as those of its `label_names`.
        if self._labels.kind == "multilabel":
            self._labels = replace(self._labels, classes=np.asarray(self.estimator_.classes_))
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(
            self,
            estimator_=predicts_topk,
            _labels=is_a(Labels),
            n_features_in_=is_count,
            feature_names_in_=is_labels,
            _share_with_labels=is_number,
        )
        if "estimator_" not in vars(self) or "_labels" not in vars(self):
            raise ValueError(f"it holds a {type(self).__name__} without an estimator")
        # Numbers of answers are places in one array of labels and names in the other.
        wrapped: Any = getattr(self.estimator_, "classes_", None)
        if not np.array_equal(wrapped, self._labels.classes):
            raise ValueError("the labels are not those of the estimator inside")

    # ----------------------------------------------------------------------------- prediction

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def _predictor(self, k: int | None, scores: str, only: dict[str, Any]) -> Any:
        return topk_predictor(self.estimator_, k, scores, **only)

    def _best(
        self, X: MatrixLike, k: int, response: str = "decision", only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best classes."""
        # Of a frozen estimator that has learnt classes since, numbers would be those of others.
        n_now, n_then = len(self.estimator_.classes_), len(self.classes_)
        if n_now != n_then:
            raise ValueError(
                f"the estimator inside has {n_now} classes now, and had {n_then} in fit: fit "
                f"{type(self).__name__} again"
            )
        return best_classes(self.estimator_, X, k, response, only)

    def _topk(
        self, rows: MatrixLike, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._best(rows, k, "decision", only)

    def _topk_probabilities(
        self, rows: MatrixLike, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._best(rows, k, "proba", only)
