"""Rows and queries of the benchmark of inner product search."""

import _common
import numpy as np
from scipy import sparse

SAMPLE, ASKED = 256, 2048  # queries for building, and for measuring
DIMENSION = 128  # of the dense features that softmax models are trained on
DATA = "oewn_hypernym"


def unit_features(quick):
    """Training and test rows of the data set with the number of their first label."""
    from sklearn_xc.datasets import first_label

    split = _common.load(DATA)
    y, labelled = first_label(split.Y)
    X, X_test = split.X[labelled], split.X_test
    if quick:
        X, y = X[::10], y[::10]
    return X, y, X_test


def dense_features(quick):
    """The same, reduced to their first principal directions."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    X, y, X_test = unit_features(quick)
    svd = TruncatedSVD(DIMENSION, random_state=0).fit(X)
    parts = [normalize(svd.transform(M)).astype(np.float32) for M in (X, X_test)]
    return parts[0], y, parts[1]


def shuffled(queries):
    """A sample for building and other queries for measuring."""
    order = np.random.default_rng(0).permutation(queries.shape[0])
    return queries[order[:SAMPLE]], queries[order[SAMPLE : SAMPLE + ASKED]]


def ppdsparse(quick):
    from sklearn_xc import PPDSparseClassifier

    X, y, X_test = unit_features(quick)
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    rows = sparse.hstack([model.coef_, model.intercept_[:, None]], format="csr")
    ones = np.ones((X_test.shape[0], 1), dtype=np.float32)
    rows = sparse.csr_array(rows, dtype=np.float32)
    queries = sparse.csr_array(sparse.hstack([X_test, ones], format="csr"), dtype=np.float32)
    text = f"PPDSparseClassifier on {DATA}: sparse, {rows.nnz / rows.shape[0]:.0f} non-zeros a row"
    return rows, queries, text


def class_sums(quick):
    """Weights as of the first steps of a linear classifier: the sum of the rows of each class."""
    X, y, X_test = unit_features(quick)
    classes, y = np.unique(y, return_inverse=True)
    n = len(y)
    members = sparse.csr_array((np.ones(n), (y, np.arange(n))), shape=(len(classes), n))
    rows = sparse.csr_array(members @ sparse.csr_array(X), dtype=np.float32)
    text = f"sums of the rows of each class of {DATA}: sparse, {rows.nnz / rows.shape[0]:.0f} non-"
    return rows, sparse.csr_array(X_test), text + "zeros a row"


def trained(estimator, quick, **parameters):
    X, y, X_test = dense_features(quick)
    model = estimator(random_state=0, **parameters).fit(X, y)
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    rows = np.hstack([coef, model.intercept_[:, None]]).astype(np.float32)
    queries = np.hstack([X_test, np.ones((len(X_test), 1), dtype=np.float32)])
    return rows, queries, f"{estimator.__name__} on {DATA}, {DIMENSION} dense features and the bias"


def augment_reduce(quick):
    from sklearn_xc import AugmentReduceClassifier

    return trained(AugmentReduceClassifier, quick, max_iter=5)


def implicit(quick):
    from sklearn_xc import ImplicitSoftmaxRegressor

    return trained(ImplicitSoftmaxRegressor, quick, max_iter=5, learning_rate=1.0)


def memoir(quick):
    from sklearn_xc import MemoirSVC

    return trained(MemoirSVC, quick)


def ldgs(quick):
    """Label embeddings and sample embeddings learned together."""
    from sklearn_xc import LDGSClassifier

    X, y, X_test = unit_features(quick)
    model = LDGSClassifier(
        hidden_dim=DIMENSION, gradient="exact", max_iter=3, n_jobs=2, random_state=0
    ).fit(X, y)
    rows = np.hstack([model.coef_, model.intercept_[:, None]])
    queries = np.hstack([model.transform(X_test), np.ones((X_test.shape[0], 1), np.float32)])
    return rows, queries, f"LDGSClassifier on {DATA}, hidden_dim={DIMENSION} and the bias"


def words(quick):
    """Vectors of contexts, asked with vectors of words."""
    from sklearn_xc import LDGSWordEmbedding

    lines = _common.read_corpus(_common.CORPUS).splitlines()
    model = LDGSWordEmbedding(100, gradient="exact", max_iter=2, n_jobs=2, random_state=0)
    model.fit([line.split() for line in lines[:: 10 if quick else 1]])
    text = "contexts of LDGSWordEmbedding on the corpus of its benchmark, 100 features"
    return model.context_embeddings_, model.embeddings_, text


def lognormal(n_rows, d):
    """Isotropic directions, lognormal norms; isotropic queries."""

    def make(quick):
        rng = np.random.default_rng(0)
        n = n_rows // 10 if quick else n_rows
        rows = rng.standard_normal((n, d), dtype=np.float32)
        rows *= rng.lognormal(0, 0.5, size=(n, 1)).astype(np.float32)
        queries = rng.standard_normal((SAMPLE + ASKED, d), dtype=np.float32)
        return rows, queries, f"isotropic directions, lognormal norms (sigma 0.5), {d} features"

    return make


def discriminant(n_rows, d):
    """Softmax weights that follow from Gaussian classes: means, and minus half their squares."""

    def make(quick):
        rng = np.random.default_rng(0)
        n = n_rows // 10 if quick else n_rows
        topics = rng.standard_normal((300, d), dtype=np.float32)

        def draw(m):
            spread = 0.7 * rng.standard_normal((m, d), dtype=np.float32)
            return topics[rng.integers(300, size=m)] + spread

        means = draw(n)
        rows = np.hstack([means, -0.5 * (means**2).sum(axis=1, keepdims=True)])
        queries = np.hstack([draw(SAMPLE + ASKED), np.ones((SAMPLE + ASKED, 1), np.float32)])
        text = f"softmax weights of Gaussian classes in 300 topics, {d} features and the bias"
        return rows, queries, text

    return make


CASES = {
    "ppdsparse": ppdsparse,
    "class_sums": class_sums,
    "memoir": memoir,
    "augment_reduce": augment_reduce,
    "implicit": implicit,
    "ldgs": ldgs,
    "words": words,
    "lognormal_10k": lognormal(10_000, 64),
    "lognormal_100k": lognormal(100_000, 64),
    "lognormal_1m": lognormal(1_000_000, 32),
    "softmax_10k": discriminant(10_000, 64),
    "softmax_100k": discriminant(100_000, 64),
    "softmax_1m": discriminant(1_000_000, 32),
}


def load(case, quick):
    """Rows, a sample of queries for building, others for measuring, and a line of text."""
    rows, queries, text = CASES[case](quick)
    sample, asked = shuffled(queries)
    return rows, sample, asked, f"{rows.shape[0]:,} rows: {text}."
