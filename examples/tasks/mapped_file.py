"""
Serving from a mapped file
==========================

A server should start at once, and its worker processes should share one copy of the model.
A file that is mapped instead of read does both. ``serve.py`` is a whole HTTP service made of
this.
"""

# %%
# This model finds a function by a description: every function, class and method of the packages
# is a class, and the passages of its documentation are the samples.

import os

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy,stdlib").split(",")  # more: "scipy,sklearn"

docs = load_docstrings(PACKAGES)
y = docs.target_names[docs.target_train]
words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, y)
print(f"{len(model.classes_)} classes, {X.shape[1]} words and pairs of words")

# %%
# The file holds the arrays as they are used, with a checksum, and nothing that could be executed.
# A file with float16 weights is smaller, and the best labels are nearly always the same.

import tempfile
from pathlib import Path

from sklearn_xc import save

folder = tempfile.TemporaryDirectory()
paths = {name: Path(folder.name) / f"{name}.sxc" for name in ("float32", "float16")}
for name, path in paths.items():
    save(model, path, dtype=name)
    print(f"{name}: {path.stat().st_size / 1e6:.1f} MB")

# %%
# Opened in both ways. Mapped, nothing is read before it is used, and the processes that map the
# same file share its pages.

import time

from sklearn_xc import load

for mode in (None, "r"):
    start = time.perf_counter()
    served = load(paths["float32"], mmap_mode=mode)
    print(f"mmap_mode={mode!r}: {1e3 * (time.perf_counter() - start):.1f} ms")

# %%
# A request is a single text. :func:`~sklearn_xc.topk_predictor` checks the model once and answers
# often.

from sklearn_xc import topk_predictor

best_five = topk_predictor(served, k=5)
milliseconds = []
for i in range(min(300, X_test.shape[0])):
    start = time.perf_counter()
    labels, scores = best_five(X_test[i])
    milliseconds.append(1e3 * (time.perf_counter() - start))
print(f"{docs.data_test[i]}\n    {', '.join(labels[0])}")
print(
    f"median {np.median(milliseconds):.2f} ms, one in a hundred over "
    f"{np.quantile(milliseconds, 0.99):.2f} ms"
)

# %%
# The first answers read the pages that they need; later ones find them in memory.

import matplotlib.pyplot as plt

plt.plot(np.arange(1, len(milliseconds) + 1), milliseconds, ".", color="C0")
plt.yscale("log")
plt.gca().yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
plt.gca().yaxis.set_major_formatter("{x:g}")
plt.gca().yaxis.set_minor_locator(plt.NullLocator())
plt.xlabel("request (number)")
plt.ylabel("time to answer (ms)")
plt.show()

# %%
# Half precision changes few answers.

small = load(paths["float16"], mmap_mode="r")
same = small.predict_topk(X_test, k=1)[0] == model.predict_topk(X_test, k=1)[0]
print(f"the best class is the same for {same.mean():.1%} of {len(same)} texts")
folder.cleanup()
