"""Where MEMOIR looks for the most violating class: among all, or those an index retrieves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..mips import HNSWIndex, SimpleLSHIndex
from ..mips import _cost as cost
from ..utils._optional_import import is_available
from ..utils._random import stream
from ..utils._rows import Rows
from ..utils._typing import Matrix
from ._growing_weights import GrowingWeights

FEWEST_CANDIDATES = 10  # for each sample; as many more as the index needs for its recall
# A graph names the best first, so that few of those it looks at suffice: at most this share of all
# classes. The codes of LSH name them in no such order.
LARGEST_SHARE = {"hnsw": 0.125, "lsh": 1.0}
# The index is refreshed when a larger share of the classes may have moved. Until then these are
# candidates of every sample: a stale index misses violating classes that have just grown.
# The first one is built when some have: weights nearly empty are searched as fast, and say little
# about what an index will be worth.
MOVED_SHARE, FIRST_SHARE = 0.1, 0.25
# Samples searched at once: what moves among them is not yet a candidate.
SAMPLES_OF_A_CLASS, FEWEST_SAMPLES = 0.00625, 8
# Of dense rows a class has moved when its weights are so far, as a share of their length, from what
# the index has. These are compared in blocks, each of which has a candidate.
TURNED = 0.25
CLASSES_AT_ONCE, FEWEST_BLOCKS = 4096, 8
# Such a graph takes half the time of the usual one to build, 48 to 88 us a class of 128 dimensions,
# and twice to ask, 70 to 40 us a sample; `mips._cost` counts a third of what building it takes.
QUICK_GRAPH: dict[str, Any] = {"M": 12, "ef_construction": 50}
BUILDING = 3.0
USUAL_RECALL = 0.9
SAMPLE = 256  # training samples by which an index measures its recall


@dataclass(frozen=True)
class SearchSettings:
    """Where the most violating classes are looked for, as in the estimator."""

    search: str
    min_recall: float
    n_bits: int
    sketch_dim: int


class AllClasses:
    """All classes are candidates."""

    search_, recall_ = "exact", 1.0
    samples_at_once = 4096
    shared = np.empty(0, dtype=np.int32)

    def candidates(self, samples: np.ndarray) -> np.ndarray:
        """Return no candidates, which stands for all classes."""
        return np.empty((len(samples), 0), dtype=np.int32)

    def changed(self, *classes: np.ndarray) -> None:
        """Ignore changes: there is nothing to keep up to date."""


class IndexedClasses:
    """The classes that an index of the weights retrieves.

    The index holds V of the weights W = scale V, whose products have the same order. Classes that
    have moved since it was last refreshed are candidates too, with those retrieved; all are scored
    with the weights of the moment. X has the constant feature as its last column; `seed` chooses
    the samples by which the index measures its recall.
    """

    shared = AllClasses.shared

    def __init__(
        self,
        index: HNSWIndex | SimpleLSHIndex,
        X: Matrix,
        weights: GrowingWeights,
        seed: int,
        name: str,
    ) -> None:
        self.index, self.X, self.weights, self.name = index, X, weights, name
        self.most = max(FEWEST_CANDIDATES, int(LARGEST_SHARE[name] * weights.shape[0]))
        rng = stream(seed, "recall")
        self.sample = np.sort(rng.permutation(X.shape[0])[:SAMPLE])
        self.samples_at_once = max(FEWEST_SAMPLES, int(SAMPLES_OF_A_CLASS * weights.shape[0]))
        self.built = False
        self.moved = np.full(weights.shape[0], weights.state[2] > 0)  # if training goes on: all

    @property
    def recall_(self) -> float:
        """Of the candidates retrieved; 1 where it has given up and all classes are scored."""
        return self.index.recall_ if self.built else 1.0

    @property
    def search_(self) -> str:
        """The search that ran: "exact" where the index was never built, or has given up."""
        return self.name if self.built and self.index.mode_ != "exact" else "exact"

    def candidates(self, samples: np.ndarray) -> np.ndarray:
        """Return classes to look in for each sample, -1 for none; no column stands for all."""
        self.refresh()
        self.shared = np.flatnonzero(self.moved).astype(np.int32)
        if not self.built or self.index.mode_ == "exact":
            return np.empty((len(samples), 0), dtype=np.int32)
        n = max(FEWEST_CANDIDATES, min(self.index.effort_, self.most))
        n = min(self.weights.shape[0], n)
        retrieved = self.index.candidates(self.X[samples], n)
        retrieved[self.moved[retrieved]] = -1  # of which each is a candidate once
        return retrieved

    def refresh(self) -> None:
        """Bring the index up to date if it is too far behind; there is none at first."""
        folded = self.built and self.n_folds != self.weights.n_folds
        allowed = MOVED_SHARE if self.built else FIRST_SHARE
        if not folded and self.moved.mean() <= allowed:
            return
        if folded or not self.built:
            self.n_folds = self.weights.n_folds
            self.index.build(self.weights.values(), queries=self.X[self.sample])
            self.built = True
        else:
            changed = np.flatnonzero(self.moved)
            self.index.update(changed, self.weights.values()[changed])
        self.moved[:] = False

    def changed(self, *classes: np.ndarray) -> None:
        """Note that these classes may have moved."""
        for some in classes:
            self.moved[some] = True


class LaggingIndex(IndexedClasses):
    """The classes that an index of dense weights retrieves, which may lag behind them.

    The cost of an index is building it. A graph of weights that have turned a little still leads to
    them, and the classes that it names are scored with the weights of the moment. So only classes
    that have moved far since it was built are compared with every sample: by a matrix product for
    all samples searched at once, whose best are candidates. The index is rebuilt when these
    products have cost as much as building costs, which is at most twice what a rule would have
    spent that knew what was to come. Before there is an index, classes that never moved have
    weights of zero. The lists of `weights` must keep rows.
    """

    def __init__(
        self,
        index: HNSWIndex | SimpleLSHIndex,
        X: np.ndarray,
        y: np.ndarray,
        weights: GrowingWeights,
        seed: int,
        name: str,
    ) -> None:
        super().__init__(index, X, weights, seed, name)
        n_classes, width = weights.lists.rows.shape
        self.y = y
        self.class_cost = width + cost.SCAN
        self.price = BUILDING * index._build_cost(n_classes, width)
        self.spent = 0.0
        self.tried = False

    @property
    def search_(self) -> str:
        return self.name

    def candidates(self, samples: np.ndarray) -> np.ndarray:
        """Return candidates by the index, and by products with the classes that have moved."""
        self.refresh()
        moved = np.flatnonzero(self.moved).astype(np.int32)
        self.spent += float(len(samples)) * len(moved) * self.class_cost
        # These samples are about to move their own classes: without them models were two points
        # worse.
        self.shared = np.unique(self.y[samples])
        others = self.others(samples)
        others[self.moved[others]] = -1
        return np.hstack([others, self.best_of(moved, samples)])

    def others(self, samples: np.ndarray) -> np.ndarray:
        """Return candidates that have not moved: of the index, or two of those without weights."""
        if self.built:
            n = max(FEWEST_CANDIDATES, min(self.index.effort_, self.most))
            return self.index.candidates(self.X[samples], min(self.weights.shape[0], n))
        return np.tile(
            np.argsort(self.moved, kind="stable")[:2].astype(np.int32), (len(samples), 1)
        )

    def best_of(self, classes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return the best of each block of classes for each sample, other than its own."""
        rows, queries = self.weights.lists.rows, self.X[samples]
        size = min(CLASSES_AT_ONCE, max(1, -(-len(classes) // FEWEST_BLOCKS)))
        places = np.full(self.weights.shape[0], -1)
        places[classes] = np.arange(len(classes))
        own, best = places[self.y[samples]], []
        for start in range(0, len(classes), size):
            block = classes[start : start + size]
            scores = queries @ rows[block].T
            inside = np.flatnonzero((own >= start) & (own < start + len(block)))
            scores[inside, own[inside] - start] = -np.inf
            best.append(block[scores.argmax(axis=1)])
        return np.stack(best, axis=1) if best else np.empty((len(samples), 0), dtype=np.int32)

    def refresh(self) -> None:
        """Rebuild the index when that is paid for; one that fails costs twice as much next time.

        Until then all classes are compared by products.
        """
        if self.spent <= self.price:
            return
        rows = self.weights.lists.rows.copy()
        if self.tried:
            self.index.update(np.arange(len(rows)), rows)
        else:
            self.build(rows)
        self.rows, self.folded = rows, self.weights.folded
        self.tried, self.built, self.spent = True, self.index.mode_ != "exact", 0.0
        self.moved[:] = not self.built
        if not self.built:
            self.price *= 2

    def build(self, rows: np.ndarray) -> None:
        """Build the first index: on inner products, or the best reduction where these fail."""
        queries = self.X[self.sample]
        self.index.set_params(reduction="ip")
        self.index._build(rows, queries)
        serves = self.index.mode_ != "exact" and self.index.recall_ >= USUAL_RECALL
        self.index.set_params(reduction="auto")  # for the next ones too
        if not serves:
            self.index.build(rows, queries)

    def changed(self, *classes: np.ndarray) -> None:
        """Note which of these classes have turned too far from what the index has of them."""
        classes = np.unique(np.concatenate(classes))
        if self.built:
            now = self.weights.lists.rows[classes]
            before = self.rows[classes] * np.float32(self.weights.folded / self.folded)
            away, length = (np.einsum("ij,ij->i", a, a) for a in (now - before, now))
            classes = classes[away > TURNED**2 * length]
        self.moved[classes] = True


def make_search(
    rows: Rows,
    y: np.ndarray,
    bias: float,
    weights: GrowingWeights,
    settings: SearchSettings,
    *,
    n_jobs: int | None,
    seed: int,
) -> AllClasses | IndexedClasses:
    """Return the search that gives `MemoirSteps` its candidates; `bias` is the constant feature."""
    search = choose_search(settings.search, rows, y, weights.shape, settings.sketch_dim)
    if search == "exact":
        return AllClasses()
    X = with_constant(rows.matrix(), bias)
    options: dict[str, Any] = {"min_recall": settings.min_recall, "n_jobs": n_jobs}
    options |= {"n_components": settings.sketch_dim, "random_state": seed}
    # Of sketched rows all other reductions lose most of the best, see the page "How
    # MemoirSVC works".
    sketched = sparse.issparse(X) and X.shape[1] > settings.sketch_dim
    graph = QUICK_GRAPH if rows.dense else {}
    if sketched:
        graph = {"reduction": "ranges", "ef_construction": BUILD_BEAM // 2}
    index = HNSWIndex(**options, **graph)
    if search == "lsh":
        index = SimpleLSHIndex(n_bits=settings.n_bits, **options)
    if rows.dense:
        weights.lists.keep_rows()
        if search == "hnsw":  # codes cost next to nothing to make again
            return LaggingIndex(index, X, y, weights, seed, search)
    return IndexedClasses(index, X, weights, seed, search)


def with_constant(X: Matrix, bias: float) -> Matrix:
    """Return X with one more column of this value."""
    column = np.full((X.shape[0], 1), bias, dtype=np.float32)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, column], format="csr"))
    return np.hstack([X, column])


# Counted operations of a search: vectors of LANES numbers, or single entries of a list.
LANES = 16
# A weight of a dense list, and a step with all that is around it, in the units of `mips._cost`.
ADDED, ADDED_FAR, STEP = 5, 11, 2_000_000
CLEARLY = 1.5  # what misses classes has to cost so much less
BEAM, NEIGHBOURS, BUILD_BEAM = 64, 32, 100  # of an HNSW graph: vectors compared for each visited
# With no more classes than these exact search costs less whatever else: a graph compares a sample
# with this many vectors; to the ten candidates of a code come those that moved, a tenth of all
# and what the samples searched together have moved since.
FEWEST_CLASSES = {
    "hnsw": BEAM * NEIGHBOURS,
    "lsh": int((FEWEST_CANDIDATES + 2 * FEWEST_SAMPLES) / (1 - MOVED_SHARE)),
}


def choose_search(
    search: str, rows: Rows, y: np.ndarray, shape: tuple[int, int], sketch_dim: int
) -> str:
    """Choose the search: the requested one where an index can pay, the cheapest for "auto".

    `shape` is (n_classes, n_features).
    """
    n_classes, n_features = shape
    if n_classes <= FEWEST_CLASSES.get("hnsw" if search == "auto" else search, 0):
        return "exact"
    if search != "auto":
        return search
    if not is_available("hnswlib"):
        return "exact"
    if rows.dense:
        exact, graph = dense_costs(n_classes, n_features + 1)
        return "exact" if exact <= CLEARLY * graph else "hnsw"
    # Exact search follows the lists of the features of a sample. A class is in the list of a
    # feature when one of its samples has it, or when it violated the margin of one that has: about
    # twice the pairs of a feature and a class in the data, and at most all classes.
    of_sample = np.repeat(y.astype(np.int64), np.diff(rows.indptr))
    pairs = np.unique(rows.indices.astype(np.int64) * n_classes + of_sample)
    lists = np.bincount(pairs // n_classes, minlength=n_features)
    lists = np.minimum(2 * lists, n_classes / LANES + lists)
    exact = lists[rows.indices].sum() / rows.shape[0]
    # A graph compares the sample with NEIGHBOURS vectors for each of BEAM that it visits, and is
    # rebuilt, with a beam of BUILD_BEAM for each class, after about MOVED_SHARE samples a class.
    compared = NEIGHBOURS * min(n_features, sketch_dim) / LANES
    graph = (BEAM + BUILD_BEAM / MOVED_SHARE) * compared
    return "exact" if exact <= graph else "hnsw"


def dense_costs(n_classes: int, width: int) -> tuple[float, float]:
    """Return the cost of a sample in exact search and in a `LaggingIndex`, by `mips._cost`."""
    in_memory = 4 * n_classes * width > cost.CACHE
    exact = n_classes * width * (ADDED_FAR if in_memory else ADDED)
    graph = HNSWIndex(**QUICK_GRAPH)
    built = BUILDING * graph._build_cost(n_classes, width)
    asked = graph._query_cost(n_classes, width, 2 * BEAM)
    # Where each sample moves two classes, an index that is rebuilt when a share m has moved costs
    # build / (m K / 2) a sample, and m K / 2 classes are compared as well. The sum is least for the
    # m at which both are equal, where it is twice the root of their product.
    return exact, STEP + asked + 2 * np.sqrt(built * (width + cost.SCAN))
