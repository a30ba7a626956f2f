"""How much recall a search for the most violating class needs.

Trains support vector machines on passages of documentation, reduced to a few dense dimensions, with
an index that retrieves candidates at several recalls, and with exact search; draws the
accuracy, and the classes scored for a sample, against the recall.

    python examples/memoir.py
    python examples/memoir.py --sample 300 --output recall.png
"""

import time
import warnings

import numpy as np
from _passages import load, parse_options, pyplot
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from sklearn_xc import MemoirSVC

DIMENSIONS = 128
PASSES = 3
KINDS = [("lsh", "tab:orange"), ("hnsw", "tab:blue")]
RUNS = [("exact", {})]
RUNS += [
    ("lsh", {"search_params": {"n_bits": n_bits, "min_recall": 0.0}})
    for n_bits in (64, 128, 256, 512, 1024)
]
RUNS += [("hnsw", {})]  # minutes: a graph is built anew after every tenth of the classes in samples


def main():
    options = parse_options(__doc__, "memoir.png")
    X, y, X_test, y_test = load(options.sample)
    svd = TruncatedSVD(min(DIMENSIONS, X.shape[1] - 1), random_state=0).fit(X)
    X, X_test = (normalize(svd.transform(part)).astype(np.float32) for part in (X, X_test))
    n_classes = len(np.unique(y))
    print(f"\n{'':8}seconds   recall   classes scored   accuracy")
    found = []
    for search, more in RUNS:
        passes = options.passes or PASSES
        model = MemoirSVC(search=search, max_iter=passes, random_state=0, **more)
        start = time.perf_counter()
        with warnings.catch_warnings():  # an index that falls short says so; the table shows it
            warnings.simplefilter("ignore", RuntimeWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - start
        accuracy = model.score(X_test, y_test)
        print(
            f"{search:8}{seconds:7.1f}{model.recall_:9.2f}{model.n_scored_:17.0f}{accuracy:11.3f}"
        )
        found.append((search, model.recall_, model.n_scored_ / n_classes, accuracy))
    save_picture(options.output, found, n_classes)


def save_picture(path, found, n_classes):
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    exact = found[0][3]
    left.axhline(exact, color="black", linestyle=":", label="exact search")
    for kind, colour in KINDS:
        points = sorted(point[1:] for point in found if point[0] == kind)
        recall, scored, accuracy = zip(*points, strict=True)
        left.plot(recall, accuracy, "o-", color=colour, label=kind)
        right.plot(recall, scored, "o-", color=colour, label=kind)
    left.set(xlabel="recall@10 of the index, as measured", ylabel="test accuracy")
    right.set(xlabel="recall@10 of the index, as measured", ylabel="share of classes scored")
    right.set_yscale("log")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend()
    figure.suptitle(f"{n_classes} classes")
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
