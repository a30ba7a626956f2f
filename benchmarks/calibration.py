"""Probabilities before and after calibration: expected calibration error, reliability, seconds.

    python benchmarks/calibration.py [--data NAME ...] [--report]

Figures are kept; the page measurements/calibration.md and its picture
are written from all of them.
"""

import _common
import _runner
import numpy as np
from scipy.special import expit, softmax

from sklearn_xc import MemoirSVC, PPDSparseClassifier, TopKCalibratedClassifier
from sklearn_xc.datasets import first_label
from sklearn_xc.metrics import expected_calibration_error, reliability_curve

DATA_SETS = ["bibtex", "cooking_fasttext", "yso_finna_en_small"]
PICTURE = "benchmark_calibration"
RUNS = [("sigmoid", 5), ("sigmoid", 0.2), ("isotonic", 5), ("isotonic", 0.2)]
CLASS_RUNS = [("sigmoid", 0.2), ("isotonic", 0.2), ("temperature", 0.2)]
COLOURS = {"raw": "tab:red", "sigmoid": "tab:blue", "isotonic": "tab:green"}


def measured(y, labels, p):
    """Calibration of the best label and of the five best."""
    curve = reliability_curve(y, labels, p, k=_common.TOP)
    return {
        "ece1": expected_calibration_error(y, labels, p, k=1),
        "ece5": expected_calibration_error(y, labels, p, k=_common.TOP),
        "curve": [part.tolist() for part in curve],
    }


def labels_of(parts):
    """PPDSparseClassifier on the indicator."""
    model = PPDSparseClassifier(n_jobs=2, random_state=0)
    plain, _ = _common.timed(model.fit, parts.X, parts.Y)
    labels, scores = model.predict_topk(parts.X_test)
    found = {"raw": measured(parts.Y_test, labels, expit(scores)) | {"seconds": plain}}
    for method, cv in RUNS:
        model.set_params(calibration=method, calibration_cv=cv)
        seconds, _ = _common.timed(model.fit, parts.X, parts.Y)
        labels, p = model.predict_topk(parts.X_test, scores="proba")
        found[f"{method}, {cv}"] = measured(parts.Y_test, labels, p) | {"seconds": seconds}
    return found


def classes_of(parts):
    """Both hinge estimators on the first label of each row."""
    y, kept = first_label(parts.Y)
    y_test, kept_test = first_label(parts.Y_test)
    X, y, X_test, y_test = parts.X[kept], y[kept], parts.X_test[kept_test], y_test[kept_test]
    found = {}
    for estimator in (PPDSparseClassifier, MemoirSVC):
        name = estimator.__name__
        model = estimator(n_jobs=2, random_state=0)
        plain, _ = _common.timed(model.fit, X, y)
        labels, scores = model.predict_topk(X_test, k=min(100, len(model.classes_)))
        raw = softmax(scores.astype(float), axis=1)  # the hundred best: of all it would be lower
        found[f"{name}, raw"] = measured(y_test, labels, raw) | {"seconds": plain}
        for method, cv in CLASS_RUNS:
            calibrated = TopKCalibratedClassifier(model, method=method, cv=cv)
            seconds, _ = _common.timed(calibrated.fit, X, y)
            labels, p = calibrated.predict_topk(X_test, scores="proba")
            found[f"{name}, {method}, {cv}"] = measured(y_test, labels, p) | {"seconds": seconds}
    return found


def measure(name):
    parts = _common.load(name)
    found = {"labels": labels_of(parts), "classes": classes_of(parts)}
    for kind, runs in found.items():
        _runner.keep("calibration", name, kind, runs)
        for run, figures in runs.items():
            print(f"{name:20}{kind:9}{run:40} ECE@5 {figures['ece5']:.4f}", flush=True)


def rows_of(found, kind):
    for name, runs in found.items():
        for run, figures in runs[kind].items():
            raw = runs[kind][run.split(", ")[0] + ", raw" if kind == "classes" else "raw"]
            yield [
                f"{name}, {run}",
                f"{100 * figures['ece5']:.2f}",
                f"{figures['ece5'] / raw['ece5']:.2f}",
                f"{100 * figures['ece1']:.2f}",
                _common.figure(figures["seconds"]),
            ]


def write_page():
    found = _runner.kept("calibration")
    header = ["data, calibration", "ECE@5", "of raw", "ECE@1", "fit s"]
    parts = [
        "# Calibration",
        _runner.source("calibration"),
        "Expected calibration error on the test parts, in percent, in 15 bins of equal width, of "
        "the 5 best labels of each row and of the best; *of raw* is the ratio of the former to "
        "that without calibration. The number behind the method is `calibration_cv` or `cv`. "
        "Seconds are those of the whole fit, on two threads of a machine that was busy with other "
        "work.",
        draw(found),
        "## Labels",
        "PPDSparseClassifier on the indicator. *raw* is the logistic function of the scores.\n\n"
        + _common.table(header, list(rows_of(found, "labels"))),
        "## Classes",
        "The first label of each row is its class; *raw* is the softmax of the 100 best scores.\n\n"
        + _common.table(header, list(rows_of(found, "classes"))),
    ]
    _runner.write_page("calibration", "\n\n".join(parts))


def draw(found):
    text = "Reliability of the five best labels"
    if any("curve" not in run for runs in found.values() for run in runs["labels"].values()):
        return _runner.shown(PICTURE, text)
    figure, axes = _runner.axes(len(found), figsize=(4 * len(found), 4))
    for axis, (name, runs) in zip(axes, found.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
        for run, colour in COLOURS.items():
            figures = runs["labels"][run if run == "raw" else f"{run}, 5"]
            true, predicted, weight = map(np.array, figures["curve"])
            label = f"{run}, ECE {100 * figures['ece5']:.1f} %"
            axis.plot(predicted, true, color=colour, label=label, linewidth=1)
            axis.scatter(predicted, true, s=150 * np.sqrt(weight / weight.sum()), color=colour)
        axis.set(title=name, xlabel="predicted probability", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axis.legend(loc="upper left", fontsize="small")
    axes[0].set_ylabel("share of true labels")
    return _runner.picture(figure, PICTURE, text)


def main():
    options = _runner.parser(__doc__, data=DATA_SETS).parse_args()
    for name in [] if options.report else options.data:
        measure(name)
    write_page()


if __name__ == "__main__":
    main()
