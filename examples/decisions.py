"""From scores to probabilities and decisions.

Trains one-vs-rest machines on texts of a generator with a few of 300 labels each, calibrates their
scores, and tunes one threshold for each of three F measures; draws the reliability before and
after, and the measures on new texts against the threshold.

    python examples/decisions.py
    python examples/decisions.py --rows 1000 --output decisions.png
"""

import argparse

import numpy as np
from _passages import pyplot
from scipy.special import expit
from sklearn.metrics import f1_score

from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier, TopKThresholdClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import expected_calibration_error, reliability_curve

N_CLASSES = 300
FEWEST = 200  # rows
MEASURES = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}
COLOURS = ["tab:blue", "tab:orange", "tab:green"]


def main():
    options = parse_options()
    X, Y = make_xc_classification(
        options.rows, 3000, N_CLASSES, n_labels=2.5, signal=0.3, random_state=0
    )
    n_train = options.rows * 2 // 3
    X, Y, X_test, Y_test = X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]
    print(f"N = {n_train} texts, K = {N_CLASSES} labels")
    curves = probabilities(X, Y, X_test, Y_test)
    model, tuned = decisions(X, Y, X_test, Y_test)
    save_picture(options.output, curves, measures_by_threshold(model, X_test, Y_test), tuned)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rows", metavar="N", type=int, default=6000, help="texts to generate")
    add("--output", metavar="FILE", default="decisions.png", help="where to draw the picture")
    options = parser.parse_args()
    if options.rows < FEWEST:
        parser.error(f"--rows must be at least {FEWEST}")
    return options


def probabilities(X, Y, X_test, Y_test):
    """Reliability of the five best labels, with the error of their probabilities."""
    curves = {}
    print(f"\n{'':12}expected calibration error")
    for method in ("raw", "sigmoid", "isotonic"):
        if method == "raw":
            model = PPDSparseClassifier(random_state=0).fit(X, Y)
            labels, scores = model.predict_topk(X_test)
            p = expit(scores)
        else:
            model = TopKCalibratedClassifier(method=method, cv=0.2).fit(X, Y)
            labels, p = model.predict_topk(X_test, scores="proba")
        error = expected_calibration_error(Y_test, labels, p)
        curves[f"{method}, error {error:.3f}"] = reliability_curve(Y_test, labels, p)
        print(f"{method:12}{error:.3f}")
    return curves


def decisions(X, Y, X_test, Y_test):
    """A fitted model, and the threshold tuned for each measure."""
    tuned = {}
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    found = [("score > 0", model.predict(X_test))]
    for metric in MEASURES:
        wrapper = TopKThresholdClassifier(metric=metric, max_labels=20).fit(X, Y)
        tuned[metric] = wrapper.best_threshold_
        found.append((f"{metric}, {wrapper.best_threshold_:.3f}", wrapper.predict(X_test)))
    print(f"\n{'decision':24}" + "".join(f"{metric:>12}" for metric in MEASURES))
    for name, prediction in found:
        values = (
            f1_score(Y_test, prediction, average=average, zero_division=0)
            for average in MEASURES.values()
        )
        print(f"{name:24}" + "".join(f"{value:12.3f}" for value in values))
    return model, tuned


def measures_by_threshold(model, X_test, Y_test):
    """Thresholds, and each measure with them."""
    scores = model.predict_topk(X_test, k=20, sparse_output=True)
    thresholds = np.linspace(-1.2, 0.6, 37)
    measures = {metric: [] for metric in MEASURES}
    for threshold in thresholds:
        for metric, average in MEASURES.items():
            found = above(scores, threshold)
            measures[metric].append(f1_score(Y_test, found, average=average, zero_division=0))
    return thresholds, measures


def above(scores, threshold):
    """The stored scores above a threshold, as an indicator."""
    found = scores.copy()
    found.data = (scores.data > threshold).astype(np.int8)
    found.eliminate_zeros()
    return found


def save_picture(path, curves, measured, tuned):
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    for (label, (true, predicted, _)), colour in zip(
        curves.items(), ["tab:red", "tab:blue", "tab:green"], strict=True
    ):
        left.plot(predicted, true, "o-", color=colour, label=label)
    left.set(
        xlabel="predicted probability", ylabel="share of true labels",
        title="Reliability of the five best labels",
    )  # fmt: skip
    thresholds, measures = measured
    for (metric, values), colour in zip(measures.items(), COLOURS, strict=True):
        right.plot(thresholds, values, color=colour, label=metric)
        right.axvline(tuned[metric], color=colour, linestyle="--", linewidth=1)
    right.axvline(0, color="black", linestyle=":", linewidth=1)
    right.set(xlabel="threshold (dashed: tuned; dotted: zero)", ylabel="F on new texts")
    right.set_title("One threshold for all labels")
    for axes, place in ((left, "lower right"), (right, "upper right")):
        axes.grid(alpha=0.3)
        axes.legend(loc=place)
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
