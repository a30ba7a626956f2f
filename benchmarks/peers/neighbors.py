"""Nearest rows: TopKNeighborsClassifier beside scikit-learn, hnswlib and faiss.

    python -m benchmarks.peers.neighbors [--part rows classes] [--data NAME ...] [--report]

`classes`: labels of sparse text rows, beside KNeighborsClassifier and NearestNeighbors of
scikit-learn. `rows`: neighbours alone, of dense rows, beside NearestNeighbors, hnswlib and faiss,
which has an environment of its own, build/faiss. One thread; processor seconds. Writes
measurements/neighbors.md.
"""

import json
import os
import subprocess
import time

import numpy as np

from benchmarks import _common, _environment, _runner

os.environ.setdefault("OMP_NUM_THREADS", "1")

ASKED = 1000  # test rows of the slower systems
K = 100
DATA = ("bibtex", "esco_occupations", "yso_finna_en_small", "yso_finna_en")
DENSE = {f"generated, {n:,} rows of 128": (n, 128) for n in (50_000, 200_000)}
FOLDER = _common.BUILD / "neighbors"
FAISS_WORKER = """
import json, sys, time
import faiss, numpy as np
faiss.omp_set_num_threads(1)
folder, kind, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, Q = np.load(folder + "/rows.npy"), np.load(folder + "/queries.npy")
start = time.process_time()
d = X.shape[1]
metric = faiss.METRIC_INNER_PRODUCT
index = faiss.IndexFlatIP(d) if kind == "flat" else faiss.IndexHNSWFlat(d, 16, metric)
if kind == "hnsw":
    index.hnsw.efConstruction, index.hnsw.efSearch = 100, 128
index.add(X)
built = time.process_time() - start
start = time.process_time()
_, ids = index.search(Q, k)
np.save(folder + "/ids.npy", ids)
print(json.dumps([built, time.process_time() - start, faiss.__version__]))
"""


def cpu(function, *arguments):
    """Processor seconds of a call, and its result."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


# ------------------------------------------------------------------------------------- classes


def ndcg_at_5(top, Y):
    """Mean nDCG@5, and the share of rows whose first label is true; per cent."""
    Y = Y.tocsr()
    row = np.repeat(np.arange(len(top)), 5)
    hit = (np.asarray(Y[row, top[:, :5].ravel()]).reshape(-1, 5) > 0) & (top[:, :5] >= 0)
    gain = 1 / np.log2(np.arange(2, 7))
    ideal = np.append(1, np.cumsum(gain))[np.minimum(np.diff(Y.indptr), 5)]
    return 100 * ((hit * gain).sum(axis=1) / ideal).mean(), 100 * hit[:, 0].mean()


def ours(split, asked, **parameters):
    from sklearn_xc import TopKNeighborsClassifier

    model = TopKNeighborsClassifier(n_jobs=1, random_state=0, **parameters)
    fitted, _ = cpu(model.fit, split.X, split.Y)
    seconds, (top, _) = cpu(model.predict_topk, split.X_test[asked], 5)
    return fitted, seconds, top, model.nbytes_


def sklearn_classifier(split, asked):
    """Shares of each label among the neighbours, by cosine; one dense array for each label."""
    from sklearn.neighbors import KNeighborsClassifier

    Y = split.Y.toarray() > 0
    options = {"weights": "distance", "metric": "cosine", "algorithm": "brute", "n_jobs": 1}
    model = KNeighborsClassifier(K, **options)
    fitted, _ = cpu(model.fit, split.X, Y)

    def answer(rows):
        shares = np.column_stack([part[:, -1] for part in model.predict_proba(rows)])
        return np.argsort(-shares, axis=1, kind="stable")[:, :5]

    seconds, top = cpu(answer, split.X_test[asked])
    return fitted, seconds, top, split.X.data.nbytes + split.X.indices.nbytes + Y.nbytes


def sklearn_neighbors(split, asked):
    """Its search, and our sum in SciPy: s ** 3."""
    import scipy.sparse as sp
    from sklearn.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute", n_jobs=1)
    fitted, _ = cpu(model.fit, split.X)

    def answer(rows):
        best = []
        for start in range(0, rows.shape[0], 250):  # all distances of a block are held
            distances, ids = model.kneighbors(rows[start : start + 250])
            votes = (np.maximum(1 - distances, 0) ** 3).ravel(), ids.ravel()
            starts = np.arange(0, ids.size + 1, K)
            scores = sp.csr_matrix((*votes, starts), shape=(len(ids), split.X.shape[0])) @ split.Y
            best.append(np.argsort(-scores.toarray(), axis=1, kind="stable")[:, :5])
        return np.concatenate(best)

    seconds, top = cpu(answer, split.X_test[asked])
    return fitted, seconds, top, split.X.data.nbytes + split.X.indices.nbytes


FIXED = {"n_neighbors": K, "power": 3.0, "frequency_power": 0.0, "text_weight": 0.0}
CLASSIFIERS = {
    "TopKNeighborsClassifier()": (lambda split, asked: ours(split, asked), None),
    "the same, 100 neighbours, s³": (lambda split, asked: ours(split, asked, **FIXED), None),
    "NearestNeighbors, and s³ in SciPy": (sklearn_neighbors, None),
    "KNeighborsClassifier": (sklearn_classifier, 3_000_000),  # dense labels at most
}


def run_classes(name):
    split = _common.load(name)
    asked = np.random.default_rng(0).permutation(split.X_test.shape[0])[:ASKED]
    results = {}
    for system, (measure, most) in CLASSIFIERS.items():
        if most is not None and split.Y.shape[0] * split.Y.shape[1] > most:
            continue
        print(f"{name}: {system}", flush=True)
        fitted, seconds, top, size = measure(split, asked)
        ndcg, precision = ndcg_at_5(top, split.Y_test[asked])
        results[system] = {
            "fit_s": fitted,
            "ms": 1e3 * seconds / len(asked),
            "ndcg5": ndcg,
            "p1": precision,
            "bytes_an_entry": size / split.X.nnz,
        }
    shape = [*split.X.shape, split.Y.shape[1]]
    _runner.keep("neighbors", "classes", name, {"shape": shape, "systems": results})


# ------------------------------------------------------------------------------------- rows


def clusters(n, d):
    """Unit rows about centres, as embeddings of sentences are."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n // 50, d))
    rows = centres[rng.integers(0, len(centres), n + ASKED)] + rng.normal(size=(n + ASKED, d))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return rows[:n], rows[n:]


def our_rows(X, Q, index):
    from sklearn_xc import TopKNeighborsClassifier

    model = TopKNeighborsClassifier(**FIXED, index=index, n_jobs=1, random_state=0)
    built, _ = cpu(model.fit, X, np.arange(len(X)) % 7)
    first, _ = cpu(model.kneighbors, Q[:1], 10)  # builds a graph
    seconds, (_, ids) = cpu(model.kneighbors, Q, 10)
    return built + first, seconds, ids


def sklearn_rows(X, Q):
    from sklearn.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute", n_jobs=1)
    built, _ = cpu(model.fit, X)
    seconds, (_, ids) = cpu(model.kneighbors, Q)
    return built, seconds, ids


def hnswlib_rows(X, Q):
    import hnswlib

    index = hnswlib.Index("ip", X.shape[1])

    def build():
        index.init_index(len(X), M=16, ef_construction=100, random_seed=0)
        index.add_items(X, num_threads=1)

    built, _ = cpu(build)
    index.set_ef(128)
    seconds, (ids, _) = cpu(lambda: index.knn_query(Q, k=10, num_threads=1))
    return built, seconds, ids


def faiss_rows(X, Q, kind):
    python, reason = _environment.faiss_python()
    if python is None:
        raise RuntimeError(reason)
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.save(FOLDER / "rows.npy", X)
    np.save(FOLDER / "queries.npy", Q)
    call = [python, "-c", FAISS_WORKER, str(FOLDER), kind, "10"]
    text = subprocess.run(
        call, capture_output=True, text=True, check=True, env=_environment.variables(1)
    ).stdout
    built, seconds, _ = json.loads(text)
    return built, seconds, np.load(FOLDER / "ids.npy")


SEARCHES = {
    'TopKNeighborsClassifier, "exact"': lambda X, Q: our_rows(X, Q, "exact"),
    'TopKNeighborsClassifier, "hnsw"': lambda X, Q: our_rows(X, Q, "hnsw"),
    "scikit-learn NearestNeighbors": sklearn_rows,
    "hnswlib, ef 128": hnswlib_rows,
    "faiss IndexFlatIP": lambda X, Q: faiss_rows(X, Q, "flat"),
    "faiss IndexHNSWFlat, ef 128": lambda X, Q: faiss_rows(X, Q, "hnsw"),
}


def run_rows(name):
    X, Q = clusters(*DENSE[name])
    exact, results = None, {}
    for system, search in SEARCHES.items():
        print(f"{name}: {system}", flush=True)
        try:
            built, seconds, ids = search(X, Q)
        except RuntimeError as error:
            print(f"  {error}")
            continue
        exact = ids if exact is None else exact
        recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(exact, ids, strict=True)])
        results[system] = {"build_s": built, "ms": 1e3 * seconds / len(Q), "recall10": recall}
    _runner.keep("neighbors", "rows", name, results)


# ------------------------------------------------------------------------------------- the page

HEAD = """# Nearest rows beside other libraries

{source}

One thread, processor seconds, {asked:,} test rows. TF-IDF rows of unit length; *bytes* are those
that a model holds for each entry of X, labels included. KNeighborsClassifier needs labels as a
dense array and returns one array for each: it is left out where that exceeds {most:,} numbers.
The machine was shared with other work: times of one table can be compared, to about a third.
"""


def report():
    kept, figure = _runner.kept("neighbors"), _common.figure
    most = CLASSIFIERS["KNeighborsClassifier"][1]
    parts = [HEAD.format(source=_runner.source("neighbors"), asked=ASKED, most=most)]
    header = ["data (rows, features, labels)", "system", "fit s", "ms a row"]
    header += ["nDCG@5", "P@1", "bytes"]
    lines = []
    for name, result in kept.get("classes", {}).items():
        shape = ", ".join(f"{n:,}" for n in result["shape"])
        for system, found in result["systems"].items():
            lines.append(
                [
                    f"{name} ({shape})",
                    system,
                    figure(found["fit_s"]),
                    figure(found["ms"]),
                    f"{found['ndcg5']:.1f}",
                    f"{found['p1']:.1f}",
                    f"{found['bytes_an_entry']:.1f}",
                ]
            )
    parts.append(f"## Labels of sparse rows\n\n{_common.table(header, lines)}")
    header = ["rows", "system", "build s", "ms a row", "recall@10"]
    lines = [
        [name, system, figure(found["build_s"]), figure(found["ms"]), f"{found['recall10']:.3f}"]
        for name, result in kept.get("rows", {}).items()
        for system, found in result.items()
    ]
    parts.append(f"## Neighbours of dense rows\n\n{_common.table(header, lines)}")
    _runner.write_page("neighbors", "\n\n".join(parts))


def main():
    parser = _runner.parser(__doc__, data=DATA, parts=("classes", "rows"))
    options = parser.parse_args()
    if not options.report:
        for name in options.data if "classes" in options.part else ():
            run_classes(name)
        for name in DENSE if "rows" in options.part else ():
            run_rows(name)
    report()


if __name__ == "__main__":
    main()
