"""
Probabilities that hold what they promise
=========================================

Of all tags suggested with a probability of 0.8, eight in ten should be right. Scores of
one-vs-rest models are no probabilities; a calibration makes them so, for the best labels of each
row.
"""

# %%
# Texts of a generator, with some of 300 labels each.

import os

from sklearn_xc.datasets import make_xc_classification

ROWS = int(os.environ.get("ROWS", 6000))

X, Y = make_xc_classification(ROWS, 3000, 300, n_labels=2.5, signal=0.3, random_state=0)
n_train = ROWS * 2 // 3
X, Y, X_test, Y_test = X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]

# %%
# Three ways to a probability: the logistic function of the score as it is, and two calibrations
# that are fitted on rows held out of the training part.

from scipy.special import expit

from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier

model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
labels, scores = model.predict_topk(X_test, k=5)
found = {"uncalibrated": (labels, expit(scores))}
for method in ("sigmoid", "isotonic"):
    calibrated = TopKCalibratedClassifier(method=method, cv=0.2, n_jobs=2).fit(X, Y)
    found[method] = calibrated.predict_topk(X_test, k=5, scores="proba")

# %%
# The expected calibration error is the mean distance between what was promised and what came
# true; the curve shows where. On the diagonal both are the same.

import matplotlib.pyplot as plt

from sklearn_xc.metrics import expected_calibration_error, reliability_curve

plt.plot([0, 1], [0, 1], color="0.4", linestyle=":")
colours = {"uncalibrated": "C3", "sigmoid": "C0", "isotonic": "C1"}
for name, (labels, p) in found.items():
    true, predicted, _ = reliability_curve(Y_test, labels, p)
    error = expected_calibration_error(Y_test, labels, p)
    print(f"{name:14}{error:.3f}")
    plt.plot(predicted, true, "o-", color=colours[name], label=f"{name}, error {error:.3f}")
plt.xlabel("predicted probability")
plt.ylabel("share of labels that are true")
plt.gca().set_aspect("equal")
plt.legend(loc="lower right")
plt.show()

# %%
# Softmax models have probabilities of their own, which need no second step.

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.datasets import first_label

y, known = first_label(Y)
y_test, known_test = first_label(Y_test)
softmax = ImplicitSoftmaxRegressor(max_iter=5, n_jobs=2, random_state=0).fit(X[known], y[known])
labels, p = softmax.predict_topk(X_test[known_test], k=5, scores="proba")
print(f"softmax, one label a text: {expected_calibration_error(y_test[known_test], labels, p):.3f}")
