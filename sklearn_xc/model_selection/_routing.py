"""Shared by the helpers of cross-validation: the splitter, parameters and their routing."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from ..base._labels import DROPPED, check_labels, is_indicator
from ..base._named_classes import read_classes, sorted_classes
from ..utils._callbacks import InnerFit
from ..utils._given_labels import given_classes, plain_labels
from ..utils._matrix import n_rows
from ..utils._typing import LabelsLike, MatrixLike
from ._split import RareLabelKFold
from ._take_rows import take


def splitter(cv: Any) -> Any:
    """Return the splitter that `cv` means; None and integers are :class:`RareLabelKFold`."""
    if cv is None:
        return RareLabelKFold(5)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        return RareLabelKFold(int(cv))
    return check_cv(cv)


class GroupedSplitter:
    """Splitter that knows the groups of the samples.

    Raises ValueError if `cv` is a splitter that takes no notice of groups.
    """

    def __init__(self, cv: Any, groups: ArrayLike) -> None:
        self._cv, self._groups = splitter(cv), groups
        if hasattr(self._cv, "get_metadata_routing"):
            # Splitters that take groups into account ask for them; the others ignore the argument.
            asks = self._cv.get_metadata_routing().split.requests.get("groups")
            if asks is not True:
                name = type(self._cv).__name__ if hasattr(cv, "split") else f"cv={cv!r:.60}"
                raise ValueError(
                    f"groups is given, but {name} does not keep groups together: use "
                    "cv=GroupKFold() or another splitter of scikit-learn that does"
                )

    def split(self, X: MatrixLike, y: LabelsLike = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the samples to train on and to test, of different groups."""
        return self._cv.split(X, y, groups=self._groups)


class Routed(NamedTuple):
    """Parameters by the method that they are for."""

    fit: dict
    split: dict
    score: dict


def routing_enabled() -> bool:
    """Return whether scikit-learn routes metadata by requests."""
    return sklearn.get_config().get("enable_metadata_routing", False)


def route(
    estimator: Any, params: dict[str, Any] | None, *, owner: str, cv: Any, scorer: Any = None
) -> Routed:
    """Split the params by receiver: without metadata routing, fit gets them all."""
    params = {} if params is None else dict(params)
    if not routing_enabled() or not params:
        return Routed(params, {}, {})
    # The caller is named fit for all, for what routes here is a function and has no methods.
    router = MetadataRouter(owner=owner)
    fit = MethodMapping().add(caller="fit", callee="fit")
    router.add(estimator=estimator, method_mapping=fit)
    if hasattr(cv, "get_metadata_routing"):
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    if hasattr(scorer, "get_metadata_routing"):
        router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    routed = process_routing(_Owner(router, owner), "fit", **params)
    return Routed(
        routed.estimator.fit,
        routed.splitter.split if "splitter" in routed else {},
        routed.scorer.score if "scorer" in routed else {},
    )


class _Owner:
    """An object for `process_routing` to ask, and to name in its messages."""

    def __init__(self, router: MetadataRouter, name: str) -> None:
        self._router, self._name = router, name

    def get_metadata_routing(self) -> MetadataRouter:
        return self._router

    def __repr__(self) -> str:
        return self._name


OF_LABELS = "label_features", "classes"  # arguments of fit with one entry a label


def part_of(params: dict[str, Any], n_samples: int, rows: np.ndarray) -> dict[str, Any]:
    """Return the params, those with one entry a sample restricted to some samples.

    Texts and names of labels are whole, of however many labels.
    """
    # A value of the right length is taken to have an entry for each sample.
    return {
        name: take(value, rows)
        if _length(value) == n_samples and name.split("__")[-1] not in OF_LABELS
        else value
        for name, value in params.items()
    }


def named_classes(params: dict[str, Any], estimator: Any, y: LabelsLike) -> np.ndarray | None:
    """Return the sorted classes that a fit knows whatever y holds, None if only the classes of y.

    Its argument `classes` names them; with texts of labels they are the labels that have some and
    the labels in y, which is not read if it is an indicator.
    """
    # A wrapper that reads names of labels as texts knows labels without samples.
    beside = getattr(estimator, "_labels_of_texts", list)()
    if beside and y is not None and not is_indicator(y):
        check_labels(y, DROPPED)
        return given_classes([*np.asarray(plain_labels(y)).ravel().tolist(), *beside])
    # In a pipeline the argument is called step__classes.
    for name, value in params.items():
        if name.split("__")[-1] == "classes" and value is not None:
            return sorted_classes(read_classes(value))
    return None


def _length(value: Any) -> int | None:
    """Return the number of entries of an array, table or sequence; None of others."""
    if sparse.issparse(value) or hasattr(value, "shape"):
        return value.shape[0] if value.ndim else None
    return len(value) if isinstance(value, (list, tuple)) else None


def fit_with(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    train: np.ndarray,
    params: dict[str, Any],
    inner_fit: InnerFit | None = None,
) -> Any:
    """Fit on some samples of X, y and params; `inner_fit` reports it to callbacks."""
    params = part_of(params, n_rows(X), train)
    X, y = take(X, train), take(y, train)
    given = (X,) if y is None else (X, y)
    if inner_fit is None:
        return estimator.fit(*given, **params)
    with inner_fit.around(estimator, X, y, params.get("sample_weight")):
        return estimator.fit(*given, **params)
