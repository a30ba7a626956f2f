"""Five gradients for a large output layer, and a map of what it learns.

Trains a hidden layer and label embeddings on passages of documentation with the gradients of
LDGSClassifier; draws accuracy against time for each, and the embeddings of the objects of some
modules, projected on the plane.

    python examples/ldgs.py
    python examples/ldgs.py --sample 300 --passes 3 --output map.png
"""

import time

import numpy as np
from _passages import load, parse_options, passages, pyplot
from sklearn.manifold import TSNE

from sklearn_xc import LDGSClassifier

HIDDEN = 64
PASSES = 12
RUNS = {
    "exact softmax": {"gradient": "exact"},
    "exact margin": {"gradient": "exact", "loss": "margin"},
    "sampled": {"gradient": "sampled"},
    "MIPS": {"gradient": "mips", "loss": "margin"},
    "decomposed": {"gradient": "decomposed", "loss": "margin"},
}
N_MODULES, N_NAMES = 5, 45


def main():
    options = parse_options(__doc__, "ldgs.png")
    X, y, X_test, y_test = load(options.sample)
    classes = np.unique(y)
    print(f"\n{'':16}seconds   classes scored   accuracy")
    curves, model = {}, None
    for title, changes in RUNS.items():
        model = LDGSClassifier(hidden_dim=HIDDEN, decay=0.9, random_state=0, **changes)
        seconds, points = 0.0, []
        for _ in range(options.passes or PASSES):
            start = time.perf_counter()
            model.partial_fit(X, y, classes)
            seconds += time.perf_counter() - start
            points.append((seconds, model.score(X_test, y_test)))
        print(f"{title:16}{seconds:7.1f}{model.n_scored_:17.0f}{points[-1][1]:11.3f}")
        curves[title] = points
    names = np.array(passages(options.sample).target_names)[classes]
    save_picture(options.output, curves, model, names)


def save_picture(path, curves, model, names):
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 6), layout="constrained", width_ratios=[2, 3]
    )
    for title, points in curves.items():
        left.plot(*zip(*points, strict=True), ".-", label=title)
    left.set(xlabel="seconds of training", ylabel="test accuracy", xscale="log")
    left.grid(alpha=0.3)
    left.legend()
    draw_map(right, model.coef_, names)
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


def draw_map(axes, embeddings, names):
    """The objects of the largest modules; neighbours on the plane are neighbours in the space."""
    modules = np.array([name.rpartition(".")[0] for name in names])
    found, counts = np.unique(modules, return_counts=True)
    largest = found[np.argsort(-counts, kind="stable")[:N_MODULES]]
    shown = np.flatnonzero(np.isin(modules, largest))
    vectors = embeddings[shown]
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    perplexity = min(15, (len(shown) - 1) / 3)
    plane = TSNE(init="random", perplexity=perplexity, random_state=0).fit_transform(vectors)
    for module in largest:
        inside = modules[shown] == module
        axes.scatter(*plane[inside].T, s=9, label=module)
    some = np.random.default_rng(0).permutation(len(shown))[:N_NAMES]
    for i in some:
        axes.annotate(names[shown[i]].rpartition(".")[2], plane[i], fontsize=7)
    axes.set(xticks=[], yticks=[], title="label embeddings")
    axes.legend(fontsize=8, markerscale=2)


if __name__ == "__main__":
    main()
