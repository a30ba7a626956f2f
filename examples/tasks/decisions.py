"""
Thresholds: from scores to sets of labels
=========================================

Which labels should a text get? ``predict`` takes those with a score above zero, and with many
rare labels that is often none. A threshold chosen for the measure that counts does better.
"""

# %%
# Texts of a generator, with some of 300 labels each; a third of them is kept for the end.

import os

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

ROWS = int(os.environ.get("ROWS", 3000))

X, Y = make_xc_classification(ROWS, 3000, 300, n_labels=2.5, signal=0.3, random_state=0)
n_train = ROWS * 2 // 3
X, Y, X_test, Y_test = X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]
model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
empty = (model.predict(X_test).sum(axis=1) == 0).mean()
print(
    f"{n_train} texts, {Y.shape[1]} labels; with threshold zero {empty:.0%} of new texts get none"
)

# %%
# :class:`~sklearn_xc.TopKThresholdClassifier` tunes one threshold on out-of-fold scores, for the
# measure that is given. F measures weigh texts and labels differently, and each has its own best
# threshold.

from sklearn.metrics import f1_score

from sklearn_xc import TopKThresholdClassifier

MEASURES = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}


def values(prediction):
    return [f1_score(Y_test, prediction, average=a, zero_division=0) for a in MEASURES.values()]


tuned = {}
print(f"{'':24}" + "".join(f"{name:>12}" for name in MEASURES))
print(f"{'score > 0':24}" + "".join(f"{value:12.3f}" for value in values(model.predict(X_test))))
for name in MEASURES:
    wrapper = TopKThresholdClassifier(metric=name, max_labels=20, cv=3, n_jobs=2).fit(X, Y)
    tuned[name] = wrapper.best_threshold_
    title = f"{name}, {tuned[name]:.3f}"
    print(f"{title:24}" + "".join(f"{v:12.3f}" for v in values(wrapper.predict(X_test))))

# %%
# All thresholds, on the new texts. Dashed lines are the ones that were tuned, without these
# texts; the dotted one is zero.

import matplotlib.pyplot as plt
import numpy as np

scores = model.predict_topk(X_test, k=20, sparse_output=True)


def above(threshold):
    found = scores.copy()
    found.data = (scores.data > threshold).astype(np.int8)
    found.eliminate_zeros()
    return found


thresholds = np.linspace(-1.2, 0.6, 37)
curves = np.array([values(above(threshold)) for threshold in thresholds])
for curve, name, colour in zip(curves.T, MEASURES, ("C0", "C1", "C2"), strict=True):
    plt.plot(thresholds, curve, color=colour, label=name)
    plt.axvline(tuned[name], color=colour, linestyle="--", linewidth=1)
plt.axvline(0, color="0.4", linestyle=":")
plt.xlabel("threshold of the score")
plt.ylabel("F measure on new texts")
plt.ylim(bottom=0)
plt.legend()
plt.show()
