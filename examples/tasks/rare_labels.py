"""
Rare labels: folds that do not lose them
========================================

Most labels of a large vocabulary have two or three positives. A random split easily puts all of
them into the test part, and a label that was never seen cannot be predicted. The splitters of
:mod:`sklearn_xc.model_selection` keep every label in training.
"""

# %%
# The samples are the functions and classes of installed packages. Their labels are the words in
# their names, as in ``http.cookies.CookieError``; a word of one name only is left out. Four
# splitters make five folds of them.

import os
import re
import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_xc.datasets import load_docstrings
from sklearn_xc.model_selection import IterativeStratifiedKFold, RareLabelKFold

PACKAGES = os.environ.get("PACKAGES", "numpy,stdlib").split(",")  # more: "scipy,sklearn"

names = load_docstrings(PACKAGES, min_passages=2).target_names
words = [sorted(set(re.findall("[a-z]{3,}", name.lower()))) for name in names.tolist()]
tags = MultiLabelBinarizer(sparse_output=True)
Y = tags.fit_transform(words)
several = np.flatnonzero(Y.sum(axis=0) > 1)
Y, tag_names = sparse.csr_matrix(Y[:, several]), tags.classes_[several]
total = np.bincount(Y.indices, minlength=Y.shape[1])
print(f"{Y.shape[0]} samples, {Y.shape[1]} labels, {(total == 2).sum()} of two samples")

# scikit-learn can stratify by whole sets of labels only
sets = [tuple(sorted(row)) for row in np.split(Y.indices, Y.indptr[1:-1])]
numbers = {labels: number for number, labels in enumerate(dict.fromkeys(sets))}
powerset = np.array([numbers[labels] for labels in sets])

options = {"n_splits": 5, "shuffle": True, "random_state": 0}
splitters = {
    "KFold": (KFold(**options), Y),
    "StratifiedKFold on sets": (StratifiedKFold(**options), powerset),
    "RareLabelKFold": (RareLabelKFold(**options), Y),
    "IterativeStratifiedKFold": (IterativeStratifiedKFold(**options), Y),
}

# %%
# For every fold, the positives of each label are counted. A label is missing from a training part
# if all its positives are in that fold. :class:`~sklearn_xc.model_selection.RareLabelKFold` tests
# fewer samples: samples with the last positive of a label stay in training in all folds.

found = {}
print(f"{'':26}samples tested   labels missing")
for name, (splitter, y) in splitters.items():
    with warnings.catch_warnings():  # StratifiedKFold says that most sets are rarer than folds
        warnings.simplefilter("ignore", UserWarning)
        tests = [test for _, test in splitter.split(np.zeros((Y.shape[0], 1)), y)]
    counts = np.array([np.bincount(Y[test].indices, minlength=Y.shape[1]) for test in tests])
    missing = (counts == total).any(axis=0) & (total > 0)
    print(f"{name:26}{sum(map(len, tests)):14d}{missing.sum():17d}")
    found[name] = missing, counts
print("missing by KFold:", ", ".join(tag_names[found["KFold"][0]][:10].tolist()), "...")

# %%
# Left: which labels are lost. Right: how evenly the positives are spread over the folds.

from itertools import pairwise

import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
colours = {"KFold": "C3", "StratifiedKFold on sets": "0.4"}
colours |= {"RareLabelKFold": "C0", "IterativeStratifiedKFold": "C1"}
few = np.arange(1, 8)
ranges = np.unique(np.geomspace(2, total.max() + 1, 12).astype(int))
for place, (name, (missing, counts)) in enumerate(found.items()):
    share = [100 * missing[total == n].mean() if (total == n).any() else 0 for n in few]
    left.bar(few + 0.2 * (place - 1.5), share, 0.2, color=colours[name], label=name)
    groups = [(low, (total >= low) & (total < high)) for low, high in pairwise(ranges)]
    points = [(low, np.ptp(counts, axis=0)[group].mean()) for low, group in groups if group.any()]
    right.plot(*zip(*points, strict=True), "o-", color=colours[name])
left.set(xlabel="positives of a label", ylabel="labels missing from a training part (%)")
left.legend()
right.set(xlabel="positives of a label, at least", xscale="log")
right.xaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
right.xaxis.set_major_formatter("{x:g}")
right.xaxis.set_minor_locator(plt.NullLocator())
right.set_ylabel("most minus fewest positives in a fold")
plt.show()
