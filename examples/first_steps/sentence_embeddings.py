"""
Embeddings: dense rows and many classes
=======================================

Language models turn texts into rows of some hundred numbers. A classifier on these rows is
trained in seconds, and takes new classes without the language model being touched.
``embeddings.py`` does the same as a program, for rows of your own.
"""

# %%
# A truncated SVD of TF-IDF with 128 directions replaces a sentence encoder here. With an encoder
# this would be ``X = encoder.encode(texts)``.

import os

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES, min_passages=6)
words = TfidfVectorizer(min_df=2, sublinear_tf=True)
encoder = make_pipeline(words, TruncatedSVD(128, random_state=0), Normalizer())
X = encoder.fit_transform(docs.data_train).astype(np.float32)
X_test = encoder.transform(docs.data_test).astype(np.float32)
y, y_test = docs.target_train, docs.target_test
print(f"{X.shape[0]} rows of {X.shape[1]} numbers, {len(docs.target_names)} classes")

# %%
# Compare one-vs-rest and a softmax with the usual first try on embeddings, the nearest
# neighbours.

import time

from sklearn.neighbors import KNeighborsClassifier

from sklearn_xc import ImplicitSoftmaxRegressor, PPDSparseClassifier

models = {
    "one-vs-rest": PPDSparseClassifier(n_jobs=2, random_state=0),
    "softmax": ImplicitSoftmaxRegressor(n_jobs=2, random_state=0),
    "nearest neighbours": KNeighborsClassifier(10, weights="distance"),
}
answers = {}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(X, y)
    if hasattr(model, "predict_topk"):
        answers[name], _ = model.predict_topk(X_test, k=10)
    else:
        answers[name] = np.argsort(-model.predict_proba(X_test), axis=1, kind="stable")[:, :10]
    print(f"{name:20}{time.perf_counter() - start:6.1f} s")

# %%
# How far down the list is the right class?

import matplotlib.pyplot as plt

from sklearn_xc.metrics import top_k_accuracy

colours = {"one-vs-rest": "C0", "softmax": "C1", "nearest neighbours": "0.4"}
for name, found in answers.items():
    shares = [top_k_accuracy(y_test, found, k=k) for k in range(1, 11)]
    plt.plot(range(1, 11), shares, "o-", color=colours[name], label=name)
plt.xlabel("answers looked at")
plt.ylabel("right class is among them (share)")
plt.ylim(0, 1)
plt.legend(loc="upper left")
plt.show()
