"""Draws doc/images/inverted_index.png: which classes use the frequent features, and what is stored.

python doc/draw_inverted_index.py
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings
from sklearn_xc.topk._layout import Layout

DOC = Path(__file__).resolve().parent
N_FEATURES = 40  # shown, the most frequent ones
N_BINS = 40  # of classes
BLUE, ORANGE = "#0072B2", "#E69F00"


def shares(used, order):
    """The share of each bin of classes, in an order, that use each feature."""
    parts = np.array_split(used[order], N_BINS)
    return np.array([part.mean(axis=0) for part in parts]).T


def density(axes, used, order, title, label):
    image = axes.imshow(
        100 * shares(used, order),
        aspect="auto",
        vmin=0,
        vmax=100,
        cmap="Blues",
        extent=(0, len(order), N_FEATURES, 0),
    )
    axes.set(title=title, xlabel=label, ylabel="feature, the most frequent first")
    return image


def stored(axes, stops, lengths, n_classes):
    """Where a feature has its weights stored, and how many classes its list names."""
    places = np.arange(N_FEATURES) + 0.5
    axes.barh(places, stops, height=1, color=BLUE, label="weights stored")
    axes.barh(places, lengths, left=stops, height=1, color=ORANGE, label="named by the list")
    axes.set(title="What is stored", xlabel="classes", xlim=(0, n_classes), ylim=(N_FEATURES, 0))
    axes.legend(loc="lower right", fontsize=8)


def main():
    docs = load_docstrings()
    X = TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(docs.data_train)
    coef = PPDSparseClassifier(random_state=0).fit(X, docs.target_train).coef_.tocsr()
    layout = Layout.of(coef)
    frequent = np.argsort(-np.bincount(coef.indices, minlength=coef.shape[1]))[:N_FEATURES]
    used, stops = coef[:, frequent].toarray() != 0, layout.stops[frequent]
    listed = np.array([used[layout.order[s:], f].sum() for f, s in enumerate(stops)])
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    density(axes[0], used, np.arange(len(used)), "By label", "class")
    image = density(axes[1], used, layout.order, "By rank", "class, those of many weights first")
    figure.colorbar(image, ax=axes[1], label="classes that use it, %")
    stored(axes[2], stops, listed, len(used))
    figure.savefig(DOC / "images" / "inverted_index.png", dpi=80)
    print(
        f"doc/images/inverted_index.png: {len(used):,} classes, {(layout.stops > 0).sum()} features"
        f" with stored weights, {layout.stops.sum():,} of them; {coef.nnz:,} weights in all"
    )


if __name__ == "__main__":
    main()
