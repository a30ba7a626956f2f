"""Six ways to fit a softmax from a few classes a step.

Trains a softmax regression on passages of documentation by the six solvers that the paper of
ImplicitSoftmaxRegressor compares, each at the learning rate which the paper's protocol finds for it
on a part of the rows, and draws the training log-loss against the passes over the data.

    python examples/implicit_softmax.py
    python examples/implicit_softmax.py --sample 300 --output solvers.png
"""

import time
import warnings

from _passages import load, parse_options, pyplot
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import ImplicitSoftmaxRegressor

# solver, line, colour; solid lines are unbiased
SOLVERS = [
    ("implicit", "-", "tab:blue"),
    ("umax", "-", "tab:green"),
    ("sgd", "-", "tab:olive"),
    ("one_vs_each", "--", "tab:red"),
    ("nce", "--", "tab:orange"),
    ("importance", "--", "tab:purple"),
]
PASSES = 50


def main():
    options = parse_options(__doc__, "implicit_softmax.png")
    X, y, X_test, y_test = load(options.sample)
    print(f"\n{'':14}  rate   seconds   log-loss: training     test   accuracy")
    curves = []
    for solver, line, colour in SOLVERS:
        model = ImplicitSoftmaxRegressor(
            solver,
            compute_loss=True,
            alpha=0.0,
            sampling="uniform",
            decay=0.9,
            random_state=0,
            max_iter=options.passes or PASSES,
        )
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():  # plain steps may well end above their start
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
        except ValueError as error:  # a rate that went well on the part and not on the whole
            print(f"{solver:14}{error}")
            continue
        seconds = time.perf_counter() - start
        print(
            f"{solver:14}{model.learning_rate_:6g}{seconds:10.1f}{model.loss_curve_[-1]:21.3f}"
            f"{-model.log_likelihood(X_test, y_test):9.3f}{model.score(X_test, y_test):11.3f}"
        )
        label = f"{solver}, {model.learning_rate_:g}"
        curves.append((label, model.loss_curve_, line, colour))
    save_picture(options.output, curves, X.shape[0], X.shape[1], options.sample)


def save_picture(path, curves, n_samples, n_features, n_classes):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for label, losses, line, colour in curves:
        epochs = range(1, len(losses) + 1)
        width = 3.5 if label.startswith("umax") else 1.8  # vanilla steps may lie on top of it
        axes.plot(epochs, losses, line, color=colour, linewidth=width, label=label)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="epochs (passes over the data)", ylabel="training log-loss, nats a sample")
    axes.set_title(f"{n_classes} classes, {n_samples} samples, {n_features} features")
    title = "solver, rate\n(dashed: biased)"
    axes.legend(title=title, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
