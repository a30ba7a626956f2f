"""
MEMOIR: how much recall does a search need?
===========================================

A multiclass support vector machine steps on the class that violates the margin most. An index
finds it among few candidates, but not always; Belyy and Sholokhov (2018) show that a part of the
recall is enough. Here is the accuracy against the recall.
"""

# %%
# Passages of documentation, reduced to 128 dense dimensions: the kind of rows that indexes are
# made for.

import os

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES, min_passages=6)
words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
y, y_test = docs.target_train, docs.target_test
print(f"N = {X.shape[0]} passages, D = {X.shape[1]} words, K = {len(docs.target_names)} objects")

svd = TruncatedSVD(min(128, X.shape[1] - 1), random_state=0).fit(X)
X, X_test = (normalize(svd.transform(part)).astype(np.float32) for part in (X, X_test))

# %%
# Exact search, and symmetric hashing with codes of several lengths. Longer codes find more.

import time
import warnings

from sklearn_xc import MemoirSVC

PASSES = int(os.environ.get("PASSES", 3))
runs = {"exact": {"search": "exact"}}
for n_bits in (64, 256, 512):
    runs[f"{n_bits} bits"] = {
        "search": "lsh",
        "search_params": {"n_bits": n_bits, "min_recall": 0.0},
    }
found = []
print(f"{'':10}seconds   recall   classes scored   accuracy")
for name, parameters in runs.items():
    model = MemoirSVC(**parameters, max_iter=PASSES, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():  # an index that falls short says so; the table shows it
        warnings.simplefilter("ignore", RuntimeWarning)
        model.fit(X, y)
    seconds, accuracy = time.perf_counter() - start, model.score(X_test, y_test)
    print(f"{name:10}{seconds:7.1f}{model.recall_:9.2f}{model.n_scored_:17.0f}{accuracy:11.3f}")
    found.append((model.recall_, accuracy))

# %%
# A search that finds half of the ten best classes costs about a tenth of the accuracy; one that
# finds nine in ten costs nothing here. With a few hundred classes exact search is faster as well:
# an index pays from some ten thousand classes on (:doc:`/development/memoir_method`).

import matplotlib.pyplot as plt

recall, accuracy = zip(*found[1:], strict=True)
plt.axhline(found[0][1], color="0.4", linestyle=":", label="exact search")
plt.plot(recall, accuracy, "o-", color="C0", label="hashing")
plt.xlabel("recall of the ten best classes (share)")
plt.ylabel("accuracy on new passages (share)")
plt.ylim(bottom=0)
plt.legend(loc="lower right")
plt.show()
