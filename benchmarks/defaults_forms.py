"""Default penalties of PPDSparseClassifier on rows of several forms, beside a small grid.

    python benchmarks/defaults_forms.py [--data bibtex ...] [--rows 4000]

A fifth of each training part is held out; the test parts are never read. Forms: TF-IDF of unit
length, the same of 3 to 6 words a row, raw counts, and 256 dimensions of a truncated SVD. Numbers
of the grid are in units of rows of length 1. Prints a table.
"""

import argparse

import _common
import numpy as np
import scipy.sparse as sp
from defaults import DATA_SETS

GRID = [(l1, l2) for l1 in (0.01, 0.05, 0.1) for l2 in (0.2, 1.0, 2.0)]
FORMS = ("text", "short", "counts", "svd")


def shortened(X, rng):
    """Three to six words of each row."""
    order = np.lexsort((rng.random(X.nnz), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    place = np.empty(X.nnz, dtype=np.int64)
    place[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], np.diff(X.indptr))
    keep = place < np.repeat(rng.integers(3, 7, size=X.shape[0]), np.diff(X.indptr))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[keep]
    return sp.csr_matrix((X.data[keep], (rows, X.indices[keep])), shape=X.shape)


def parts(name, form, n_rows):
    from sklearn.decomposition import TruncatedSVD

    X, Y, *_ = _common.read_raw(name)
    X, Y, rng = sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y), np.random.default_rng(0)
    order = rng.permutation(X.shape[0])[:n_rows]
    X, Y = (shortened(X, rng) if form == "short" else X)[order], Y[order]
    n_held = len(order) // 5
    fit, held = X[n_held:], X[:n_held]
    if form != "counts":
        fit, held = _common.tfidf_rows(fit, held)
    if form == "svd":
        svd = TruncatedSVD(256, random_state=0).fit(fit)
        fit, held = (svd.transform(part).astype(np.float32) for part in (fit, held))
    return fit, Y[n_held:], held, Y[:n_held]


def hits(split, penalties):
    """Whether the best label of each held-out row is one of its own."""
    from sklearn_xc import PPDSparseClassifier

    X, Y, X_held, Y_held = split
    model = PPDSparseClassifier(*penalties, random_state=0).fit(X, Y)
    best = model.predict_topk(X_held, k=1)[0].ravel()
    return np.asarray(Y_held[np.arange(len(best)), best]).ravel() > 0


def row_of(name, form, n_rows):
    split = parts(name, form, n_rows)
    length = np.sqrt(np.median(np.asarray(sp.csr_matrix(split[0]).power(2).sum(axis=1))))
    ours = hits(split, ("auto", "auto"))
    grid = {pair: hits(split, (pair[0] * length, pair[1] * length**2)) for pair in GRID}
    best = max(grid, key=lambda pair: grid[pair].mean())
    lost = 100 * (grid[best].astype(float) - ours)
    figures = 100 * ours.mean(), 100 * grid[best].mean(), lost.mean(), lost.std() / len(lost) ** 0.5
    return [f"{name}, {form}", *(f"{f:.1f}" for f in figures), "{:g}, {:g}".format(*best)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=DATA_SETS[:4])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--rows", type=int, default=4000)
    options = parser.parse_args()
    header = ["data, rows", "auto P@1", "best of grid", "lost", "se of lost", "best l1, l2"]
    rows = [row_of(name, form, options.rows) for name in options.data for form in options.forms]
    print(_common.table(header, rows))


if __name__ == "__main__":
    main()
