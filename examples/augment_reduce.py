"""How fast and how tight are the bounds of Augment-and-Reduce?

Trains the softmax, the probit and the logistic model on passages of documentation, and the softmax
by the one-vs-each bound as well, and draws the bound (ELBO) of each against the seconds of
training. The log-likelihood of the exact softmax, which looks at all classes in every step, stands
beside them.

    python examples/augment_reduce.py
    python examples/augment_reduce.py --sample 300 --output bounds.png
"""

import time
import warnings

import numpy as np
from _passages import load, parse_options, pyplot
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import AugmentReduceClassifier

# name, parameters, line
MODELS = [
    ("softmax", {"bound": "augment_reduce"}, "-"),
    ("probit", {"model": "probit"}, "-"),
    ("logistic", {"model": "logistic"}, "-"),
    ("softmax, one-vs-each", {"bound": "one_vs_each"}, "-"),
    ("softmax, exact", {"bound": "exact"}, "--"),
]
# Seven passages an object are few steps: smaller mini-batches and a larger rate than published.
SETTINGS = {"batch_size": 100, "learning_rate": 0.2, "alpha": 0.0, "random_state": 0}
PASSES = 30


def main():
    options = parse_options(__doc__, "augment_reduce.png")
    X, y, X_test, y_test = load(options.sample)
    print(f"\n{'':22}seconds   bound   log-likelihood: training     test   accuracy")
    curves = []
    for name, parameters, line in MODELS:
        model = AugmentReduceClassifier(**parameters, **SETTINGS, max_iter=options.passes or PASSES)
        start = time.perf_counter()
        with warnings.catch_warnings():  # one pass over few rows may end below its start
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - start
        found = model.log_likelihood(X, y), model.log_likelihood(X_test, y_test)
        print(
            f"{name:22}{seconds:7.1f}{-model.loss_curve_[-1]:8.2f}{found[0]:26.2f}{found[1]:9.2f}"
            f"{model.score(X_test, y_test):11.3f}"
        )
        # every pass does the same work
        times = seconds * np.arange(1, model.n_iter_ + 1) / model.n_iter_
        label = f"{name} (\u2212{-found[1]:.2f})"
        curves.append((label, times, -model.loss_curve_, line))
    save_picture(options.output, curves, X.shape[0], X.shape[1], options.sample)


def save_picture(path, curves, n_samples, n_features, n_classes):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    colours = ["tab:blue", "tab:orange", "tab:green", "tab:red", "0.4"]
    for (label, seconds, bound, line), colour in zip(curves, colours, strict=True):
        axes.plot(seconds, -bound, line, color=colour, marker="o", markersize=3, label=label)
    # Bounds are negative and far apart: the logarithm of their size, higher being better.
    axes.set_yscale("log")
    axes.invert_yaxis()
    axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda size, _: f"\u2212{size:g}")
    axes.yaxis.set_minor_locator(plt.NullLocator())
    axes.set(xlabel="training time, seconds", ylabel="bound, nats a training sample (log scale)")
    axes.set_xlim(left=0)
    axes.set_title(f"{n_classes} classes, {n_samples} samples, {n_features} features")
    axes.legend(title="model (log-likelihood on held-out samples)", loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
