"""Post-hoc calibration of margin classifiers: the parameter `calibration` and its methods."""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import Interval, StrOptions, as_it_is
from ..base._label_texts import params_of_parts
from ..model_selection._out_of_fold import held_out_topk, read_labels, splits_of
from ..topk._restriction import Restriction, best_of_columns
from ..utils._available import available_if
from ..utils._callbacks import CALLBACKS
from ..utils._memory_limit import require_memory
from ..utils._records import either, is_a, require_attributes
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ._calibrators import (
    METHODS,
    N_CANDIDATES,
    Calibration,
    fit_calibration,
    method_for,
    rounded_inside,
)

# ``topk(m)`` returns the numbers and scores of the m best classes of each sample, best first, and
# ``topk(m, only)`` those that the restriction leaves.
BestOf: TypeAlias = Callable[..., tuple[np.ndarray, np.ndarray]]


def _has_calibration(estimator: "CalibratedMixin") -> bool:
    """Return True, or raise AttributeError which says how to get probabilities."""
    if estimator.calibration is None:
        raise AttributeError(
            f"{type(estimator).__name__} has probabilities only with calibration='auto' (or "
            "'sigmoid', 'isotonic', 'temperature', 'top_label'), not with calibration=None; a "
            "model that is fitted gets them from TopKCalibratedClassifier(FrozenEstimator(model)), "
            "on other samples"
        )
    return True


class CalibratedMixin:
    """`predict_proba` by the parameters `calibration` and `calibration_cv`.

    Stands left of the base class. With `calibration`, `fit` calls :meth:`_calibrator` before it
    trains, so that nobody waits for the training to hear that there is something wrong with
    `calibration_cv`. A subclass whose fit chooses parameters by trial has `_choices`, and fits the
    calibration after the choice: each copy would choose others.
    """

    _calibration_constraints = {  # noqa: RUF012
        "calibration": [StrOptions({"auto", *METHODS}), None],
        "calibration_cv": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0, 0.5, closed="right"),
            "cv_object",
        ],
    }

    def _calibrator(
        self,
        X: Matrix,
        y: LabelsLike,
        sample_weight: np.ndarray | None,
        label_features: MatrixLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Callable[[], None]:
        """Check the parameters of the calibration; return a function that fits calibration_."""
        if self._encoding.kind != "multilabel":
            y = np.ravel(y)
        params = params_of_parts(self, label_features, classes)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        labels = read_labels(y, self.classes_ if "classes" in params else None)
        method_for(self.calibration, labels.kind)  # refused before any fit
        splits = splits_of(self.calibration_cv, X, y, labels.kind, weight=sample_weight)

        def calibrate() -> None:
            copy = clone(self).set_params(calibration=None, warm_start=False, **self._choices())
            if hasattr(copy, "checkpoint"):  # which is of one fit, on all samples
                copy.set_params(checkpoint=None)
            vars(copy).pop(CALLBACKS, None)  # only the fit on all samples is reported to them
            # Given to this fit itself, they are for the copies as well, whatever was requested.
            if get_config()["enable_metadata_routing"]:
                copy.set_fit_request(**dict.fromkeys(params, True))
            _, held_out, _ = held_out_topk(
                copy,
                X,
                y,
                labels,
                k=min(N_CANDIDATES, len(labels.classes)),
                splits=splits,
                weight=sample_weight,
                params=params,
            )
            self.calibration_ = fit_calibration(
                self.calibration, labels.kind, len(labels.classes), held_out
            )

        return calibrate

    def _choices(self) -> dict[str, Any]:
        """Return parameters that the fit on all samples has chosen already, for copies."""
        return {}

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(self, calibration_=either(None, is_a(Calibration)))
        if (calibration := vars(self).get("calibration_")) is not None:
            calibration.require_classes(len(self.classes_))

    def _refuse_calibration(self) -> None:
        """Refuse calibration in calls that hold out nothing: partial_fit, add_labels."""
        if self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration!r} needs samples that are held out from training: "
                "use fit, or calibrate the model on other samples with "
                "TopKCalibratedClassifier(FrozenEstimator(model))"
            )

    def _fitted_calibration(self) -> Calibration:
        """Return the calibration, if it is one of the classes of now."""
        check_is_fitted(self, "calibration_")
        if self.calibration_.n_classes != len(self.classes_):
            raise ValueError(
                f"calibration_ was fitted for {self.calibration_.n_classes} classes, but the model "
                f"has {len(self.classes_)} now: fit again, or calibrate it with "
                "TopKCalibratedClassifier(FrozenEstimator(model))"
            )
        return self.calibration_

    def _topk_probabilities(
        self, rows: Rows, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and probabilities of the k best classes of each sample."""
        if self.calibration is None:
            raise ValueError(
                f"scores='proba': {type(self).__name__} has probabilities only with "
                "calibration='auto', 'sigmoid', 'isotonic', 'temperature' or 'top_label'"
            )
        calibration, topk = self._fitted_calibration(), partial(self._topk, rows)
        return topk_probabilities(calibration, topk, k, only)

    @available_if(_has_calibration)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return calibrated probabilities of all classes; only with `calibration`.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of float64, shape (n_samples, n_classes)
            Where samples have one class, each row sums to 1. Of the labels of an indicator each
            has a probability of its own, inside (0, 1). The ten best classes of a sample have
            calibrated probabilities; the others share one, by how often they were true.

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available; ``predict_topk(X, k,
            scores="proba")`` never does.
        """
        now = as_it_is(self)
        rows = now._rows(X)
        return all_probabilities(now._fitted_calibration(), partial(now._topk, rows), rows.shape[0])

    @available_if(_has_calibration)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return logarithms of the calibrated probabilities; only with `calibration`.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of float64, shape (n_samples, n_classes)
        """
        p = self.predict_proba(X)
        return np.log(p, out=p)


def topk_probabilities(
    calibration: Calibration, topk: BestOf, k: int, only: Restriction | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and float32 probabilities of the k best classes of each sample, best first.

    A restriction of the labels leaves their probabilities as they are among all.
    """
    if calibration.kind == "binary":
        p = rounded_inside(_binary_probabilities(calibration, topk))
        return best_of_columns(p, k, only)
    m = calibration.n_candidates
    if only is not None:
        # The candidates of all labels: else the probability of a label would depend on which other
        # ones are allowed.
        best, scores = topk(m)
        p, rest = calibration.candidates(scores)
        left = topk(k, only)[0]
        return left, rounded_inside(_looked_up(left, best, p, rest))
    best, scores = topk(max(k, m))
    p, rest = calibration.candidates(scores[:, :m])
    # Beyond the candidates all classes of a sample have the same probability.
    p = np.hstack([p, np.broadcast_to(rest[:, None], (len(p), max(0, k - m)))])
    return best[:, :k], rounded_inside(p[:, :k])


def _looked_up(left: np.ndarray, best: np.ndarray, p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return probabilities of other classes: those of the best, where they are among them."""
    result = np.repeat(rest[:, None], left.shape[1], axis=1)
    for place in range(best.shape[1]):
        result = np.where(left == best[:, [place]], p[:, [place]], result)
    return result


def all_probabilities(calibration: Calibration, topk: BestOf, n_rows: int) -> np.ndarray:
    """Return probabilities of all classes: ndarray of float64 (n_rows, n_classes)."""
    shape = n_rows, calibration.n_classes
    require_memory(
        8 * shape[0] * shape[1],
        f"predict_proba: a dense output of shape {shape}",
        "use predict_topk(X, k, scores='proba'), or fewer samples at a time",
    )
    if calibration.kind == "binary":
        return _binary_probabilities(calibration, topk)
    best, scores = topk(calibration.n_candidates)
    p, rest = calibration.candidates(scores)
    out = np.repeat(rest[:, None], shape[1], axis=1)
    np.put_along_axis(out, best.astype(np.int64), p, axis=1)
    return out


def _binary_probabilities(calibration: Calibration, topk: BestOf) -> np.ndarray:
    """Return the probabilities of both classes, float64 (n_samples, 2)."""
    best, scores = topk(2)
    p = calibration.binary(scores[best == 1])
    return np.column_stack([1 - p, p])
