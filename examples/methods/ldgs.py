"""
LDGS: embeddings of labels, and a map of them
=============================================

A hidden layer and an embedding for every label, trained by steps that only look at the labels
whose gradient matters (Yen et al., ICML 2018). Accuracy against time for five kinds of step, and
a picture of the embeddings.
"""

# %%
# Passages of documentation; the object that a passage describes is its class.

import os

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
y, y_test = docs.target_train, docs.target_test
print(f"N = {X.shape[0]} passages, D = {X.shape[1]} words, K = {len(docs.target_names)} objects")

# %%
# The exact gradients score all classes for every sample, the others a few.

import time

from sklearn_xc import LDGSClassifier

PASSES = int(os.environ.get("PASSES", 8))
runs = {
    "exact softmax": {"gradient": "exact"},
    "exact margin": {"gradient": "exact", "loss": "margin"},
    "sampled softmax": {"gradient": "sampled"},
    "index, margin": {"gradient": "mips", "loss": "margin"},
    "decomposed, margin": {"gradient": "decomposed", "loss": "margin"},
}
curves = {}
print(f"{'':20}seconds   classes scored   accuracy")
for name, parameters in runs.items():
    model = LDGSClassifier(hidden_dim=64, decay=0.9, random_state=0, **parameters)
    seconds, points = 0.0, []
    for _ in range(PASSES):
        start = time.perf_counter()
        model.partial_fit(X, y, np.arange(len(docs.target_names)))
        seconds += time.perf_counter() - start
        points.append((seconds, model.score(X_test, y_test)))
    print(f"{name:20}{seconds:7.1f}{model.n_scored_:17.0f}{points[-1][1]:11.3f}")
    curves[name] = points

# %%
# With hundreds of classes all steps are cheap. The search saves more with more classes;
# :doc:`/development/ldgs_method` has figures for a million.

import matplotlib.pyplot as plt

colours = {"exact softmax": "0.4", "exact margin": "0.7", "sampled softmax": "C3"}
colours |= {"index, margin": "C1", "decomposed, margin": "C0"}
for name, points in curves.items():
    plt.plot(*zip(*points, strict=True), "o-", color=colours[name], label=name)
plt.xscale("log")
plt.gca().xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
plt.gca().xaxis.set_major_formatter("{x:g}")
plt.gca().xaxis.set_minor_locator(plt.NullLocator())
plt.xlabel("training time (s)")
plt.ylabel("accuracy on new passages (share)")
plt.ylim(bottom=0)
plt.legend()
plt.show()

# %%
# The label embeddings
# --------------------
# Objects of the five largest modules, projected on the plane by t-SNE. A dot whose name would
# cover another one has none.

from sklearn.manifold import TSNE

modules = np.array([name.rpartition(".")[0] for name in docs.target_names])
names, counts = np.unique(modules, return_counts=True)
largest = names[np.argsort(-counts, kind="stable")[:5]]
shown = np.flatnonzero(np.isin(modules, largest))
vectors = model.coef_[shown]
vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
perplexity = min(15, (len(shown) - 1) / 3)
tsne = TSNE(init="random", perplexity=perplexity, max_iter=500, random_state=0)
places = tsne.fit_transform(vectors)

figure, axes = plt.subplots(figsize=(9, 7))
for module in largest:
    axes.scatter(*places[modules[shown] == module].T, s=12, label=module)
axes.set(xticks=[], yticks=[])
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), markerscale=2)
figure.draw_without_rendering()
taken = []
for i in np.random.default_rng(0).permutation(len(shown)):
    name = docs.target_names[shown[i]].rpartition(".")[2]
    text = axes.annotate(name, places[i], (3, 2), textcoords="offset points", fontsize=8)
    box = text.get_window_extent().padded(6)
    if any(box.overlaps(other) for other in taken):
        text.remove()
    else:
        taken.append(box)
plt.show()
