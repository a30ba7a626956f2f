"""Problems for the PPDSparse kernels, and their objectives in NumPy."""

import numpy as np
from _margin_losses import VALUES, taken
from scipy import sparse

from sklearn_xc._kernels.ppdsparse._problem import Matrix, Problem, divide_columns
from sklearn_xc._kernels.ppdsparse._solver import Spare, solve_classes
from sklearn_xc.ppdsparse._parameters import LOSSES
from sklearn_xc.utils._matrix import as_rows, normalise

DEFAULTS = {
    "l1": 0.05,
    "l2": 0.5,
    "loss": "squared_hinge",
    "intercept": True,
    "tol": 1e-5,
    "max_iter": 2000,
    "n_select": 0,
    "sparsify": False,
    "delta": 0.5,
    "prune": 0.0,
    "seed": 7,
}


def as_matrix(X):
    rows = as_rows(normalise(X))
    columns = () if rows.dense else rows.columns()
    if columns:
        columns = *columns, *divide_columns(*columns, rows.shape[0])
    return Matrix(rows.indptr, rows.indices, rows.data, rows.dense, rows.shape[1], *columns)


def as_problem(X, Y, sample_weight=None, matrix=None):
    """The data as the kernel takes them, without class weights."""
    dense = (X.toarray() if sparse.issparse(X) else X).astype(float)
    matrix, positives = matrix or as_matrix(X), sparse.csc_array(Y)
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    return Problem(
        matrix,
        matrix,
        np.square(dense).sum(axis=1).astype("f4"),
        weight.astype("f4"),
        np.ones((Y.shape[1], 2), dtype="f4"),
        dense.max(axis=0, initial=0).astype("f4"),
        dense.min(axis=0, initial=0).astype("f4"),
        np.sqrt(weight @ np.square(dense)).astype("f4"),
        positives.indptr.astype("i8"),
        positives.indices.astype("i4"),
    )


def settings_of(**settings):
    """`DEFAULTS` with other ones, as the kernel takes them."""
    settings = {**DEFAULTS, **settings}
    return {**settings, "loss": LOSSES[settings["loss"]]}


def solve(X, Y, labels=None, sample_weight=None, dual=(), matrix=None, spare=None, **settings):
    """One call of the kernel; the classes sorted, coef and dual dense."""
    settings = settings_of(**settings)
    labels = np.arange(Y.shape[1]) if labels is None else labels
    found = solve_classes(
        settings,
        as_problem(X, Y, sample_weight, matrix),
        np.asarray(labels, dtype="i4"),
        dual,
        True,
        np.zeros(1, dtype="i4"),
        spare or Spare(),
    )
    finished, n_weights, intercept, n_iter, gap, n_active, weights, n_dual, duals, visits = found
    assert (visits > 0).all()
    assert sorted(finished) == sorted(labels)
    result = {"intercept": intercept, "n_iter": n_iter, "gap": gap, "n_active": n_active}
    result = {name: values[np.argsort(finished)] for name, values in result.items()}
    for name, counts, (indices, values), width in (
        ("coef", n_weights, weights, X.shape[1]),
        ("dual", n_dual, duals, len(Y)),
    ):
        assert len(indices) == len(values) == counts.sum()
        table = np.zeros((Y.shape[1], width))
        table[np.repeat(finished, counts), indices] = values
        result[name] = table[np.sort(labels)]
    return result


def primal(X, Y, result, l1=0.05, l2=0.5, loss="squared_hinge", weight=1.0):
    """The objective of every class, in float64."""
    w, b = result["coef"], result["intercept"].astype(float)
    X = X.toarray() if sparse.issparse(X) else X
    scores = X.astype(np.float32).astype(float) @ w.T + b
    margin = np.maximum(0, 1 - np.where(Y > 0, 1, -1) * scores)
    losses = VALUES[loss](margin)
    penalty = l1 * np.abs(w).sum(axis=1) + l2 / 2 * ((w**2).sum(axis=1) + b**2)
    return penalty + (np.reshape(weight, (-1, 1)) * losses).sum(axis=0)


def dual_value(X, Y, result, l1=0.05, l2=0.5, loss="squared_hinge"):
    X = X.toarray() if sparse.issparse(X) else X
    signed = result["dual"] * np.where(Y > 0, 1, -1).T
    s = np.maximum(np.abs(signed @ X.astype(np.float32).astype(float)) - l1, 0)
    squares = ((s**2).sum(axis=1) + signed.sum(axis=1) ** 2) / (2 * l2)
    return (result["dual"] - taken(loss, result["dual"], 1.0)).sum(axis=1) - squares


def objectives(model, X, Y, weight=1.0):
    """Primal and dual objective of each class in float64, over all rows."""
    X = X.astype(float)
    y = np.where(Y > 0, 1, -1)
    w, b = sparse.csr_array(model.coef_).astype(float), model.intercept_.astype(float)
    scores = (X @ w.T).toarray() + b
    C = np.broadcast_to(np.reshape(weight, (-1, 1)), y.shape)
    losses = (C * 0.5 * np.maximum(0, 1 - y * scores) ** 2).sum(axis=0)
    squares = w.multiply(w).sum(axis=1) + b**2
    primal = model.l1_ * abs(w).sum(axis=1) + model.l2_ / 2 * squares + losses
    a = model.dual_coef_.toarray().astype(float).T
    s = np.maximum(abs(X.T @ (a * y)) - model.l1_, 0)
    squares = (s**2).sum(axis=0) + (a * y).sum(axis=0) ** 2
    halves = np.divide(a**2, 2 * C, out=np.zeros_like(a), where=C > 0)
    return primal, (a - halves).sum(axis=0) - squares / (2 * model.l2_)


def make(n, d, k, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < density)).astype(np.float32)
    Y = (rng.random((n, k)) < 0.2).astype(np.int8)
    Y[rng.integers(n, size=k), np.arange(k)] = 1
    return X, Y
