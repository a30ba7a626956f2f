"""New labels of a one-vs-rest model, trained beside those it has."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..base._label_counts import extended_support
from ..base._label_texts import texts_of_new
from ..base._labels import REFUSED, LabelEncoding, encode_indicator, pattern_of
from ..base._linear_model import checked_weights
from ..base._multiclass import known_codes
from ..base._new_classes import append_names, merge_labels, rows_in_places
from ..base._used_columns import n_columns_to_pay
from ..base._validation import grades_of, validate_more
from ..utils._callbacks import Progress
from ..utils._given_labels import label_names, plain_labels, require_names
from ..utils._scratch import Scratch
from ._problem import OneVsRestProblem
from ._solver import fit_classes


class WeightColumns(NamedTuple):
    """Weights and reports of a one-vs-rest model by class; a binary model has two columns here.

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
    """Return the columns of a fitted model.

    The problem of the first of two classes is that of the second with the signs turned round: the
    weights are opposite, the dual variables the same.
    """
    coef, dual = sparse.csr_array(checked_weights(model.coef_)), vars(model).get("dual_coef_")
    columns = WeightColumns(coef, model.intercept_, model.dual_gap_, model.n_active_, dual)
    if model._encoding.kind != "binary":
        return columns
    return WeightColumns(
        sparse.vstack([-coef, coef], format="csr"),
        np.concatenate([-columns.intercept, columns.intercept]),
        np.repeat(columns.gap, 2),
        np.repeat(columns.n_active, 2),
        None if dual is None else sparse.vstack([dual, dual], format="csr"),
    )


def join_columns(columns, places, result, same_rows=True):
    """Return the columns of a model at their places among those just solved, whose others are new.

    Parameters
    ----------
    columns : WeightColumns
    places : ndarray of int (n_classes,)
    result : dict
        With coef, intercept, gap, n_active and dual of all columns (see `_solver`); those at
        `places` were not solved and are empty.
    same_rows : bool, default=True
        Whether dual variables of as many samples are of the same ones.

    Returns
    -------
    joined : WeightColumns
    """
    n_columns = len(result["intercept"])
    dual = columns.dual
    if same_rows and dual is not None and dual.shape[1] == result["dual"].shape[1]:
        dual = rows_in_places(dual, places, n_columns) + result["dual"]
    else:  # of other samples
        dual = None
    joined = WeightColumns(
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


def add_labels(self, X, Y_new, sample_weight=None, names=None, label_features=None):
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
        DataFrame. They join the parameter `label_names`, if that is set.
    label_features : array-like or sparse, shape (n_new, n_features), or sequence of these, \
            default=None
        Texts of the new labels, as in `fit`: in the order of the columns, or of the sorted new
        classes.

    Returns
    -------
    self : PPDSparseClassifier

    Raises
    ------
    ValueError
        If Y_new is not of the kind of fit's y, holds no new class, or no new label has a
        positive; if names are missing, or given where labels have none, or there already; if
        label_features does not have a row for each new label; if `calibration` is set; with
        ``loss="crammer_singer"``.
    sklearn.exceptions.NotFittedError
        Before `fit`.

    Notes
    -----
    With the same rows, parameters and integer `random_state` the new labels of an indicator
    get the weights that a fit on all columns gives them, up to rounding;
    ``class_weight="balanced"`` compares the new labels with each other only, and texts of the old
    labels are no negatives of the new ones. New classes do as well, while the old ones have not
    seen the rows of the new ones as negatives. With ``warm_start`` the dual variables grow too if
    there are as many rows as in `fit`, and no texts; others are dropped, and the next fit starts
    from nothing.
    """
    check_is_fitted(self)
    if self.loss == "crammer_singer":
        raise ValueError(
            "add_labels: classes of loss='crammer_singer' are compared with one another and solved "
            "together; use fit on all samples"
        )
    with self._all_or_nothing():
        self._refuse_calibration()
        self._check_state()
        if names is not None:
            names = require_names(np.asarray(plain_labels(names)), "names")
        elif self._encoding.kind == "multilabel":
            names = label_names(Y_new)
        rows, Y_new, sample_weight = validate_more(self, X, Y_new, sample_weight)
        n_new = Y_new.shape[1] if Y_new.ndim == 2 else 1
        indices = None if rows.dense else rows.indices
        n_columns = n_columns_to_pay(self, indices, rows.shape[1], first=True)
        self._require_size(len(self.classes_) + n_new, n_columns)
        before, was_sparse = columns_of(self), sparse.issparse(self.coef_)
        self._encoding, places, Y = encode_added(self._encoding, Y_new, names, grades_of(self))
        self.classes_ = self._encoding.classes_
        if self.label_names is not None:  # so that a clone can be fitted on all columns
            self.label_names = self.classes_
        is_new = np.ones(Y.shape[1], dtype=bool)
        is_new[places] = False
        of_rows = rows.shape[1], rows.dense
        texts = texts_of_new(self, label_features, *of_rows, is_new)
        support = extended_support(self._support, pattern_of(Y), sample_weight, places)
        self._set_support(support)
        with Scratch(self.scratch) as scratch:
            problem = OneVsRestProblem.of(
                self, rows, Y, sample_weight, scratch.empty, is_new, texts
            )
            problem = problem.with_factors(*self.penalty_factors_)
            result = fit_classes(
                problem,
                self._settings(problem.penalties),
                dual=None,
                **self._ways(),
                progress=Progress(self, self.verbose),
                scratch=scratch,
            )
            self._n_visits = result["n_visits"]
            result["coef"] = problem.in_all_columns(result["coef"])
        n_texts_before = vars(self).get("_n_dual_texts", 0)
        joined = join_columns(before, places, result, n_texts_before == texts.n == 0)
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


def encode_added(encoding, y, names, grades=REFUSED):
    """Encode labels that join those of a model.

    Parameters
    ----------
    encoding : LabelEncoding
        Of the model.
    y : ndarray or sparse, shape (n_samples,) or (n_samples, n_new)
        Validated: classes of the samples, or an indicator of the new labels.
    names : ndarray of shape (n_new,), or None
        Of the columns of an indicator.
    grades : {REFUSED, KEPT}
        As of `base._labels.encode`.

    Returns
    -------
    encoding : LabelEncoding
        Of old and new labels.
    places : ndarray of int64 (n_classes,)
        Where the old labels stand there.
    Y : csr_array of uint8 (n_samples, n_old_and_new), of float32 where grades are kept
        The positives of the new labels; the columns of the old ones are empty.
    """
    if encoding.kind == "multilabel":
        return _encode_added_columns(encoding, y, names, grades)
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


def _encode_added_columns(encoding, y, names, grades):
    if y.ndim != 2:
        raise ValueError(
            f"fit's y was an indicator, Y_new has shape {y.shape}: give an indicator of the new "
            "labels, one column each (of a single label, reshape it to (-1, 1))"
        )
    new = encode_indicator(y, None, grades)[1]
    n_old, n_new = encoding.n_classes, new.shape[1]
    classes = append_columns([encoding.classes_, names], [n_old, n_new], "Y_new")
    Y = sparse.hstack([sparse.csr_array((y.shape[0], n_old), dtype=new.dtype), new], format="csr")
    grown = LabelEncoding("multilabel", classes, encoding.dtype, encoding.container)
    return grown, np.arange(n_old), Y


def append_columns(names, numbers, what):
    """Return names of the columns of several indicators side by side; numbers where they have none.

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
