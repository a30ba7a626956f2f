"""Where MEMOIR looks for the rival of a sample: among all classes, or those an index names."""

import numpy as np
from scipy import sparse

from ._rows import as_matrix
from .mips import HNSWIndex, SimpleLSHIndex

FEWEST_CANDIDATES = 10  # for each sample; as many more as the index needs for its recall
# A graph names the best first, so that few of those it looks at suffice: at most this share of all
# classes. The codes of LSH name them in no such order.
LARGEST_SHARE = {"hnsw": 0.1875, "lsh": 1.0}
# The index follows the weights after so many samples for each class: their steps move at most
# two classes each. Inside, an index that is behind the weights misses rivals that have just grown.
SAMPLES_OF_A_CLASS = 0.1
SAMPLE = 256  # training rows by which an index measures its recall


class ExactSearch:
    """All classes are candidates."""

    recall_ = 1.0
    samples_at_once = 4096

    def candidates(self, samples):
        """No candidates, which stands for all classes."""
        return np.empty((len(samples), 0), dtype=np.int32)

    def changed(self, classes):
        """Nothing to keep up to date."""


class IndexSearch:
    """The classes that an index of the weights names.

    The index holds V of the weights W = scale V, which has the same rivals. It follows the weights
    every so many samples; the candidates are scored with the weights of the moment.

    Parameters
    ----------
    index : index of `sklearn_xc.mips`
    X : ndarray or CSR of float32 (n_samples, n_features + 1)
        With the constant feature as the last.
    weights : Weights
    seed : int
        Chooses the rows by which the index measures its recall.
    largest_share : float
        Of all classes, that a sample has as candidates.
    """

    def __init__(self, index, X, weights, seed, largest_share):
        self.index, self.X, self.weights = index, X, weights
        self.most = max(FEWEST_CANDIDATES, int(largest_share * weights.shape[0]))
        rng = np.random.default_rng([seed, 1])
        self.sample = np.sort(rng.permutation(X.shape[0])[:SAMPLE])
        self.samples_at_once = max(1, int(SAMPLES_OF_A_CLASS * weights.shape[0]))
        self.built = False
        self.stale = np.zeros(weights.shape[0], dtype=bool)

    @property
    def recall_(self):
        """Of the candidates that it names; 1 where it has given up and all classes are scored."""
        return self.index.recall_ if self.built else 1.0

    def candidates(self, samples):
        if not self.built and not self.weights.state[2] > 0:  # all weights are zero
            return np.empty((len(samples), 0), dtype=np.int32)
        if not self.built or self.n_folds != self.weights.n_folds:
            self.n_folds = self.weights.n_folds
            self.index.build(self.weights.values(), queries=self.X[self.sample])
            self.built = True
        elif self.stale.any():
            changed = np.flatnonzero(self.stale)
            self.index.update(changed, self.weights.values()[changed])
        self.stale[:] = False
        if self.index.mode_ == "exact":
            return np.empty((len(samples), 0), dtype=np.int32)
        n = max(FEWEST_CANDIDATES, min(self.index.effort_, self.most))
        n = min(self.weights.shape[0], n)
        return self.index.candidates(self.X[samples], n)

    def changed(self, classes):
        self.stale[classes] = True


def make_search(search, rows, bias, weights, *, min_recall, n_bits, sketch_dim, n_jobs, seed):
    """The object that `Steps` asks for candidates."""
    if search == "exact":
        return ExactSearch()
    X = with_constant(as_matrix(rows), bias)
    options = {"min_recall": min_recall, "n_components": sketch_dim}
    options |= {"n_jobs": n_jobs, "random_state": seed}
    index = HNSWIndex(**options)
    if search == "lsh":
        index = SimpleLSHIndex(n_bits=n_bits, **options)
    return IndexSearch(index, X, weights, seed, LARGEST_SHARE[search])


def with_constant(X, bias):
    """X with one more column of this value."""
    column = np.full((X.shape[0], 1), bias, dtype=np.float32)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, column], format="csr"))
    return np.hstack([X, column])


# Counted operations of a search: vectors of LANES numbers, or single entries of a list.
LANES = 16
BEAM, NEIGHBOURS, BUILD_BEAM = 64, 32, 100  # of an HNSW graph: vectors compared for each visited


def choose_search(search, rows, y, shape, sketch_dim):
    """The search itself, or for "auto" the one with fewer counted operations a sample.

    Exact search follows the lists of the features of a sample. A class is in the list of a feature
    when one of its samples has it, or when it was the rival of one that has: about twice the pairs
    of a feature and a class in the data, and at most all classes. A graph compares the sample with
    NEIGHBOURS vectors for each of BEAM that it visits, and is built anew, with a beam of
    BUILD_BEAM for each class, after SAMPLES_OF_A_CLASS samples a class.

    Parameters
    ----------
    search : {"auto", "exact", "hnsw", "lsh"}
    rows : Rows
    y : ndarray of int32 (n_samples,)
    shape : tuple (n_classes, n_features)
    sketch_dim : int

    Returns
    -------
    search : {"exact", "hnsw", "lsh"}
    """
    if search != "auto":
        return search
    n_classes, n_features = shape
    if rows.dense:
        exact = n_features * n_classes / LANES
        width = n_features
    else:
        of_sample = np.repeat(y.astype(np.int64), np.diff(rows.indptr))
        pairs = np.unique(rows.indices.astype(np.int64) * n_classes + of_sample)
        lists = np.bincount(pairs // n_classes, minlength=n_features)
        lists = np.minimum(2 * lists, n_classes / LANES + lists)
        exact = lists[rows.indices].sum() / rows.shape[0]
        width = min(n_features, sketch_dim)
    compared = NEIGHBOURS * width / LANES
    graph = (BEAM + BUILD_BEAM / SAMPLES_OF_A_CLASS) * compared
    return "exact" if exact <= graph else "hnsw"
