"""
Thresholds: from scores to sets of labels
=========================================

Which labels should a text get? ``predict`` takes the labels with a score above zero, and with
many rare labels there is often none. A threshold chosen for the measure that counts does better.
"""

# %%
# The texts are passages of Python's documentation. Their tags are the words in the name of the
# object that a passage describes: ``http.cookies.CookieError`` has the tags ``http``, ``cookies``
# and ``cookieerror``.

import os
import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "stdlib").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)


def tags_of(targets):
    names = docs.target_names[targets].tolist()
    return [sorted(set(re.findall("[a-z]{3,}", name.lower()))) for name in names]


tags = MultiLabelBinarizer(sparse_output=True)
Y = tags.fit_transform(tags_of(docs.target_train))
Y_test = tags.transform(tags_of(docs.target_test))
model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
empty = (model.predict(X_test).sum(axis=1) == 0).mean()
print(
    f"{X.shape[0]} passages, {Y.shape[1]} tags; at threshold zero {empty:.0%} of new ones get none"
)

# %%
# :class:`~sklearn_xc.TopKThresholdClassifier` tunes one threshold on out-of-fold scores, for the
# measure that is given. F measures weigh passages and tags differently, and each has its own best
# threshold.

from sklearn.metrics import f1_score

from sklearn_xc import TopKThresholdClassifier

MEASURES = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}


def values(prediction):
    return [f1_score(Y_test, prediction, average=a, zero_division=0) for a in MEASURES.values()]


tuned, wrappers = {}, {}
print(f"{'':24}" + "".join(f"{name:>12}" for name in MEASURES))
print(f"{'score > 0':24}" + "".join(f"{value:12.3f}" for value in values(model.predict(X_test))))
for name in MEASURES:
    wrapper = TopKThresholdClassifier(metric=name, max_labels=20, cv=3, n_jobs=2).fit(X, Y)
    tuned[name], wrappers[name] = wrapper.best_threshold_, wrapper
    title = f"{name}, {tuned[name]:.3f}"
    print(f"{title:24}" + "".join(f"{v:12.3f}" for v in values(wrapper.predict(X_test))))

# %%
# Compare the tags of some new passages before and after.

before = tags.inverse_transform(model.predict(X_test))
after = tags.inverse_transform(wrappers["micro_f1"].predict(X_test))
changed = [place for place in range(len(before)) if len(after[place]) > len(before[place])]
for place in changed[:: len(changed) // 4 + 1]:
    print(f"{docs.target_names[place]}: {', '.join(before[place]) or 'none'}")
    print(f"    after tuning {', '.join(after[place])}")

# %%
# All thresholds, on the new passages. Dashed lines are the ones that were tuned, without these
# passages; the dotted one is zero.

import matplotlib.pyplot as plt

scores = model.predict_topk(X_test, k=20, sparse_output=True)


def above(threshold):
    found = scores.copy()
    found.data = (scores.data > threshold).astype(np.int8)
    found.eliminate_zeros()
    return found


thresholds = np.linspace(-1.2, 0.6, 19)
curves = np.array([values(above(threshold)) for threshold in thresholds])
for curve, name, colour in zip(curves.T, MEASURES, ("C0", "C1", "C2"), strict=True):
    plt.plot(thresholds, curve, color=colour, label=name)
    plt.axvline(tuned[name], color=colour, linestyle="--", linewidth=1)
plt.axvline(0, color="0.4", linestyle=":")
plt.xlabel("threshold of the score")
plt.ylabel("F measure on new passages")
plt.ylim(bottom=0)
plt.legend()
plt.show()
