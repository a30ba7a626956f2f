"""Probabilities over many classes: quality, seconds and memory of every model of both estimators.

    python benchmarks/softmax.py [--part table curves classes speed many crossing] [--data NAME ...]
                                 [--models NAME ...] [--scale 0.1] [--threads 1] [--retune]
                                 [--report]

Every fit runs in a process of its own, on two threads or `--threads`. Parameters are chosen on a
tenth of the training rows, held out, and kept for the next run. Figures are kept; the page
measurements/softmax.md is written from all of them.
"""

import argparse
import json
import subprocess
import sys
from functools import partial

import _common
import _runner
import _softmax_crossing as crossing
import _softmax_data as data
import _softmax_many as many
import _softmax_speed as speed
import numpy as np
from _softmax_models import (
    AR,
    AR_GRID,
    ARMS,
    AS_THEY_COME,
    BESIDE,
    CURVES,
    EPOCHS,
    FEW_CLASSES_ONLY,
    FINER,
    IMPLICIT,
    MOST_EPOCHS,
    RIDGE,
    RIDGE_RATES,
    SCALED_RATES,
    SCRIPT,
    SEEDS,
    SETS,
    THREADS,
    TITLES,
    WITHOUT_ARGUMENTS,
    estimator,
)
from _softmax_report import report


def load(name):
    """A data set, or as many of its most frequent classes: "oewn_hypernym-500"."""
    name, _, n_classes = name.partition("-")
    rows = data.load(name)
    return data.subset(rows, int(n_classes)) if n_classes else rows


def candidates(model, rows):
    """The parameters to choose from."""
    if model in IMPLICIT:
        square = rows.X.multiply(rows.X).sum() / rows.X.shape[0]
        free = [(rate, n, 0.0) for rate in SCALED_RATES for n in EPOCHS]
        with_ridge = [(rate, EPOCHS[-1], RIDGE) for rate in RIDGE_RATES]
        return [
            {"learning_rate": float(rate / square), "max_iter": n, "alpha": alpha}
            for rate, n, alpha in free + with_ridge
        ]
    if model == "ppdsparse":
        return [{}, {"l1": 0.02, "l2": 0.3}]
    if model == "logistic_regression":
        return [{"C": c} for c in (1.0, 10.0, 100.0)]
    return [{"alpha": a} for a in (1e-4, 1e-5, 1e-6)]


def choose(model, rows, scale):
    """The parameters with the best log-likelihood, or else accuracy, on rows held out."""
    if model in AS_THEY_COME:
        return {}
    if model in AR:
        return choose_by_curve(model, rows, scale)
    part = data.hold_out(rows)
    found = tried(model, part, candidates(model, rows), scale)
    best = max(found, key=lambda pair: pair[0])[1]
    if model in IMPLICIT:
        finer = [best | {"learning_rate": best["learning_rate"] * factor} for factor in FINER]
        found += tried(model, part, finer, 1)
    return max(found, key=lambda pair: pair[0])[1]


def tried(model, part, some, scale):
    """Pairs of a score on the rows held out and the parameters."""
    found = []
    for parameters in some:
        if "max_iter" in parameters:
            parameters["max_iter"] = max(1, round(parameters["max_iter"] * scale))
        try:
            fitted = estimator(model, **parameters).fit(part.X, part.y)
        except ValueError:  # left the range of float32
            continue
        score = data.evaluate(fitted, part)
        found.append((score.get("log_likelihood", score["accuracy@1"]), parameters))
    return found


def choose_by_curve(model, rows, scale):
    """The step size and the epoch with the best log-likelihood of the samples kept apart."""
    best, chosen = -np.inf, None
    for parameters in AR_GRID:
        epochs = max(1, round(MOST_EPOCHS * scale))
        trial = estimator(model, **parameters, early_stopping=True, max_iter=epochs, tol=1e-4)
        curve = -trial.fit(rows.X, rows.y).loss_curve_
        if curve.max() > best:
            best = curve.max()
            chosen = parameters | {"max_iter": int(curve.argmax()) + 1}
    return chosen


# --------------------------------------------------------------------------------- measuring


def kept_choice(name, model, scale):
    """The parameters chosen before for the same scale, or None."""
    kept = data.read("softmax_choice").get(f"{name}-{model}")
    return kept["parameters"] if kept and kept["scale"] == scale else None


def measure_choice(name, model, scale):
    """In a child of its own, so that the memory of these fits is not that of the next."""
    parameters = choose(model, load(name), scale)
    data.save("softmax_choice", f"{name}-{model}", parameters=parameters, scale=scale)
    print(json.dumps(parameters))


def measure_table(name, model, scale, threads):
    """In the child: fit all training rows, evaluate."""
    rows = load(name)
    data.release()
    parameters = kept_choice(name, model, scale)
    fresh = estimator(model, threads, **parameters)
    with _common.PeakMemory() as memory:
        seconds, fitted = _common.timed(fresh.fit, rows.X, rows.y)
    seconds = best_seconds(lambda: _common.timed(fresh.fit, rows.X, rows.y)[0], seconds)
    figures = {"parameters": parameters, "seconds": seconds, "memory_mb": memory.mb}
    figures["scale"] = scale
    if threads != THREADS:
        figures["threads"] = threads
    figures |= data.evaluate(fitted, rows)
    figures |= {"n": len(rows.y), "classes": rows.n_classes, "features": rows.X.shape[1]}
    figures |= {"evaluated": min(len(rows.y_test), data.EVALUATED)}
    figures["seen"] = float((rows.y_test >= 0).mean())
    data.save(SCRIPT, f"{name}-{model}", **figures)
    print(json.dumps(figures))


def best_seconds(fit_again, seconds):
    """The best of three where a fit is short and the first one pays for warming up."""
    return min([seconds, *(fit_again() for _ in range(2))]) if seconds < 1 else seconds


def measure_curve(name, model, scale):
    """In the child: fits of 1, 2, 4, ... epochs."""
    rows = load(name)
    parameters = kept_choice(name, model, scale)
    most = parameters["max_iter"]
    points = []
    for epochs in sorted({*(2**i for i in range(10) if 2**i < most), most}):
        fresh = estimator(model, **parameters | {"max_iter": epochs})
        seconds, fitted = _common.timed(fresh.fit, rows.X, rows.y)
        again = partial(_common.timed, fresh.fit, rows.X, rows.y)
        seconds = best_seconds(lambda again=again: again()[0], seconds)
        points.append({"epochs": epochs, "seconds": seconds} | data.evaluate(fitted, rows))
    data.save("softmax_curves", f"{name}-{model}", points=points)
    print(json.dumps(points[-1]))


CHILDREN = {"choice": measure_choice, "table": measure_table, "curves": measure_curve}


def run_seeds():
    """Implicit steps beside exact ones on the test rows of oewn_hypernym that no table has seen."""
    rows = load("oewn_hypernym")
    order = np.random.default_rng(data.SEED).permutation(len(rows.y_test))
    fresh = order[data.EVALUATED :]
    rows = rows._replace(X_test=rows.X_test[fresh], y_test=rows.y_test[fresh])
    for seed in range(SEEDS):
        for arm, (model, threads) in ARMS.items():
            fit = estimator(model, threads, **BESIDE[model]).set_params(random_state=seed).fit
            seconds, fitted = _common.timed(fit, rows.X, rows.y)
            figures = data.evaluate(fitted, rows, len(fresh)) | {"seconds": seconds}
            data.save("softmax_seeds", f"{arm}-{seed}", **figures, evaluated=len(fresh))
            print(seed, arm, figures, flush=True)
            del fit, fitted


def run_children(part, options):
    for name in options.data:
        for model in options.models:
            if model in FEW_CLASSES_ONLY and "-" not in name:
                continue
            if name in WITHOUT_ARGUMENTS and model not in (*AS_THEY_COME, "ppdsparse"):
                continue
            if part == "curves" and (model not in CURVES or name not in SETS or "-" in name):
                continue
            retune = options.retune and part == "table"
            if retune or kept_choice(name, model, options.scale) is None:
                run_child("choice", name, model, options)
            if kept_choice(name, model, options.scale) is not None:
                run_child(part, name, model, options)


def run_child(part, name, model, options):
    call = [sys.executable, __file__, "--child", part, "--data", name, "--models", model]
    call += ["--scale", str(options.scale), "--threads", str(options.threads)]
    outcome = subprocess.run(call, capture_output=True, text=True, check=False)
    lines = (outcome.stdout if outcome.returncode == 0 else outcome.stderr).splitlines()
    print(f"{part:6} {name:18} {model:20} {lines[-1] if lines else 'failed'}", flush=True)


def main():
    parts = ["table", "curves", "seeds", "classes", "speed", "many", "crossing"]
    parser = _runner.parser(__doc__, data=(), data_default=[], parts=parts)
    add = parser.add_argument
    add("--models", nargs="+", choices=list(TITLES), default=list(TITLES), metavar="NAME")
    add("--only", nargs="+", default=[], choices=list(many.MODELS), help="models of --part many")
    add("--scale", type=float, default=1.0, help="factor on epochs and rows, for a quick try")
    add("--classes", nargs="+", type=int, default=speed.CLASSES, help="K of the synthetic rows")
    add("--threads", type=int, default=THREADS, help="of the fits of the table")
    add("--retune", action="store_true", help="choose parameters anew")
    add("--child", choices=list(CHILDREN), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        threads = [options.threads] if options.child == "table" else []
        CHILDREN[options.child](options.data[0], options.models[0], options.scale, *threads)
        return
    if not options.report:
        if "many" in options.part:
            many.run(options.data or many.MANY, options.only)
        if "crossing" in options.part:
            crossing.run([n for n in options.classes if n in crossing.CLASSES])
        options.data = options.data or SETS + WITHOUT_ARGUMENTS
        for part in options.part:
            if part in ("table", "curves"):
                run_children(part, options)
        if "seeds" in options.part:
            run_seeds()
        if "classes" in options.part:
            speed.run_classes(options.classes)
        if "speed" in options.part:
            speed.run_speed(options.scale)
    report()


if __name__ == "__main__":
    main()
