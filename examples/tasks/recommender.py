"""
A recommender: what comes next in a sequence
============================================

Visitors look at one item after the other; which will be the next? It is a problem of
classification with a class for every item: the sample is the history, the label the next item.
Here the "visitors" are functions of scikit-learn, and the "items" are the functions that they
call.
"""

# %%
# Sequences
# ---------
# The source of the packages is parsed, and the names that a function calls are listed in their
# order.

import ast
import os
from collections import Counter
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

PACKAGES = os.environ.get("PACKAGES", "sklearn").split(",")  # more: "sklearn,scipy,numpy"


class Calls(ast.NodeVisitor):
    """The names called in a function, arguments before the call that they belong to."""

    def __init__(self):
        self.names = []

    def visit_Call(self, node):
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name:
            self.names.append(name)


def sequences_of(package):
    for folder in find_spec(package).submodule_search_locations:
        for path in sorted(Path(folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.FunctionDef):
                    calls = Calls()
                    calls.visit(node)
                    yield [name for name, _ in groupby(calls.names)]  # repeats in a row are one


sequences = [names for package in PACKAGES for names in sequences_of(package)]
counts = Counter(name for names in sequences for name in set(names))
items = sorted(name for name, n in counts.items() if n >= 5)
number = {name: i for i, name in enumerate(items)}
sequences = [[number[name] for name in names if name in number] for names in sequences]
sequences = [names[:50] for names in sequences if len(names) >= 3]
print(f"{len(sequences)} sequences, {len(items)} items")

# %%
# Rows
# ----
# A row holds the items seen so far, and recent ones weigh more. The last step of every tenth
# sequence is kept for the test, and nothing else of that sequence is trained on.

import numpy as np
from scipy import sparse


def rows_of(histories, decay=0.8):
    """A row for each history; the last item once more in columns of its own."""
    data, columns, starts = [], [], [0]
    for history in histories:
        recent = history[::-1][:10]
        data += [decay**age for age in range(len(recent))] + [1.0]
        columns += recent + [len(items) + recent[0]]
        starts.append(len(data))
    shape = len(histories), 2 * len(items)
    X = sparse.csr_matrix((np.float32(data), columns, starts), shape=shape)
    X.sum_duplicates()
    return X


train = [names for i, names in enumerate(sequences) if i % 10]
test = [names for i, names in enumerate(sequences) if i % 10 == 0]
steps = [(names[:end], names[end]) for names in train for end in range(1, len(names))]
X, y = rows_of([history for history, _ in steps]), np.array([item for _, item in steps])
X_test, y_test = rows_of([names[:-1] for names in test]), np.array([names[-1] for names in test])
print(f"{X.shape[0]} steps to learn from, {len(y_test)} to predict")

# %%
# A model and two rules of thumb
# ------------------------------
# The rules: what is called most, and what most often followed the last item. The softmax keeps a
# weight for each pair of an item and a column. For a catalogue of tens of thousands of items take
# ``PPDSparseClassifier``, which keeps only weights that are not zero.

from sklearn_xc import ImplicitSoftmaxRegressor

model = ImplicitSoftmaxRegressor(max_iter=5, n_jobs=2, random_state=0).fit(X, y)
answers = {"softmax": model.predict_topk(X_test, k=20)[0]}

popular = np.bincount(y, minlength=len(items))
answers["most popular"] = np.tile(np.argsort(-popular, kind="stable")[:20], (len(y_test), 1))

last = np.array([history[-1] for history, _ in steps])
follows = sparse.csr_matrix((np.ones(len(y)), (last, y)), shape=(len(items), len(items)))
scores = follows[[names[-2] for names in test]].toarray() + popular / popular.sum()
answers["follows the last item"] = np.argsort(-scores, axis=1, kind="stable")[:, :20]

# %%
# How often is the item that came next among those recommended?

import matplotlib.pyplot as plt

from sklearn_xc.metrics import top_k_accuracy

numbers = [1, 2, 3, 5, 10, 20]
lines = {
    "softmax": {"color": "C0", "marker": "o"},
    "follows the last item": {"color": "C1", "marker": "s"},
    "most popular": {"color": "0.4", "marker": "^", "linestyle": "--"},
}
for name, line in lines.items():
    hits = [top_k_accuracy(y_test, answers[name], k=k) for k in numbers]
    print(f"{name:22} {hits[3]:.3f} among five")
    plt.plot(numbers, hits, **line, label=name)
plt.xscale("log")
plt.xticks(numbers, numbers)
plt.minorticks_off()
plt.xlabel("items recommended")
plt.ylabel("next item is among them (share)")
plt.ylim(0, 1)
plt.legend()
plt.show()

# %%
# Seen items need not be recommended again: ``exclude`` takes the items to leave out, for each row
# its own.

history = [
    number[name] for name in ("check_array", "check_random_state", "zeros") if name in number
]
if history:
    best, _ = model.predict_topk(rows_of([history]), k=5, exclude=[history])
    print([items[i] for i in history], "->", [items[i] for i in best[0]])
