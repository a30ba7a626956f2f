"""How small a model can be made before it is worse.

Trains one-vs-rest models on passages of documentation: most objects first, the others added to the
fitted model. Then drops the weights below a growing threshold, and draws the precision of the best
answer and of the best five against the size.

    python examples/growing.py
    python examples/growing.py --sample 300 --output size.png
"""

import time
import warnings

import numpy as np
from _passages import load, parse_options, pyplot
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.metrics import top_k_accuracy

THRESHOLDS = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6]


def main():
    options = parse_options(__doc__, "growing.png")
    X, y, X_test, y_test = load(options.sample)
    first = y < 0.9 * (y.max() + 1)  # nine tenths of the objects
    model = PPDSparseClassifier(l1=0.01, pruning=0.0, random_state=0)
    if options.passes:
        model.set_params(max_iter=options.passes)
        warnings.simplefilter("ignore", ConvergenceWarning)
    start = time.perf_counter()
    model.fit(X[first], y[first])
    middle = time.perf_counter()
    n_first = len(model.classes_)
    model.add_labels(X, y)
    print(
        f"{n_first} objects in {middle - start:.1f} s, {len(model.classes_) - n_first} more added "
        f"in {time.perf_counter() - middle:.1f} s"
    )
    print(f"\n{'threshold':10}  non-zeros       MB   best 1   best 5")
    found = []
    for threshold in THRESHOLDS:
        model.prune(threshold)
        labels, _ = model.predict_topk(X_test, 5)
        best, five = (top_k_accuracy(y_test, labels, k=k) for k in (1, 5))
        size = model.nbytes_ / 1e6
        print(f"{threshold:<10g}{model.coef_.nnz:11d}{size:9.2f}{best:9.3f}{five:9.3f}")
        found.append((size, best, five))
    save_picture(options.output, np.array(found), len(model.classes_))


def save_picture(path, found, n_classes):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
    size, best, five = found.T
    axes.plot(size, five, "o-", label="among the best five")
    axes.plot(size, best, "s-", label="the best")
    for threshold, x, height in zip(THRESHOLDS, size, best, strict=True):
        axes.annotate(
            f"{threshold:g}", (x, height), (0, -14), textcoords="offset points", ha="center"
        )
    axes.set(xlabel="megabytes of the model", ylabel="test accuracy", xscale="log", ylim=(0, 1))
    axes.set_title(f"{n_classes} classes; numbers: threshold of prune")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
