"""Warnings of a fitted PPDSparseClassifier, and checks of one from a file."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ..base._classifier import BaseXCClassifier
from ..utils._matrix import checked_csr
from ..utils._records import either, is_a, is_array, is_count, is_not_negative, require_attributes
from ._problem import MOST_OF_UNIT, in_units


def warn_if_late(model: BaseXCClassifier, gap: np.ndarray, stacklevel: int = 3) -> None:
    """Warn of classes that `max_iter` has cut short."""
    late = int((~(gap <= model.tol)).sum())
    if late:
        warnings.warn(
            f"max_iter={model.max_iter} rounds did not bring the duality gap of {late} of "
            f"{len(gap)} classes below tol={model.tol:g} (largest: "
            f"{gap.max():.3g}); raise max_iter or tol, or scale the features",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def warn_if_empty(
    model: BaseXCClassifier, sample_weight: np.ndarray | None, stacklevel: int
) -> None:
    """Warn of a model that light samples have left without weights."""
    if model.coef_.nnz or sample_weight is None or sample_weight.max() >= 1:
        return
    warnings.warn(
        f"every weight is zero: the penalties, l1_={model.l1_:.3g} and l2_={model.l2_:.3g}, "
        f"outweigh the samples, whose weights are at most {sample_weight.max():.3g}; "
        "multiply these, or set smaller penalties",
        UserWarning,
        stacklevel=stacklevel,
    )


def chosen_penalties(model: BaseXCClassifier) -> dict[str, str]:
    """Return l1 and l2 as multiples of "rows", where the fit has chosen them by trial.

    Copies that trained on fewer samples would choose others, and have scores of another size.
    """
    chosen = {}
    for name, factor in zip(("l1", "l2"), model.penalty_factors_, strict=True):
        unit, times = in_units(getattr(model, name), name)
        if unit == "auto":
            chosen[name] = f"{min(factor * times, MOST_OF_UNIT)!r}*rows"
    return chosen


def check_loaded(model: BaseXCClassifier, mapped: bool) -> None:
    """Check the attributes of a model from a file, beyond those of every classifier."""
    dual = vars(model).get("dual_coef_")
    if dual is not None and not (
        sparse.issparse(dual) and dual.format == "csr" and dual.has_canonical_format
    ):
        raise ValueError("dual_coef_ is no CSR matrix, or names a sample twice")
    if dual is not None and not mapped:
        checked_csr(dual, "dual_coef_")
    of_classes = either(is_array(np.float64, finite=False), is_array(np.int64))
    require_attributes(
        model,
        _n_visits=is_not_negative,
        l1_=is_not_negative,
        l2_=is_not_negative,
        dual_gap_=of_classes,
        n_active_=of_classes,
        dual_coef_=sparse.issparse,
        penalty_factors_=is_a(tuple),
        _n_dual_texts=is_count,
    )
