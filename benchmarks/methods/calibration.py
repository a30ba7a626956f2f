"""Probabilities before and after calibration: expected calibration error, reliability, seconds.

    python -m benchmarks.methods.calibration [--data NAME ...] [--part labels classes best]

Figures are kept; the page measurements/calibration.md and its picture
are written from all of them.
"""

import numpy as np
from scipy.special import expit, softmax
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import train_test_split as split_at_random

from benchmarks import _common, _runner
from sklearn_xc import MemoirSVC, PPDSparseClassifier, TopKCalibratedClassifier
from sklearn_xc.datasets import first_label, load_docstrings, load_xc
from sklearn_xc.metrics import coverage_curve, expected_calibration_error, reliability_curve

DATA_SETS = ["bibtex", "cooking_fasttext", "yso_finna_en_small"]
SURE, COVERAGES = 0.8, (0.2, 0.4, 0.6)
PICTURE = "benchmark_calibration"
RUNS = [("sigmoid", 5), ("sigmoid", 0.2), ("isotonic", 5), ("isotonic", 0.2)]
CLASS_RUNS = [("sigmoid", 0.2), ("isotonic", 0.2), ("temperature", 0.2), ("top_label", 0.2)]
BEST_SETS = ["codespell_fix", "esco_occupations", "docstrings"]
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


def drawn_at_random(name):
    """Rows of one class each; a fifth of them, drawn at random, are new: X, y, X_test, y_test."""
    if name == "docstrings":
        docs = load_docstrings()
        X = np.array([*docs.data_train, *docs.data_test], dtype=object)
        y = np.append(docs.target_train, docs.target_test)
        weigh = TfidfVectorizer(sublinear_tf=True)
    else:
        X, Y = load_xc(_common.data_folder(name) / "train.txt.xz")
        y, kept = first_label(Y)
        X, weigh = X[kept], TfidfTransformer(sublinear_tf=True)
    X, X_test, y, y_test = split_at_random(X, y, test_size=0.2, random_state=0)
    return weigh.fit_transform(X), y, weigh.transform(X_test), y_test


def best_of(name):
    """The best class of rows to come, by method: how sure it is, and how often it is right."""
    X, y, X_test, y_test = drawn_at_random(name)
    model, found = PPDSparseClassifier(n_jobs=2, random_state=0), {}
    for method, cv in [*CLASS_RUNS, ("top_label", 5)]:
        calibrated = TopKCalibratedClassifier(model, method=method, cv=cv).fit(X, y)
        labels, p = calibrated.predict_topk(X_test, 1, scores="proba")
        hit, sure = labels[:, 0] == y_test, p[:, 0] > SURE
        found[f"{method}, {cv}"] = {
            "n_classes": len(calibrated.classes_),
            "accuracy": float(hit.mean()),
            "mean": float(p.mean()),
            "largest": float(p.max()),
            "sure": float(sure.mean()),
            "right": float(hit[sure].mean()) if sure.any() else None,
            "ece1": expected_calibration_error(y_test, labels, p, k=1),
        }
        coverage, accuracy, _ = coverage_curve(y_test, labels, p)
        at = {share: accuracy[np.searchsorted(coverage, share)] for share in COVERAGES}
        found[f"{method}, {cv}"]["answered"] = {str(k): float(v) for k, v in at.items()}
    return found


def measure(name, wanted):
    found = {}
    if name in BEST_SETS and "best" in wanted:
        found["best"] = best_of(name)
    if name in DATA_SETS and {"labels", "classes"} & set(wanted):
        parts = _common.load(name)
        found |= {"labels": labels_of(parts), "classes": classes_of(parts)}
    for kind, runs in found.items():
        _runner.keep("calibration", name, kind, runs)
        for run, figures in runs.items():
            print(f"{name:20}{kind:9}{run:40} ECE@1 {figures['ece1']:.4f}", flush=True)


def rows_of(found, kind):
    for name, runs in found.items():
        for run, figures in runs.get(kind, {}).items():
            raw = runs[kind][run.split(", ")[0] + ", raw" if kind == "classes" else "raw"]
            yield [
                f"{name}, {run}",
                f"{100 * figures['ece5']:.2f}",
                f"{figures['ece5'] / raw['ece5']:.2f}",
                f"{100 * figures['ece1']:.2f}",
                _common.figure(figures["seconds"]),
            ]


def rows_of_best(found):
    for name, groups in found.items():
        for run, figures in groups.get("best", {}).items():
            shares = ["mean", "largest", "sure", "right"]
            yield [
                f"{name} ({figures['n_classes']}), {run}",
                f"{100 * figures['accuracy']:.1f}",
                *("-" if figures[k] is None else f"{100 * figures[k]:.1f}" for k in shares),
                f"{100 * figures['ece1']:.1f}",
                *(f"{100 * right:.1f}" for right in figures["answered"].values()),
            ]


def write_page():
    found = _runner.kept("calibration")
    header = "data, calibration | ECE@5 | of raw | ECE@1 | fit s"
    best = "data (classes), calibration | right | mean p | largest | above 80 | right | ECE@1 | "
    best += " | ".join(f"right of {share:.0%}" for share in COVERAGES)
    _runner.write_page(
        "calibration",
        "# Calibration",
        _runner.source("calibration"),
        "Expected calibration error on the test parts, in percent, in 15 bins of equal width, of "
        "the 5 best labels of each row and of the best; *of raw* is the ratio to the error "
        "without calibration. The number behind the method is `calibration_cv` or `cv`. "
        "Seconds count the whole fit, on two threads of a machine that was busy with other "
        "work.",
        draw(found),
        "## Labels",
        "PPDSparseClassifier on the indicator. *raw* is the logistic function of the scores.\n\n"
        + _common.table(header, list(rows_of(found, "labels"))),
        "## Classes",
        "The first label of each row is its class; *raw* is the softmax of the 100 best scores.\n\n"
        + _common.table(header, list(rows_of(found, "classes"))),
        "## The best class of rows to come",
        "PPDSparseClassifier; a fifth of the rows, drawn at random as scikit-learn's "
        "`train_test_split` does, are new. In per cent: the rows whose best class is right, the "
        "mean and the largest probability of the best class, the rows with one above 80 and how "
        "many of these are right, the calibration error, and how many of the surest 20, 40 and 60 "
        "per cent of the rows are right. Classes are counted in the training rows.\n\n"
        + _common.table(best, list(rows_of_best(found))),
    )


def draw(found):
    text = "Reliability of the five best labels"
    found = {name: runs for name, runs in found.items() if "labels" in runs}
    if any("curve" not in run for runs in found.values() for run in runs["labels"].values()):
        return f"![{text}](/images/{PICTURE}.png)"  # the picture of figures without curves stays
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
    sets = [*DATA_SETS, *BEST_SETS]
    parts = ["labels", "classes", "best"]
    options = _runner.parser(__doc__, data=sets, parts=parts).parse_args()
    for name in [] if options.report else options.data:
        measure(name, options.part)
    write_page()


if __name__ == "__main__":
    main()
