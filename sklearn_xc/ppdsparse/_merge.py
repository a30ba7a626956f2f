"""One-vs-rest models of different labels as one."""

from collections.abc import Iterable

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import BaseXCClassifier
from ..base._labels import LabelEncoding
from ..base._new_classes import merge_labels, rows_in_places
from ..topk._weight_store import store_of
from ..utils._memory_limit import require_memory
from ._add_labels import WeightColumns, append_columns, columns_of


def merge(models: Iterable[BaseXCClassifier]) -> BaseXCClassifier:
    """Merge models whose labels are disjoint, trained apart.

    Each label of a one-vs-rest model is a problem of its own, so nothing is computed again: the
    scores of the merged model are those of its parts.

    Parameters
    ----------
    models : sequence of PPDSparseClassifier
        Fitted, on X with the same features in the same order. All of them with one class a sample
        (1-D y), or all on an indicator.

    Returns
    -------
    model : PPDSparseClassifier
        A new one, with the parameters and the container of predictions of the first, but for
        ``calibration=None``. One class a sample: ``classes_`` is the sorted union. Indicators: the
        columns of the first model, then those of the second, and so on; column names, where there
        are any, must be disjoint, and columns without names are renumbered. Weights are sparse.
        There is no ``dual_coef_``: a later fit with ``warm_start=True`` starts from nothing.

    Raises
    ------
    ValueError
        If there is no model, if labels overlap, if features differ in number or names, or if
        models with one class and with several labels a sample are mixed.
    TypeError
        If a model is of another type, or of one whose scores are trained against each other:
        probabilities and margins over different classes have no common scale.
    MemoryError
        If the weights would take more than half of the memory available.

    Notes
    -----
    A class of a multiclass model was trained against the samples of its own model. Trained on the
    same samples (as an indicator of a part of the labels, or with all other labels as one class)
    scores are comparable; otherwise the merged ranking is as good as the samples are alike.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn_xc
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(300, 500, 40, n_labels=2, random_state=0)
    >>> parts = [
    ...     sklearn_xc.PPDSparseClassifier(random_state=0).fit(X, Y[:, columns])
    ...     for columns in (np.arange(25), np.arange(25, 40))
    ... ]
    >>> whole = sklearn_xc.merge(parts)
    >>> whole.coef_.shape
    (40, 500)
    >>> apart = np.hstack([part.decision_function(X) for part in parts])
    >>> print(f"{abs(whole.decision_function(X) - apart).max():.4f}")  # scores stay
    0.0000
    """
    models = list(models)
    _check_models(models)
    first = models[0]
    parts = [columns_of(model) for model in models]
    n_weights, n_columns = (sum(part.coef.nnz for part in parts), sum(len(p.gap) for p in parts))
    require_memory(
        8 * n_weights + 16 * n_columns, f"merge: {n_weights} weights", "prune the models before"
    )
    encoding, places = _joined_labels(models)
    if encoding.kind == "binary":
        parts = [_of_model_itself(first)]
    # A calibration is of the scores of one model's labels only.
    model = clone(first).set_params(calibration=None)
    model._encoding, model.classes_ = encoding, encoding.classes_
    for name in ("n_features_in_", "feature_names_in_", "l1_", "l2_", "penalty_factors_"):
        if hasattr(first, name):
            setattr(model, name, getattr(first, name))
    order = np.argsort(places)
    model.n_iter_ = max(part.n_iter_ for part in models)
    model.dual_gap_ = np.concatenate([part.gap for part in parts])[order]
    model.n_active_ = np.concatenate([part.n_active for part in parts])[order]
    # One model that does not know its support leaves the merged one without.
    supports: list[np.ndarray] = [part._support for part in models if part._support is not None]
    if len(supports) == len(models):
        support = np.concatenate(supports)
        model._support = support if encoding.kind == "binary" else support[order]
    coef = sparse.vstack([part.coef for part in parts], format="csr")
    model._set_linear_model(
        rows_in_places(coef, places, len(places)),
        np.concatenate([part.intercept for part in parts])[order],
    )
    return model


def _joined_labels(models: list[BaseXCClassifier]) -> tuple[LabelEncoding, np.ndarray]:
    """Return the labels of all models, and the place of each column among them."""
    first = models[0]
    # Columns of indicators stay in their order; classes take their places in the sorted union.
    if first._encoding.kind == "multilabel":
        labels = [model.classes_ for model in models]
        classes = append_columns(labels, [len(names) for names in labels], "a later one")
        form = first._encoding.dtype, first._encoding.container
        return LabelEncoding("multilabel", classes, *form), np.arange(len(classes))
    classes = first.classes_
    for model in models[1:]:
        before = len(classes)
        classes, _ = merge_labels(classes, model.classes_)
        if len(classes) < before + len(model.classes_):
            raise ValueError("models have classes in common; their classes must be disjoint")
    # A model of two classes alone stays one, with the one column that it has.
    if len(models) == 1 and len(classes) == 2:
        return LabelEncoding("binary", classes, classes.dtype), np.arange(1)
    places = np.concatenate([np.searchsorted(classes, model.classes_) for model in models])
    return LabelEncoding("multiclass", classes, classes.dtype), places


def _of_model_itself(model: BaseXCClassifier) -> WeightColumns:
    """Return the one column of a model of two classes as it is."""
    coef = store_of(model.coef_).checked().csr()
    return WeightColumns(coef, model.intercept_, model.dual_gap_, model.n_active_, None)


def _check_models(models: list) -> None:
    """Raise ValueError or TypeError for models that have no common scale, or other features."""
    if not models:
        raise ValueError("merge needs at least one model")
    first = models[0]
    for model in models:
        name = type(model).__name__
        if not isinstance(model, BaseXCClassifier):
            raise TypeError(f"merge takes estimators of sklearn_xc, not {name}")
        if model._not_merged_since is not None:
            raise TypeError(f"models of {name} cannot be merged: {model._not_merged_since}")
        if type(model) is not type(first):
            raise TypeError(
                f"merge takes models of one type, not {type(first).__name__} and {name}"
            )
        if getattr(model, "loss", None) == "crammer_singer":
            raise TypeError(
                "models of loss='crammer_singer' cannot be merged: their classes were compared "
                "with one another, not with those of other models"
            )
        check_is_fitted(model)
        model._check_state()
        if model.n_features_in_ != first.n_features_in_:
            raise ValueError(
                f"models of {first.n_features_in_} and {model.n_features_in_} features cannot be "
                "merged: all must be fitted on the same features"
            )
        names = [getattr(m, "feature_names_in_", None) for m in (first, model)]
        if (names[0] is None) != (names[1] is None) or not np.array_equal(*names):
            raise ValueError("the models' feature names differ: feature_names_in_ must be equal")
        if (model._encoding.kind == "multilabel") != (first._encoding.kind == "multilabel"):
            raise ValueError(
                "models with one class a sample and models with several labels a sample cannot be "
                "merged"
            )
