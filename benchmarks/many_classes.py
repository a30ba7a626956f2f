"""Dense rows and very many classes: what searches and predictions cost, and where an index pays.

Part "dense": fits of PPDSparseClassifier on embeddings, one thread, beside the product of all rows
with the weights of all classes by BLAS. Part "lanes": a search alone, beside the same product. Part
"topk": prediction of dense rows, beside NumPy's product and a partition of its scores. Part "rows":
fits of the first classes of 100,000 on 500,000 rows in clusters, by rows rounded to bytes and in
float32. Part "memoir": MemoirSVC by exact search, hnsw and lsh on rows in clusters, for growing
numbers of classes. Part "ldgs": LDGSClassifier by gradient on the same rows. The page is
measurements/many_classes.md.
"""

import time

import _common
import _runner
import numpy as np
from _many_classes_report import MOST_EXACT, NAME, page
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import LDGSClassifier, MemoirSVC, PPDSparseClassifier
from sklearn_xc.ppdsparse import _solver
from sklearn_xc.ppdsparse._solver import rounded_rows

DIMENSIONS = 256
# Rows, dimensions, classes
CLUSTERED = {
    "clusters, 64": (20_000, 64, 2000),
    "clusters, 256": (20_000, 256, 2000),
    "clusters, 1024": (10_000, 1024, 1000),
}
REAL = ["digits", "bibtex", "cooking_fasttext", "yso_finna_en_small"]
CLASSES = [1000, 10_000, 30_000, 100_000]
SEARCHES = {
    "exact": {"search": "exact"},
    "hnsw": {"search": "hnsw"},
    "lsh": {"search": "lsh", "search_params": {"min_recall": 0}},
    "auto": {"search": "auto"},
}
GRADIENTS = {
    "exact": {"gradient": "exact"},
    "chunks": {"gradient": "decomposed"},
    "hnsw": {"gradient": "mips", "index": "hnsw"},
    "auto": {},
}
NOISE, TEST = 0.8, 20_000
LARGE = (500_000, 256, 100_000)  # rows, dimensions, classes of the part "rows"
# Of the part "rows": how rows are rounded.
WAYS = {"bytes": rounded_rows, "floats": lambda *args: None}
# Rows, dimensions, classes of the part "topk"
PREDICTED = [
    (4000, 64, 1000),
    (4000, 128, 4000),
    (1000, 256, 14_383),
    (500, 768, 30_000),
    (500, 64, 100_000),
]
REPEATED = 5


def main():
    parser = _runner.parser(__doc__, parts=["lanes", "dense", "topk", "rows", "memoir", "ldgs"])
    parser.add_argument("--classes", nargs="+", type=int, default=CLASSES)
    parser.add_argument("--fitted", type=int, default=12_500, help="classes, of the part rows")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--dimensions", type=int, default=128, help="of memoir and ldgs")
    parser.add_argument("--passes", type=int, default=2, help="of memoir and ldgs")
    parser.add_argument("--rows", type=float, default=1.5, help="a class, of memoir and ldgs")
    parser.add_argument("--gradients", nargs="+", choices=list(GRADIENTS), default=list(GRADIENTS))
    parser.add_argument("--search", nargs="+", choices=list(SEARCHES), default=["exact", "hnsw"])
    parser.add_argument("--data", nargs="+", choices=[*REAL, *CLUSTERED], default=None)
    options = parser.parse_args()
    if not options.report:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            for part in options.part:
                globals()[f"run_{part}"](options)
    _runner.write_page(NAME, page(SEARCHES))


# ------------------------------------------------------------------------------------------ data


def clustered(n, d, n_classes, noise, seed=0):
    """Unit rows around centres of classes, which lie around thirty times fewer centres of theirs.

    Every class has a row among the first n; the others are drawn.
    """
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, d), dtype=np.float32)
    above = rng.standard_normal((max(2, n_classes // 30), d), dtype=np.float32)
    centres += 1.5 * above[rng.integers(len(above), size=n_classes)]
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    rng.shuffle(y)
    y = np.concatenate([y, rng.integers(n_classes, size=TEST)])
    X = centres[y] + np.float32(noise) * rng.standard_normal((len(y), d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:n], y[:n], X[n:], y[n:]


def dense_rows(name):
    """Rows, an indicator of their labels, and the same to test on."""
    if name in CLUSTERED:
        X, y, X_test, y_test = clustered(*CLUSTERED[name], noise=1.2)
        return X, indicator(y, CLUSTERED[name][2]), X_test, indicator(y_test, CLUSTERED[name][2])
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X, Y = (X / 16).astype(np.float32), indicator(y, 10)
        return X[:1400], Y[:1400], X[1400:], Y[1400:]
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    split = _common.load(name)
    svd = TruncatedSVD(DIMENSIONS, n_iter=3, random_state=0).fit(split.X)
    X, X_test = (normalize(svd.transform(M)).astype(np.float32) for M in (split.X, split.X_test))
    return X, split.Y, X_test, split.Y_test


def indicator(y, n_classes):
    parts = np.ones(len(y), dtype=np.uint8), y, np.arange(len(y) + 1)
    return sparse.csr_array(parts, shape=(len(y), n_classes))


def cpu(function, *args):
    start = time.process_time()
    result = function(*args)
    return time.process_time() - start, result


# ----------------------------------------------------------------------------------------- parts


def run_lanes(_):
    """A search of sixteen classes and BLAS's product with a thousand, by turns."""
    from sklearn_xc._kernels.ppdsparse._solver import scores_in_lanes

    rng = np.random.default_rng(0)
    bias = np.zeros(16, dtype=np.float32)
    for d in (64, 256, 512, 1024):
        X, W = (rng.standard_normal((n, d), dtype=np.float32) for n in (4096, 1024))
        lanes = [np.ascontiguousarray(W[k : k + 16].T) for k in range(0, 1024, 16)]
        of_lanes, of_blas = [], []
        for _ in range(REPEATED):
            of_lanes.append(sum(cpu(scores_in_lanes, X, part, bias)[0] for part in lanes))
            of_blas.append(cpu(np.matmul, X, W.T)[0])
        work = 2e-9 * X.size * 1024
        lane, blas = np.median(of_lanes), np.median(of_blas)
        figures = {"lanes": work / lane, "blas": work / blas, "ratio": lane / blas}
        print(d, figures, flush=True)
        _runner.keep(NAME, "lanes", f"{d}", figures)


def product_seconds(X, n_classes):
    """Of X @ W.T for all classes, from a part of the rows and classes."""
    W = np.random.default_rng(0).standard_normal((min(n_classes, 2048), X.shape[1]), np.float32)
    some = X[:4096]
    return cpu(np.matmul, some, W.T)[0] * len(X) / len(some) * n_classes / len(W)


def run_dense(options):
    for name in options.data or [*REAL, *CLUSTERED]:
        X, Y, X_test, Y_test = dense_rows(name)
        PPDSparseClassifier(n_jobs=1).fit(X[:50], Y[:50])  # imports
        fits, products = [], []
        for _ in range(REPEATED):
            seconds, model = cpu(PPDSparseClassifier(n_jobs=1, random_state=0).fit, X, Y)
            fits.append(seconds)
            products.append(product_seconds(X, Y.shape[1]))
        seconds, product = float(np.median(fits)), float(np.median(products))
        best = model.predict_topk(X_test, 1)[0][:, 0]
        hits = Y_test[np.arange(len(best)), best]
        figures = {
            "n": len(X),
            "d": X.shape[1],
            "k": Y.shape[1],
            "fit": seconds,
            "product": product,
            "ratio": seconds / product,
            "p1": float(np.mean(np.asarray(hits) > 0)),
        }
        print(name, figures, flush=True)
        _runner.keep(NAME, "dense", name, figures)


def run_topk(_):
    """The best five and all scores of dense rows; the same by NumPy in batches of 500 rows."""
    from sklearn_xc.topk._inverted_index import InvertedIndex
    from sklearn_xc.utils._matrix import as_rows

    rng = np.random.default_rng(0)
    for n, d, k in PREDICTED:
        X, W = (rng.standard_normal((m, d), dtype=np.float32) for m in (n, k))
        index, rows = InvertedIndex(np.asfortranarray(W), np.zeros(k, np.float32)), as_rows(X)
        ways = {
            "best": (index.topk, rows, 5, 1),
            "all": (index.scores, rows, 1),
            "product": (product, X, W, None),
            "partition": (product, X, W, 5),
        }
        seconds = {way: [] for way in ways}
        for _ in range(REPEATED):
            for way, (function, *arguments) in ways.items():
                seconds[way].append(cpu(function, *arguments)[0])
        us = {way: 1e6 * float(np.median(found)) / n for way, found in seconds.items()}
        figures = {"n": n, "d": d, "k": k, **us}
        print(figures, flush=True)
        _runner.keep(NAME, "topk", f"{k:>7} {d:>4}", figures)


def product(X, W, k):
    """X W^T, and the numbers of the k largest of each row."""
    found = []
    for start in range(0, len(X), 500):
        scores = X[start : start + 500] @ W.T
        found.append(scores if k is None else np.argpartition(-scores, k, axis=1)[:, :k])
    return np.concatenate(found)


def run_rows(options):
    """Both ways by turns, two threads; every class has the negatives of all rows."""
    X, y, X_test, y_test = clustered(*LARGE, noise=1.2)
    k = options.fitted
    Y = indicator(y, LARGE[2])[:, :k]
    tested = y_test < k
    for way in options.ways:
        _solver.rounded_rows = WAYS[way]
        start = time.perf_counter()
        model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
        seconds = time.perf_counter() - start
        best = model.predict_topk(X_test[tested], 1)[0][:, 0]
        figures = {
            "n": len(X),
            "d": X.shape[1],
            "k": k,
            "fit": seconds,
            "ms": 2e3 * seconds / k,
            "p1": float(np.mean(best == y_test[tested])),
            "gap": float(model.dual_gap_.max()),
            "reads": model._n_visits / len(X) / k,
        }
        print(way, figures, flush=True)
        _runner.keep(NAME, "rows", f"{k:>7} {way}", figures)


def run_memoir(options):
    for n_classes in options.classes:
        n, d = round(options.rows * n_classes), options.dimensions
        rows = clustered(n, d, n_classes, NOISE)
        for search in options.search:
            figures = {"n": n, "d": d, "k": n_classes, "search": search, "passes": options.passes}
            if search == "exact" and n_classes > MOST_EXACT:
                model = MemoirSVC(search="exact", random_state=0)
                figures |= exact_by_samples(model, rows, n_classes, options.passes)
            else:
                figures |= fitted(rows, search, options.passes)
            print(figures, flush=True)
            _runner.keep(NAME, "memoir", f"{n_classes:>7} {search} {d} {options.passes}", figures)


def fitted(rows, search, n_passes):
    X, y, X_test, y_test = rows
    model = MemoirSVC(**SEARCHES[search], max_iter=n_passes, n_jobs=1, random_state=0)
    seconds, _ = cpu(model.fit, X, y)
    return {
        "ran": model.search_,
        "fit": seconds,
        "sample_ms": 1e3 * seconds / (len(X) * n_passes),
        "accuracy": model.score(X_test, y_test),
        "recall": model.recall_,
    }


def exact_by_samples(model, rows, n_classes, n_passes):
    """The time of samples beyond the first 500, all of which cost the same, and of a fit of all."""
    X, y, _, _ = rows
    seconds = []
    for n in (500, 2000):
        model = clone(model)
        model.partial_fit(X[:100], y[:100], classes=np.arange(n_classes))
        seconds.append(cpu(model.partial_fit, X[:n], y[:n])[0])
    of_sample = (seconds[1] - seconds[0]) / 1500
    fit = of_sample * len(X) * n_passes
    return {
        "ran": "1500 samples",
        "fit": fit,
        "sample_ms": 1e3 * of_sample,
        "accuracy": None,
        "recall": 1.0,
    }


def run_ldgs(options):
    for n_classes in options.classes:
        n, d = round(options.rows * n_classes), options.dimensions
        X, y, X_test, y_test = clustered(n, d, n_classes, NOISE)
        for name in options.gradients:
            model = LDGSClassifier(
                **GRADIENTS[name], max_iter=options.passes, n_jobs=1, random_state=0
            )
            figures = {"n": n, "d": d, "k": n_classes, "search": name, "passes": options.passes}
            if name == "exact" and n_classes > MOST_EXACT:
                figures |= exact_by_samples(model, (X, y, None, None), n_classes, options.passes)
            else:
                seconds, _ = cpu(model.fit, X, y)
                figures |= {
                    "ran": model.gradient_,
                    "fit": seconds,
                    "accuracy": model.score(X_test, y_test),
                    "sample_ms": 1e3 * seconds / (n * options.passes),
                }
            print(figures, flush=True)
            _runner.keep(NAME, "ldgs", f"{n_classes:>7} {name} {d} {options.passes}", figures)


if __name__ == "__main__":
    main()
