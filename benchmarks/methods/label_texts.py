"""Texts of labels: PPDSparseClassifier with and without its argument `label_features`.

    python -m benchmarks.methods.label_texts [--part weight test] [--data NAME ...] [--report]

`weight`: fits on four fifths of the training rows, scored on the others, by which the default of
`label_feature_weight` was chosen. `test`: without texts and with the default, on test rows, which
decided nothing; and with a fifth of the labels taken away from all training rows. One thread;
processor seconds. Writes measurements/label_texts.md.
"""

import os
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import _common, _label_texts, _runner

os.environ.setdefault("OMP_NUM_THREADS", "1")

DATA = "yso_finna_en_small", "esco_occupations", "cooking_fasttext", "tldr_commands"
WEIGHTS = 1.0, 2.0, 3.0
MOST_ROWS, MOST_TEST_ROWS = 25_000, 5_000
HIDDEN = 0.2


def load(name):
    """TF-IDF rows of the training rows' words, indicators, and texts of labels alike."""
    _, Y, _, Y_test = _common.read_raw(name)
    X, X_test, T = _label_texts.counts_of(name)
    rng = np.random.default_rng(0)
    some = np.sort(rng.permutation(X.shape[0])[:MOST_ROWS])
    asked = np.sort(rng.permutation(X_test.shape[0])[:MOST_TEST_ROWS])
    X, X_test, T = _common.tfidf_rows(X[some], X_test[asked], T)
    Y, Y_test = sp.csr_matrix(Y)[some], sp.csr_matrix(Y_test)[asked]
    labelled = np.diff(Y_test.indptr) > 0
    return X, Y, X_test[labelled], Y_test[labelled], T


def figures(model, X, Y, frequency):
    """Per cent: nDCG@5, P@1, and recall@10 of labels by their training rows."""
    hit, recalls = _label_texts.recalls(model.predict_topk(X, 10)[0], Y, frequency)
    gain = 1 / np.log2(np.arange(2, 7))
    ideal = np.append(1, np.cumsum(gain))[np.minimum(np.diff(Y.indptr), 5)]
    return recalls | {
        "ndcg5": float(100 * ((hit[:, :5] * gain).sum(axis=1) / ideal).mean()),
        "p1": float(100 * hit[:, 0].mean()),
        "n_true_none": int(Y.getnnz(axis=0)[frequency == 0].sum()),
    }


def fitted(X, Y, T, weight):
    """A model and the processor seconds of its fit; without texts for the weight None."""
    from sklearn_xc import PPDSparseClassifier

    model = PPDSparseClassifier(random_state=0, n_jobs=1)
    texts = None
    if weight is not None:
        model.set_params(label_feature_weight=weight)
        texts = T
    start = time.process_time()
    model.fit(X, Y, label_features=texts)
    return model, time.process_time() - start


def run_weight(name):
    X, Y, _, _, T = load(name)
    order = np.random.default_rng(1).permutation(X.shape[0])
    train, held = np.sort(order[len(order) // 5 :]), np.sort(order[: len(order) // 5])
    held = held[np.diff(Y[held].indptr) > 0]
    frequency, result = np.asarray(Y[train].sum(axis=0)).ravel(), {}
    for weight in (None, *WEIGHTS):
        model, seconds = fitted(X[train], Y[train], T, weight)
        result[str(weight)] = figures(model, X[held], Y[held], frequency) | {"cpu_s": seconds}
        result[str(weight)]["penalty_factors"] = list(model.penalty_factors_)
        print(name, weight, result[str(weight)], flush=True)
    return result


def default_weight():
    from sklearn_xc import PPDSparseClassifier

    return PPDSparseClassifier().label_feature_weight


def run_test(name):
    X, Y, X_test, Y_test, T = load(name)
    result = {"shape": [*X.shape, Y.shape[1]], "weight": default_weight()}
    hidden = np.random.default_rng(2).random(Y.shape[1]) < HIDDEN
    for part, seen in (("all labels", Y), ("labels hidden", Y @ sp.diags(1.0 - hidden))):
        seen = sp.csr_matrix(seen)
        seen.eliminate_zeros()
        frequency = np.asarray(seen.sum(axis=0)).ravel()
        for weight in (None, default_weight()):
            model, seconds = fitted(X, seen, T, weight)
            key = f"{part}, {'without' if weight is None else 'with'} texts"
            result[key] = figures(model, X_test, Y_test, frequency) | {"cpu_s": seconds}
            print(name, key, result[key], flush=True)
    return result


# --------------------------------------------------------------------------------------- report

HEAD = """# Texts of labels

{source}

`PPDSparseClassifier(random_state=0)`, alone and with `label_features`: TF-IDF rows of the
names of the labels, by the words of the training rows. At most {most:,} training rows and
{most_test:,} test rows of each data set, drawn at random. nDCG@5, precision@1 and recall@10 in per
cent; recall of labels without a training row, of those with one to four, and of the others. One
thread; processor seconds of the fit, on a machine that others used: ratios of one table can be
compared, to about a third.
"""


def cells(found):
    recalls = _label_texts.shown(found, ("none", "rare", "others"))
    return [f"{found['ndcg5']:.1f}", f"{found['p1']:.1f}", *recalls, _common.figure(found["cpu_s"])]


def report():
    kept, parts = _runner.kept("label_texts"), []
    parts.append(
        HEAD.format(source=_runner.source("label_texts"), most=MOST_ROWS, most_test=MOST_TEST_ROWS)
    )
    header = ["nDCG@5", "P@1", "R@10, no row", "R@10, 1 to 4 rows", "R@10, others", "fit s"]
    rows = []
    for name, result in kept.get("test", {}).items():
        shape = ", ".join(f"{n:,}" for n in result["shape"])
        for key, found in result.items():
            if isinstance(found, dict):
                rows.append([f"{name} ({shape})", key, *cells(found)])
    table = _common.table(["data (rows, features, labels)", "model", *header], rows)
    said = "A fifth of the labels, drawn at random, is taken from all training rows where it says "
    parts.append(f'## On test rows\n\n{said}"labels hidden".\n\n{table}')
    rows = []
    for name, result in kept.get("weight", {}).items():
        for weight, found in result.items():
            shown = "no texts" if weight == "None" else f"weight {weight}"
            rows.append([name, shown, *cells(found)])
    table = _common.table(["data", "texts", *header], rows)
    said = "A fifth of the training rows, held out, by which the default was chosen."
    parts.append(f"## The weight of a text\n\n{said}\n\n{table}")
    _runner.write_page("label_texts", "\n\n".join(parts))


def main():
    options = _runner.parser(__doc__, data=DATA, parts=("weight", "test")).parse_args()
    if not options.report:
        for part in options.part:
            for name in options.data:
                run = run_weight if part == "weight" else run_test
                _runner.keep("label_texts", part, name, run(name))
    report()


if __name__ == "__main__":
    main()
