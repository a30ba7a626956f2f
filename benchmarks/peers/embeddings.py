"""Dense rows: which estimator, beside those of scikit-learn that one would try first.

    python -m benchmarks.peers.embeddings [--data NAME ...] [--rows N] [--limit SECONDS]

Rows are TF-IDF brought to 256 dimensions by a truncated SVD, of unit length; `docstrings` are
passages as a sentence encoder (all-MiniLM-L6-v2, 384 dimensions) has them, from an environment of
its own, build/encoder. Of larger sets a sample of rows. One thread; processor seconds, and what is
not fitted and asked within a limit of them is cut off. Writes measurements/embeddings.md.
"""

import multiprocessing
import resource
import time

import numpy as np

from benchmarks import _common, _label_texts, _runner

DIMENSIONS = 256
ROWS_A_TEST_ROW = 2  # of larger sets
OBJECTS = 2000  # of the docstrings
FIRST_LABEL = {"oewn_hypernym"}  # one class a sample
DATA = ("bibtex", "cooking_fasttext", "delicious", "oewn_hypernym", "docstrings")
FOLDER = _common.BUILD / "embeddings"


def rows(name, most):
    """(X, y, X_test, y_test): float32 arrays of unit length; classes, or a sparse indicator.

    Of a larger set `most` rows to train on, and half as many to test on, at random.
    """
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "docstrings":
            made = [_label_texts.encoded(texts) for texts, _ in docstrings()]
        else:
            made = reduced(name)
        np.savez(path, X=made[0], X_test=made[1])
    with np.load(path) as file:
        X, X_test = file["X"], file["X_test"]
    y, y_test = labels(name)
    return *sample(X, y, most), *sample(X_test, y_test, most // ROWS_A_TEST_ROW)


def sample(X, y, most):
    if len(X) <= most:
        return X, y
    kept = np.random.default_rng(0).choice(len(X), most, replace=False)
    return X[kept], y[kept]


def reduced(name):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    split = _common.load(name)
    svd = TruncatedSVD(DIMENSIONS, random_state=0)
    made = svd.fit_transform(split.X), svd.transform(split.X_test)
    return [normalize(X).astype(np.float32) for X in made]


def docstrings():
    """Passages of some objects, in training and test."""
    from sklearn_xc.datasets import load_docstrings

    docs = load_docstrings()
    kept = np.random.default_rng(0).choice(len(docs.target_names), OBJECTS, replace=False)
    parts = []
    for part in ("train", "test"):
        mask = np.isin(docs[f"target_{part}"], kept)
        texts = [docs[f"data_{part}"][i] for i in np.flatnonzero(mask)]
        parts.append((texts, docs[f"target_{part}"][mask]))
    return parts


def labels(name):
    if name == "docstrings":
        return [y for _, y in docstrings()]
    split = _common.load(name)
    if name in FIRST_LABEL:
        return [np.asarray(Y.argmax(axis=1)).ravel() for Y in (split.Y, split.Y_test)]
    return [split.Y, split.Y_test]


class Scores:
    """An estimator of scikit-learn, asked block by block for its best labels.

    OneVsRestClassifier gives a label without positives the score 0, above most others: it is left
    out, which favours that class.
    """

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.model.fit(X, y)
        self.never = np.flatnonzero(y.sum(axis=0) == 0) if y.ndim == 2 else []
        return self

    def predict_topk(self, X, k):
        blocks, best = np.array_split(X, 1 + len(X) * len(self.model.classes_) // 10**7), []
        for block in blocks:
            scores = self.model.decision_function(block)
            scores[:, self.never] = -np.inf
            best.append(np.argsort(-scores, axis=1, kind="stable")[:, :k])
        return self.model.classes_[np.concatenate(best)], None


def indicator(y, n_labels=None):
    """Labels as a sparse matrix of ones."""
    from scipy import sparse

    if y.ndim == 2:
        return sparse.csr_array(y)
    shape = len(y), n_labels or 1 + y.max()
    return sparse.csr_array((np.ones(len(y), np.float32), (np.arange(len(y)), y)), shape=shape)


def estimators(multiclass):
    """Name -> function that makes one."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    import sklearn_xc as xc

    def one_vs_rest(model):
        return Scores(model if multiclass else OneVsRestClassifier(model))

    found = {
        "PPDSparseClassifier": lambda: xc.PPDSparseClassifier(random_state=0),
        "PPDSparseClassifier(l1=0)": lambda: xc.PPDSparseClassifier(l1=0, random_state=0),
        "LDGSClassifier": lambda: xc.LDGSClassifier(random_state=0),
        "TopKNeighborsClassifier": lambda: xc.TopKNeighborsClassifier(random_state=0),
    }
    if multiclass:
        found |= {
            "ImplicitSoftmaxRegressor": lambda: xc.ImplicitSoftmaxRegressor(random_state=0),
            "AugmentReduceClassifier": lambda: xc.AugmentReduceClassifier(random_state=0),
            "MemoirSVC": lambda: xc.MemoirSVC(random_state=0),
        }
    return found | {
        "LogisticRegression": lambda: one_vs_rest(LogisticRegression(max_iter=300)),
        "LogisticRegression(C=30)": lambda: one_vs_rest(LogisticRegression(C=30, max_iter=300)),
        "LinearSVC": lambda: one_vs_rest(LinearSVC(random_state=0)),
    }


def measure(name, title, most, limit):
    """Figures of one estimator, from a process of its own, which the system ends at the limit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=in_process, args=(sender, name, title, most, limit))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:  # it has died
        process.join()
        return {"failure": f"over {limit}" if process.exitcode == -24 else "failed"}  # SIGXCPU


def in_process(sender, name, title, most, limit):
    import warnings

    from threadpoolctl import threadpool_limits

    from sklearn_xc.metrics import precision_at_k

    threadpool_limits(1)  # BLAS's threads wait in loops, which are processor seconds too
    X, y, X_test, y_test = rows(name, most)
    model = estimators(y.ndim == 1)[title]()
    begun = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (begun + limit, begun + limit + 5))
    with warnings.catch_warnings(), _common.PeakMemory() as memory:
        warnings.simplefilter("ignore")  # labels without a positive, limits of iterations
        start = time.process_time()
        model.fit(X, y)
        fitted = time.process_time()
        best = model.predict_topk(X_test, _common.TOP)[0]
        asked = time.process_time()
    truth = indicator(y_test, 1 + max(y.max(), y_test.max()))
    precision = [100 * precision_at_k(truth, best, k=k) for k in (1, 5)]
    sender.send(
        {
            "fit_s": fitted - start,
            "ms": 1e3 * (asked - fitted) / len(X_test),
            "mb": memory.mb,
            "precision": precision,
            "n": len(X),
            "n_test": len(X_test),
            "d": X.shape[1],
            "k": int((indicator(y).sum(axis=0) > 0).sum()),
        }
    )


def row(title, found):
    if "failure" in found:
        return [title, found["failure"], "-", "-", "-", "-"]
    return [
        title,
        f"{found['fit_s']:.1f}",
        f"{found['ms']:.2f}",
        f"{found['mb']:.0f}",
        *(f"{value:.2f}" for value in found["precision"]),
    ]


def write_page(kept):
    parts = [
        "# Dense rows",
        _runner.source("embeddings"),
        f"Truncated SVD of TF-IDF to {DIMENSIONS} dimensions, and sentence embeddings of "
        "docstrings; rows of unit length, of larger sets a random sample. One thread, processor "
        "seconds; what took more of them than its row says to fit and ask was cut off. Memory "
        "beyond the data in MB. Precision in per cent on test rows; everything at its defaults "
        "except max_iter=300 of LogisticRegression (one-vs-rest where rows have several labels). "
        "Other work beside it, which makes processor seconds longer as well.",
    ]
    header = ["estimator", "fit s", "ms a row", "MB", "P@1", "P@5"]
    for name in DATA:
        found = kept.get(name, {})
        some = next((f for f in found.values() if "n" in f), None)
        if some is None:
            continue
        kind = "one class" if name in (*FIRST_LABEL, "docstrings") else "several labels"
        parts += [
            f"## {name}",
            f"{some['n']:,} rows of {some['d']} dimensions, {some['k']:,} labels, {kind} a sample.",
            _common.table(header, [row(title, f) for title, f in found.items()]),
        ]
    _runner.write_page("embeddings", "\n\n".join(parts))


def main():
    parser = _runner.parser(__doc__, data=DATA)
    parser.add_argument("--rows", type=int, default=5_000, help="to train on, at most")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="by default all")
    parser.add_argument("--limit", type=int, default=20, help="processor seconds")
    options = parser.parse_args()
    for name in [] if options.report else options.data:
        y = labels(name)[0]
        for title in estimators(y.ndim == 1):
            if options.systems and title not in options.systems:
                continue
            found = measure(name, title, options.rows, options.limit)
            print(name, title, found, flush=True)
            _runner.keep("embeddings", name, title, found)
    write_page(_runner.kept("embeddings"))


if __name__ == "__main__":
    main()
