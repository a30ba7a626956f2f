"""Stack: TopKStackingClassifier() beside each of its parts, with and without texts of labels.

    python -m benchmarks.methods.stacking [--data NAME ...] [--report]

All training rows; up to 4,000 test rows, which decided nothing. Texts are the names of the labels,
where words are known of them, by the words of the training rows; of oewn_hypernym the words of the
synset. Rows and names of "encoded" sets come from a sentence encoder (build/encoder). One thread,
or OMP_NUM_THREADS; processor seconds. Writes measurements/stacking.md.
"""

import os
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import _common, _label_texts, _runner

os.environ.setdefault("OMP_NUM_THREADS", "1")

DATA = ("bibtex", "cooking_fasttext", "delicious", "yso_finna_en_small", "oewn_hypernym")
DATA += ("esco_occupations", "esco_occupations, encoded", "codespell_fix", "yso_finna_en")
PARTS = "without texts", "with texts"
N_JOBS = int(os.environ["OMP_NUM_THREADS"])
MOST_TEST_ROWS = 4000


def load(name):
    """TF-IDF or encoded rows, indicators, and texts of labels alike, or None."""
    name, _, encoded = name.partition(", ")
    _, Y, _, Y_test = (sp.csr_matrix(part) for part in _common.read_raw(name))
    asked = np.flatnonzero(np.diff(Y_test.indptr) > 0)
    asked = np.sort(np.random.default_rng(0).permutation(asked)[:MOST_TEST_ROWS])
    if encoded:
        X, X_test, T = _label_texts.encoded_of(name)
        return X, Y, X_test[asked], Y_test[asked], T[: Y.shape[1]]
    X, X_test, T = _label_texts.counts_of(name)
    X, X_test, *others = _common.tfidf_rows(X, X_test[asked], *([] if T is None else [T]))
    return X, Y, X_test, Y_test[asked], others[0] if others else None


def figures(top, Y, frequency, n_rows):
    """Per cent: nDCG@5, P@1, PSP@5, and recall@10 of labels by their training rows."""
    from sklearn_xc.metrics import ndcg_at_k, psprecision_at_k

    hit, recalls = _label_texts.recalls(top, Y, frequency)
    a, b = 0.55, 1.5
    times = (np.log(n_rows) - 1) * (b + 1) ** a
    propensities = 1 / (1 + times * np.exp(-a * np.log(frequency + b)))
    return recalls | {
        "ndcg5": 100 * ndcg_at_k(Y, top, 5),
        "p1": float(100 * hit[:, 0].mean()),
        "psp5": 100 * psprecision_at_k(Y, top, 5, propensities=propensities),
    }


def fit_seconds(X, Y, texts):
    """Processor seconds of the two parts that take time, each fitted once on all rows."""
    from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier

    start = time.process_time()
    for cls in (PPDSparseClassifier, TopKNeighborsClassifier):
        cls(n_jobs=N_JOBS, random_state=0).fit(X, Y.astype(np.uint8), label_features=texts)
    return time.process_time() - start


def run(name, parts):
    from sklearn_xc import TopKNeighborsClassifier, TopKStackingClassifier

    X, Y, X_test, Y_test, T = load(name)
    frequency = np.asarray(Y.sum(axis=0)).ravel()
    result = _runner.kept("stacking").get("data", {}).get(name, {})
    result["shape"] = [*X.shape, Y.shape[1]]
    for part in parts:
        texts = T if part == "with texts" else None
        if texts is None and part == "with texts":
            continue
        start = time.process_time()
        model = TopKStackingClassifier(n_jobs=N_JOBS, random_state=0)
        model.fit(X, Y.astype(np.uint8), label_features=texts)
        fitted = time.process_time() - start
        parts_s = fit_seconds(X, Y, texts)
        systems = {"stack": model, **dict(model.estimators_)}
        if not sp.issparse(X):
            graph = TopKNeighborsClassifier(index="hnsw", n_jobs=N_JOBS, random_state=0)
            systems["neighbors, hnsw"] = graph.fit(X, Y.astype(np.uint8), label_features=texts)
            graph.predict_topk(X_test[:1])  # makes the graph
        found = {}
        for system, estimator in systems.items():
            start = time.process_time()
            top = estimator.predict_topk(X_test, min(10, Y.shape[1]))[0]
            seconds = time.process_time() - start
            found[system] = figures(top, Y_test, frequency, X.shape[0])
            found[system]["ms"] = 1e3 * seconds / len(top)
        found["stack"] |= {
            "fit_s": fitted,
            "parts_s": parts_s,
            "final": type(model.final_).__name__,
            "held_out": {n: 100 * value for n, value in model.validation_scores_.items()},
        }
        result[part] = found
        print(name, part, found, flush=True)
        _runner.keep("stacking", "data", name, result)


# ------------------------------------------------------------------------------------- the page

HEAD = """# A learned stack beside its parts

{source}

`TopKStackingClassifier(random_state=0)` and the parts that stayed in it. TF-IDF rows; *with texts*:
`label_features` are the names of the labels. nDCG@5, precision@1, PSP@5 and recall@10 in per cent,
on up to {most:,} test rows that decided nothing; recall of labels without a training row, and of
those with one to four. One thread (yso_finna_en: two), processor time, on a machine that others
used; *fits of its parts*: how many times the time that `PPDSparseClassifier` and
`TopKNeighborsClassifier` take, each fitted once alone on all rows. The stack fits each twice
and a second stage.
"""


def ratio(found):
    """Of a stack's seconds to those of its parts by themselves."""
    return f"{found['fit_s'] / found['parts_s']:.1f}" if "parts_s" in found else "-"


def report():
    kept, lines = _runner.kept("stacking"), []
    for name, result in kept.get("data", {}).items():
        for part in PARTS:
            for system, found in result.get(part, {}).items():
                lines.append(
                    [
                        f"{name}, {part}: {system}",
                        f"{found['ndcg5']:.1f}",
                        f"{found['p1']:.1f}",
                        f"{found['psp5']:.1f}",
                        *_label_texts.shown(found, ("none", "rare")),
                        _common.figure(found.get("fit_s")),
                        ratio(found),
                        _common.figure(found["ms"]),
                    ]
                )
    header = ["data: system", "nDCG@5", "P@1", "PSP@5", "R@10, no row", "R@10, 1 to 4 rows"]
    header += ["fit s", "fits of its parts", "ms a row"]
    head = HEAD.format(source=_runner.source("stacking"), most=MOST_TEST_ROWS)
    _runner.write_page("stacking", f"{head}\n## Test rows\n\n{_common.table(header, lines)}")


def main():
    options = _runner.parser(__doc__, data=DATA, parts=PARTS).parse_args()
    if not options.report:
        for name in options.data:
            run(name, options.part)
    report()


if __name__ == "__main__":
    main()
