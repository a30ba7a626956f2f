"""Columns of one-vs-rest models: new labels beside old ones, models of different labels as one."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import BaseXCClassifier
from ..base._labels import LabelEncoding, encode_indicator, label_names
from ..base._multiclass import known_codes
from ..base._new_classes import append_names, merge_labels, rows_in_places
from ..inspection._label_counts import extended_support
from ..utils._memory_limit import require_memory


class Columns(NamedTuple):
    """What a one-vs-rest model has for each class, two classes being two columns as well.

    Attributes
    ----------
    coef : csr_array of float32 (n_classes, n_features)
    intercept : ndarray of float32 (n_classes,)
    gap : ndarray of float64 (n_classes,)
    n_active : ndarray of int64 (n_classes,)
    dual : csr_array of float32 (n_classes, n_samples), or None
    """

    coef: sparse.csr_array
    intercept: np.ndarray
    gap: np.ndarray
    n_active: np.ndarray
    dual: sparse.csr_array | None


def columns_of(model):
    """The columns of a fitted model.

    The problem of the first of two classes is that of the second with the signs turned round: the
    weights are opposite, the dual variables the same.
    """
    coef, dual = sparse.csr_array(model.coef_), vars(model).get("dual_coef_")
    columns = Columns(coef, model.intercept_, model.dual_gap_, model.n_active_, dual)
    if model._encoding.kind != "binary":
        return columns
    return Columns(
        sparse.vstack([-coef, coef], format="csr"),
        np.concatenate([-columns.intercept, columns.intercept]),
        np.repeat(columns.gap, 2),
        np.repeat(columns.n_active, 2),
        None if dual is None else sparse.vstack([dual, dual], format="csr"),
    )


def join_columns(columns, places, result):
    """The columns of a model at their places among those just solved, whose others are new.

    Parameters
    ----------
    columns : Columns
    places : ndarray of int (n_classes,)
    result : dict
        With coef, intercept, gap, n_active and dual of all columns (see `_solver`); those at
        `places` were not solved and are empty.

    Returns
    -------
    joined : Columns
    """
    n_columns = len(result["intercept"])
    dual = columns.dual
    if dual is not None and dual.shape[1] == result["dual"].shape[1]:
        dual = rows_in_places(dual, places, n_columns) + result["dual"]
    else:  # of other samples
        dual = None
    joined = Columns(
        rows_in_places(columns.coef, places, n_columns) + result["coef"],
        result["intercept"].copy(),
        result["gap"].copy(),
        result["n_active"].copy(),
        dual,
    )
    joined.intercept[places] = columns.intercept
    joined.gap[places] = columns.gap
    joined.n_active[places] = columns.n_active
    return joined


# ------------------------------------------------------------------------------- new labels


class AddLabels:
    """The method of one-vs-rest estimators that trains new labels beside those of a fit.

    The estimator has ``_solve(X, Y, sample_weight, dual, is_new)``, which solves the columns of Y
    that have positives, and ``_warn_if_late(gap)``.
    """

    def add_labels(self, X, Y_new, sample_weight=None, names=None):
        """Train labels that fit has not seen, and leave all others as they are.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            The rows of `fit`, or others of the same features.
        Y_new : indicator of shape (n_samples, n_new), or array-like of shape (n_samples,)
            After a fit on an indicator: the columns of the new labels, dense, sparse or a
            DataFrame, which are appended to those of before. After a fit on classes: the classes
            of all rows of X, new ones among them; each new class is trained against all other rows
            given, and takes its place in the sorted ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
        names : array-like of shape (n_new,), default=None
            Names of the new columns, where those of before have names; by default those of the
            DataFrame.

        Returns
        -------
        self : PPDSparseClassifier

        Raises
        ------
        ValueError
            If Y_new is not of the kind of fit's y, holds no new class, or no new label has a
            positive; if names are missing, or given where labels have none, or there already; if
            `calibration` is set.
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Notes
        -----
        With the same rows, parameters and integer `random_state` the new labels of an indicator
        get the weights that a fit on all columns gives them, up to rounding;
        ``class_weight="balanced"`` compares the new labels with each other only. New classes do as
        well, while the old ones have not seen the rows of the new ones as negatives. With
        ``warm_start`` the dual variables grow too if there are as many rows as in `fit`; those of
        other rows are dropped, and the next fit starts from nothing.
        """
        check_is_fitted(self)
        with self._all_or_nothing():
            self._refuse_calibration()
            if names is not None:
                names = np.asarray(names)
            elif self._encoding.kind == "multilabel":
                names = label_names(Y_new)
            X, Y_new, sample_weight = self._validate_more(X, Y_new, sample_weight)
            before, was_sparse = columns_of(self), sparse.issparse(self.coef_)
            self._encoding, places, Y = encode_added(self._encoding, Y_new, names)
            self.classes_ = self._encoding.classes_
            is_new = np.ones(Y.shape[1], dtype=bool)
            is_new[places] = False
            self._set_support(extended_support(self._support, Y, sample_weight, places))
            result = self._solve(X, Y, sample_weight, None, is_new)
            joined = join_columns(before, places, result)
            self.n_iter_ = max(self.n_iter_, result["n_iter"])
            self.dual_gap_, self.n_active_ = joined.gap, joined.n_active
            vars(self).pop("dual_coef_", None)
            if self.warm_start and joined.dual is not None:
                self.dual_coef_ = joined.dual
            self._set_linear_model(joined.coef, joined.intercept)
            if not was_sparse:
                self.densify()
        self._warn_if_late(result["gap"][is_new])
        return self


def encode_added(encoding, y, names):
    """Encode labels that join those of a model.

    Parameters
    ----------
    encoding : LabelEncoding
        Of the model.
    y : ndarray or sparse, shape (n_samples,) or (n_samples, n_new)
        Validated: classes of the samples, or an indicator of the new labels.
    names : ndarray of shape (n_new,), or None
        Of the columns of an indicator.

    Returns
    -------
    encoding : LabelEncoding
        Of old and new labels.
    places : ndarray of int64 (n_classes,)
        Where the old labels stand there.
    Y : csr_array of uint8 (n_samples, n_old_and_new)
        The positives of the new labels; the columns of the old ones are empty.
    """
    if encoding.kind == "multilabel":
        return _encode_added_columns(encoding, y, names)
    if y.ndim == 2 and y.shape[1] == 1 and not sparse.issparse(y):
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(
            f"fit's y held one class a sample, Y_new has shape {y.shape}: give the classes of the "
            "samples, 1-D, with new ones among them"
        )
    if names is not None:
        raise ValueError("names are for the columns of an indicator; here Y_new holds the classes")
    classes, places = merge_labels(encoding.classes_, y)
    if len(classes) == len(encoding.classes_):
        raise ValueError("Y_new holds no class that the model does not have already")
    codes = known_codes(y, classes)
    is_new = np.ones(len(classes), dtype=bool)
    is_new[places] = False
    indptr = np.append(0, np.cumsum(is_new[codes]))
    codes = codes[is_new[codes]]
    parts = np.ones(len(codes), dtype=np.uint8), codes, indptr.astype(np.int32)
    Y = sparse.csr_array(parts, shape=(len(y), len(classes)))
    return LabelEncoding("multiclass", classes, classes.dtype), places, Y


def _encode_added_columns(encoding, y, names):
    if y.ndim != 2:
        raise ValueError(
            f"fit's y was an indicator, Y_new has shape {y.shape}: give an indicator of the new "
            "labels, one column each (of a single label, reshape it to (-1, 1))"
        )
    new = encode_indicator(y, None)[1]
    n_old, n_new = encoding.n_classes, new.shape[1]
    classes = append_columns([encoding.classes_, names], [n_old, n_new], "Y_new")
    Y = sparse.hstack([sparse.csr_array((y.shape[0], n_old), dtype=np.uint8), new], format="csr")
    grown = LabelEncoding("multilabel", classes, encoding.dtype, encoding.container)
    return grown, np.arange(n_old), Y


def append_columns(names, numbers, what):
    """The names of the columns of several indicators side by side; numbers where they have none.

    Parameters
    ----------
    names : list of ndarray or None
        The column names of each; numbers from 0 on, or None, are no names.
    numbers : list of int
        The number of columns of each.
    what : str
        What the second and later ones are, for errors.

    Returns
    -------
    names : ndarray of shape (sum of numbers,)
    """
    named = [not _are_numbers(n, number) for n, number in zip(names, numbers, strict=True)]
    if not any(named):
        return np.arange(sum(numbers))
    if not all(named):
        raise ValueError(
            f"either all label columns have names or none: the first has {_described(named[0])}, "
            f"{what} has {_described(not named[0])}"
        )
    joined = names[0]
    for more, number in zip(names[1:], numbers[1:], strict=True):
        if more.shape != (number,):
            raise ValueError(
                f"names must be one for each of the {number} columns, got shape {more.shape}"
            )
        joined = append_names(joined, more)
    seen = set()
    for name in joined.tolist():
        if name in seen:
            raise ValueError(f"the label {name!r} is there twice; labels must be disjoint")
        seen.add(name)
    return joined


def _are_numbers(names, number):
    return names is None or (names.dtype.kind in "iu" and np.array_equal(names, np.arange(number)))


def _described(named):
    return "names" if named else "numbers only"


# ----------------------------------------------------------------------------------- models


def merge(models):
    """One model of several whose labels are disjoint, trained apart.

    Each label of a one-vs-rest model is a problem of its own, so nothing is computed anew: the
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
        are any, must be disjoint, and columns without names are numbered anew. Weights are sparse.
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
    A class of a multiclass model was trained against the rows of its own model. Trained on the
    same rows (as an indicator of a part of the labels, or with all other labels as one class)
    scores are comparable; otherwise the merged ranking is as good as the rows are alike.

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
    >>> np.allclose(whole.decision_function(X), apart, atol=1e-5)
    True
    """
    models = list(models)
    _check_models(models)
    first = models[0]
    parts = [columns_of(model) for model in models]
    n_weights, n_columns = (sum(part.coef.nnz for part in parts), sum(len(p.gap) for p in parts))
    require_memory(
        8 * n_weights + 16 * n_columns, f"merge: {n_weights} weights", "prune the models before"
    )
    places = np.arange(n_columns)
    if first._encoding.kind == "multilabel":
        labels = [model.classes_ for model in models]
        classes = append_columns(labels, [len(names) for names in labels], "a later one")
        kind, dtype, container = "multilabel", first._encoding.dtype, first._encoding.container
    else:
        classes = first.classes_
        for model in models[1:]:
            before = len(classes)
            classes, _ = merge_labels(classes, model.classes_)
            if len(classes) < before + len(model.classes_):
                raise ValueError("models have classes in common; their classes must be disjoint")
        places = np.concatenate([np.searchsorted(classes, model.classes_) for model in models])
        kind, dtype, container = "multiclass", classes.dtype, None
        if len(models) == 1 and len(classes) == 2:
            kind, parts, places = "binary", [_of_model_itself(first)], np.arange(1)
    model = clone(first).set_params(calibration=None)
    model._encoding = LabelEncoding(kind, classes, dtype, container)
    model.classes_ = classes
    for name in ("n_features_in_", "feature_names_in_", "l1_", "l2_"):
        if hasattr(first, name):
            setattr(model, name, getattr(first, name))
    order = np.argsort(places)
    model.n_iter_ = max(part.n_iter_ for part in models)
    model.dual_gap_ = np.concatenate([part.gap for part in parts])[order]
    model.n_active_ = np.concatenate([part.n_active for part in parts])[order]
    supports = [part._support for part in models]
    if all(support is not None for support in supports):
        support = np.concatenate(supports)
        model._support = support if kind == "binary" else support[order]
    coef = sparse.vstack([part.coef for part in parts], format="csr")
    model._set_linear_model(
        rows_in_places(coef, places, len(places)),
        np.concatenate([part.intercept for part in parts])[order],
    )
    return model


def _of_model_itself(model):
    coef = sparse.csr_array(model.coef_)
    return Columns(coef, model.intercept_, model.dual_gap_, model.n_active_, None)


def _check_models(models):
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
        check_is_fitted(model)
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
