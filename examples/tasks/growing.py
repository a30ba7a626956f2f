"""
Growing and shrinking a fitted model
====================================

New labels come up after a model was fitted, and old ones are many megabytes. ``add_labels``
trains the new ones alone, ``prune`` drops weights that hardly matter.
"""

# %%
# A model of nine tenths of the objects first.

import os
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
y, y_test = docs.target_train, docs.target_test
first = y < 0.9 * len(docs.target_names)

model = PPDSparseClassifier(l1=0.01, pruning=0.0, n_jobs=2, random_state=0)
start = time.perf_counter()
model.fit(X[first], y[first])
print(f"{len(model.classes_)} objects in {time.perf_counter() - start:.2f} s")

# %%
# Then the others. The classes that were there are not trained again.

before = len(model.classes_)
start = time.perf_counter()
model.add_labels(X, y)
print(f"{len(model.classes_) - before} more in {time.perf_counter() - start:.2f} s")

# %%
# Shrink it step by step, and measure the loss.

from sklearn_xc.metrics import top_k_accuracy

found = []
print("threshold  non-zeros      MB   best 1   best 5")
for threshold in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6):
    model.prune(threshold)
    labels, _ = model.predict_topk(X_test, 5)
    best, five = (top_k_accuracy(y_test, labels, k=k) for k in (1, 5))
    megabytes = model.nbytes_ / 1e6
    print(f"{threshold:<9g}{model.coef_.nnz:11d}{megabytes:8.2f}{best:9.3f}{five:9.3f}")
    found.append((threshold, megabytes, best, five))

# %%
# The numbers are the thresholds. Weights below 0.05 can go without loss.

import matplotlib.pyplot as plt

thresholds, sizes, best, five = zip(*found, strict=True)
plt.plot(sizes, five, "s-", color="C1", label="right answer among the best five")
plt.plot(sizes, best, "o-", color="C0", label="best answer right")
for threshold, size, height in zip(thresholds, sizes, best, strict=True):
    plt.annotate(
        f"{threshold:g}", (size, height), (0, -14), textcoords="offset points", ha="center"
    )
plt.xscale("log")
plt.gca().xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
plt.gca().xaxis.set_major_formatter("{x:g}")
plt.gca().xaxis.set_minor_locator(plt.NullLocator())
plt.xlabel("size of the model (MB)")
plt.ylabel("held-out passages (share)")
plt.ylim(0, 1)
plt.legend(loc="upper left")
plt.show()
