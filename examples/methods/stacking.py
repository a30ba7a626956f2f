"""
A learned stack: who is right about which labels
================================================

One-vs-rest is good at labels with many samples, nearest samples and names at labels with few.
:class:`~sklearn_xc.TopKStackingClassifier` learns on held-out samples which of them to believe.
"""

# %%
# Which object does a sentence of its documentation describe? A tenth of the objects has no sentence
# in training, and is known by its name only.

import os
import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier, TopKStackingClassifier
from sklearn_xc.datasets import load_docstrings

ROWS = int(os.environ.get("ROWS", 6000))

docs = load_docstrings(["stdlib"])
rng = np.random.default_rng(0)
hidden = rng.random(len(docs.target_names)) < 0.1
kept = np.flatnonzero(~hidden[docs.target_train])
kept = np.sort(rng.permutation(kept)[:ROWS])
passages, y = [docs.data_train[i] for i in kept], docs.target_names[docs.target_train[kept]]
y_asked = docs.target_names[docs.target_test]

texts = [re.sub(r"[._]", " ", name) for name in docs.target_names]
words = TfidfVectorizer(sublinear_tf=True).fit([*passages, *texts])
X, X_asked, T = (words.transform(part) for part in (passages, docs.data_test, texts))

# %%
# Parts are any classifiers with ``predict_topk``; these are two of the default parts.
# ``label_features`` go to each part whose fit takes them.

parts = [
    ("one-vs-rest", PPDSparseClassifier(random_state=0)),
    ("nearest rows", TopKNeighborsClassifier(random_state=0)),
]
stack = TopKStackingClassifier(parts, random_state=0)
stack.fit(X, y, label_features=T, classes=docs.target_names)
for name, score in stack.validation_scores_.items():
    print(f"{name:14}{100 * score:5.1f} nDCG@5 on held-out rows")

# %%
# How often is the right object among the five best, by how many sentences it has?

import matplotlib.pyplot as plt

n_rows = dict(zip(*np.unique(y, return_counts=True), strict=True))
counts = np.array([n_rows.get(name, 0) for name in y_asked])
groups = {"none": (0, 0), "1 to 4": (1, 4), "5 and more": (5, np.inf)}
answers = dict(stack.estimators_) | {"stack": stack}
figure, ax = plt.subplots()
colours = dict(zip(["one-vs-rest", "nearest rows", "stack"], ["0.4", "C1", "C0"], strict=True))
for place, (name, model) in enumerate(answers.items()):
    best, _ = model.predict_topk(X_asked, k=5)
    found = (best == y_asked[:, None]).any(axis=1)
    shares = [100 * found[(counts >= a) & (counts <= b)].mean() for a, b in groups.values()]
    print(f"{name:14}" + " ".join(f"{share:5.1f} %" for share in shares))
    ax.bar(np.arange(3) + 0.27 * (place - 1), shares, 0.27, color=colours[name], label=name)
ax.set_xticks(range(3), groups)
ax.set_xlabel("sentences of the object in training")
ax.set_ylabel("right object among five best (%)")
ax.legend(loc="upper left")
plt.show()

# %%
# ``explain`` says what each part adds to the log-odds of an answer, and each part why.

(why,) = stack.explain(X_asked[[0]], k=3)
print(docs.data_test[0])
print(why)
for name, reasons in why.parts.items():
    print(f"{name}: {reasons}")
