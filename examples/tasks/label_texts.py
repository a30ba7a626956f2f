"""
Names of labels as further texts to train on
============================================

Labels have names, synonyms and descriptions. :class:`~sklearn_xc.LabelTextClassifier` reads them:
text goes in, names come out, and labels without a single sample are among the answers.
"""

# %%
# Which object does a sentence of its documentation describe? The sentences of a fifth of the
# objects are taken away from training.

import os
import re

import numpy as np

from sklearn_xc import LabelTextClassifier, PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

ROWS = int(os.environ.get("ROWS", 2500))

docs = load_docstrings(["stdlib"])
rng = np.random.default_rng(0)
hidden = rng.random(len(docs.target_names)) < 0.2
kept = np.flatnonzero(~hidden[docs.target_train])
kept = np.sort(rng.permutation(kept)[:ROWS])
passages, y = [docs.data_train[i] for i in kept], docs.target_names[docs.target_train[kept]]
asked, y_asked = docs.data_test, docs.target_names[docs.target_test]

# %%
# A label may have one text or a list of them. Here it is the name in words. Inside is one-vs-rest,
# which takes a few seconds; without a classifier it is a stack of several, which finds more of the
# objects without a passage in four times the time.

texts = {
    name: re.sub(r"[._]|(?<=[a-z])(?=[A-Z])", " ", name) for name in docs.target_names.tolist()
}
print(*next(iter(texts.items())), sep=": ")

one_vs_rest = PPDSparseClassifier(random_state=0)
without = LabelTextClassifier(one_vs_rest).fit(passages, y)
model = LabelTextClassifier(one_vs_rest, label_texts=texts).fit(passages, y)
print(f"{len(without.classes_)} objects with passages, {len(model.classes_)} with names")

# %%
# How often is the right object among the five best? The fewer passages an object has, the more its
# name gains.

import matplotlib.pyplot as plt

labels, counts = np.unique(y, return_counts=True)
of_label = dict(zip(labels.tolist(), counts.tolist(), strict=True))
n_passages = np.array([of_label.get(name, 0) for name in y_asked.tolist()])
bins = {"0": (0, 0), "1": (1, 1), "2": (2, 2), "3 or 4": (3, 4), "5 or more": (5, n_passages.max())}

figure, ax = plt.subplots()
for place, (title, one, colour) in enumerate(
    [("passages alone", without, "0.4"), ("passages and names", model, "C0")]
):
    best, _ = one.predict_topk(asked, k=5)
    found = (best == y_asked[:, None]).any(axis=1)
    shares = []
    for least, most in bins.values():
        there = (n_passages >= least) & (n_passages <= most)
        shares.append(100 * found[there].mean() if there.any() else 0)
    print(f"{title:18}" + "".join(f"{share:7.1f} %" for share in shares))
    ax.bar(np.arange(len(bins)) + 0.4 * (place - 0.5), shares, 0.4, color=colour, label=title)
ax.set_xticks(range(len(bins)), bins)
ax.set_xlabel("passages of the object in training")
ax.set_ylabel("right object among five best (%)")
ax.legend()
plt.show()

# %%
# Any classifier that takes ``label_features`` can be inside: here one that new labels join by their
# names alone, with nothing trained.

from sklearn_xc import TopKNeighborsClassifier

nearest = LabelTextClassifier(TopKNeighborsClassifier(random_state=0), label_texts=texts)
nearest.fit(passages, y)
nearest.add_labels({"our own": ["the function that we wrote ourselves", "our own function"]})
print(nearest.predict_topk(["our own function"], k=1)[0][0, 0])
