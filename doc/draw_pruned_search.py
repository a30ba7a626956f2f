"""Draws doc/images/pruned_search.png: what a pruned search of one small class reads.

python doc/draw_pruned_search.py
"""

from pathlib import Path

import matplotlib
import numpy as np
from scipy import sparse

matplotlib.use("agg")
import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc._kernels.ppdsparse._problem import divide_columns
from sklearn_xc.datasets import load_docstrings

DOC = Path(__file__).resolve().parent
SLACK = 0.3  # share of the threshold that what is left out may reach, as in the solver
LANES = 16
BLUE, ORANGE, RED, GREEN, GREY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#999999"


class Parts:
    """The columns of X in two parts each, of which that of the large entries may be all.

    Part f is that of the large entries of feature f, part n_features + f that of the others.
    """

    def __init__(self, X):
        columns = X.tocsc(copy=True)
        n_features = X.shape[1]
        indptr = columns.indptr.astype(np.int64)
        middle, rest = divide_columns(indptr, columns.indices, columns.data, X.shape[0])
        starts = np.stack([indptr[:-1], middle], axis=1).ravel()
        order = np.arange(2 * n_features).reshape(2, -1).T.ravel()  # as the entries lie
        of_entry = np.repeat(order, np.diff(np.append(starts, indptr[-1])))
        entries = columns.data, (columns.indices, of_entry)
        self.matrix = sparse.csc_array(entries, shape=(X.shape[0], 2 * n_features)).tocsr()
        self.lengths = np.bincount(of_entry, minlength=2 * n_features)
        self.highest, self.rest = X.max(axis=0).toarray().ravel(), rest
        self.longest_row = np.sqrt(X.power(2).sum(axis=1).max())


class Search:
    """A search for the violators of one class by the bound of the page."""

    def __init__(self, parts, weights, intercept):
        self.threshold = -1 - intercept
        self.weights = np.tile(weights, 2)
        lifting, whole = np.maximum(weights, 0), np.maximum(weights * parts.highest, 0)
        most = np.concatenate([whole, np.minimum(lifting * parts.rest, whole)])
        there = np.flatnonzero((parts.lengths > 0) & (most > 0))
        order = there[np.argsort(-parts.lengths[there] / most[there], kind="stable")]
        # where the rest is left out already, the large entries add to it
        divided = most[len(weights) :] > 0
        most[: len(weights)] -= most[len(weights) :]
        squares = np.concatenate([np.where(divided, 0, lifting**2), lifting**2])
        by_norm = np.sqrt(np.cumsum(squares[order])) * parts.longest_row
        self.bounds = np.minimum(by_norm, np.cumsum(most[order]))
        self.entries = np.cumsum(parts.lengths[order])
        self.n_left_out = int(np.searchsorted(self.bounds, SLACK * self.threshold, "right"))
        self.bound = self.bounds[self.n_left_out - 1] if self.n_left_out else 0.0
        self.essential = order[self.n_left_out :]
        self.n_read = int(parts.lengths[self.essential].sum())


def entries_and_bounds(axes, search, n_entries):
    """The parts of columns in the order in which they are left out."""
    share = 100 * np.append(0, search.entries) / n_entries
    axes.plot(share, np.append(0, search.bounds), color=BLUE)
    axes.axhline(SLACK * search.threshold, color=GREY, ls="--", lw=1)
    stop = share[search.n_left_out]
    axes.axvspan(0, stop, color=GREY, alpha=0.15, label="parts of columns left out")
    axes.axvspan(stop, share[-1], color=ORANGE, alpha=0.3, label="parts read")
    axes.set(
        xlabel="entries of the columns, % of X",
        ylabel="U(S), most that they lift a row by",
        title="Which columns are read",
    )
    axes.annotate(f"{SLACK:g} T", (0.3 * stop, SLACK * search.threshold), va="bottom", fontsize=9)
    axes.legend(loc="upper left", fontsize=8)


def rows_and_scores(axes, search, parts, positive):
    """What the columns read say of each row, and what its score is."""
    keep = np.zeros_like(search.weights)
    keep[search.essential] = search.weights[search.essential]
    lifted, scores = parts.matrix @ keep, parts.matrix @ search.weights
    limit = search.threshold - search.bound
    scored = ~positive & (lifted > limit)
    violates = scored & (scores > search.threshold)
    for rows, colour, text in (
        (~positive & ~scored, GREY, "never looked at"),
        (scored & ~violates, ORANGE, "scored, no violator"),
        (violates, RED, "violators"),
        (positive, GREEN, "positives"),
    ):
        label = f"{rows.sum():,} {text}"
        axes.plot(lifted[rows], scores[rows], "o", ms=4, color=colour, label=label)
    axes.axvline(limit, color=GREY, ls="--", lw=1)
    axes.axhline(search.threshold, color=RED, ls="--", lw=1)
    low, high = axes.get_ylim()
    axes.annotate(" T - U(S)", (limit, 0.95 * high + 0.05 * low), va="top", fontsize=9)
    axes.annotate(" T", (axes.get_xlim()[0], search.threshold), va="bottom", fontsize=9)
    axes.set(
        xlabel="sum over the columns read", ylabel="score, <w, x>", title="Which rows are looked at"
    )
    axes.legend(loc="lower right", fontsize=8)


def shares_of_classes(axes, shares):
    bins = np.geomspace(0.05, 50, 37)
    axes.hist(np.clip(100 * shares, bins[0], bins[-1]), bins=bins, color=BLUE)
    axes.axvline(100 / LANES, color=GREY, ls="--", lw=1)
    axes.text(
        0.03,
        0.95,
        "dashed: a class's share\nof a search in lanes",
        va="top",
        fontsize=8,
        transform=axes.transAxes,
    )
    axes.set(xscale="log", xlabel="entries read, % of X", ylabel="classes", title="All classes")


def main():
    docs = load_docstrings()
    X = TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(docs.data_train)
    model = PPDSparseClassifier(random_state=0).fit(X, docs.target_train)
    W, parts = model.coef_.toarray(), Parts(X)
    searches = {
        k: Search(parts, W[k], model.intercept_[k]) for k in np.flatnonzero(model.intercept_ < -1)
    }
    shares = np.array([s.n_read / X.nnz for s in searches.values()])
    # a class as most are: one of those whose search reads as much as the median one's
    order = np.argsort(shares)
    shown = list(searches)[order[len(order) // 2]]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    entries_and_bounds(axes[0], searches[shown], X.nnz)
    positive = docs.target_train == model.classes_[shown]
    rows_and_scores(axes[1], searches[shown], parts, positive)
    shares_of_classes(axes[2], shares)
    figure.savefig(DOC / "images" / "pruned_search.png", dpi=80)
    print(
        f"doc/images/pruned_search.png: {len(searches)} of {len(W)} classes, median share "
        f"{100 * np.median(shares):.2g} % of {X.nnz:,} entries, {(shares < 1 / LANES).mean():.0%} "
        f"below a sixteenth; shown: {docs.target_names[model.classes_[shown]]}"
    )


if __name__ == "__main__":
    main()
