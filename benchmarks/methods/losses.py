"""The losses of a class against the rest in PPDSparseClassifier: precision and time.

    python -m benchmarks.methods.losses [--data bibtex ...]

Several labels a row, defaults except the loss, one thread; besides with a fifth of the training
rows given the labels of other rows. Writes doc/development/measurements/losses.md.
"""

import time

import numpy as np

from benchmarks import _common, _runner

DATA = "bibtex", "corel5k", "delicious", "cooking_fasttext"
LOSSES = "squared_hinge", "smoothed_hinge", "hinge"
KINDS = {"clean": "labels as they are", "noisy": "a fifth of the rows with labels of others"}
NOISE = 0.2  # share of the training rows
CAPTION = """\
P@1 and nDCG@5 in per cent on the test rows, thousands of weights, and the median of three fits in
processor seconds, on one thread, defaults except `loss`; the data choose the penalties of each."""


def with_noise(Y, rng):
    """The rows of Y, a fifth of them exchanged among one another."""
    rows = np.arange(Y.shape[0])
    some = rng.permutation(len(rows))[: int(NOISE * len(rows))]
    rows[some] = np.roll(some, 1)
    return Y[rows]


def measure(loss, X, Y, X_test, Y_test):
    """P@1, nDCG@5, thousands of weights, processor seconds."""
    from sklearn_xc import PPDSparseClassifier
    from sklearn_xc.metrics import ndcg_at_k, precision_at_k

    seconds = []
    for _ in range(3):
        model, began = PPDSparseClassifier(loss=loss, random_state=0), time.process_time()
        model.fit(X, Y)
        seconds.append(time.process_time() - began)
    best = model.predict_topk(X_test, 5)[0]
    scores = precision_at_k(Y_test, best, k=1), ndcg_at_k(Y_test, best, k=5)
    return [*(100 * s for s in scores), model.coef_.nnz / 1000, float(np.median(seconds))]


def page(kept):
    header = ["data", "labels", *(f'"{loss}"' for loss in LOSSES)]
    rows = [
        [name, text, *("{:.1f}, {:.1f}, {:.0f} k, {:.2f} s".format(*found[s]) for s in LOSSES)]
        for name in DATA
        for kind, text in KINDS.items()
        if len(found := kept.get(f"{name}, {kind}", {})) == len(LOSSES)
    ]
    return "\n\n".join(["# Losses", CAPTION, _common.table(header, rows), _runner.source("losses")])


def main():
    options = _runner.parser(__doc__, data=DATA).parse_args()
    for name in [] if options.report else options.data:
        X, Y, X_test, Y_test = _common.load(name)
        for kind in KINDS:
            of_kind = with_noise(Y, np.random.default_rng(0)) if kind == "noisy" else Y
            for loss in LOSSES:
                figures = measure(loss, X, of_kind, X_test, Y_test)
                _runner.keep("losses", f"{name}, {kind}", loss, figures)
                print(name, kind, loss, figures, flush=True)
    _runner.write_page("losses", page(_runner.kept("losses")))


if __name__ == "__main__":
    main()
