"""
Probabilities that you can trust
================================

Eight in ten of the tags with a probability of 0.8 should be right. Scores of one-vs-rest models
are not probabilities; a calibration turns them into probabilities, for the best labels of each
sample.
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
print(f"{X.shape[0]} passages, {Y.shape[1]} tags, {Y.nnz / Y.shape[0]:.1f} a passage")

# %%
# Three ways to a probability: the logistic function of the score as it is, and two calibrations
# that are fitted on samples held out of the training part.

from scipy.special import expit

from sklearn_xc import PPDSparseClassifier, TopKCalibratedClassifier

names = {"label_names": tags.classes_, "n_jobs": 2, "random_state": 0}
model = PPDSparseClassifier(**names).fit(X, Y)
labels, scores = model.predict_topk(X_test, k=5)
found = {"uncalibrated": (labels, expit(scores))}
for method in ("sigmoid", "isotonic"):
    calibrated = TopKCalibratedClassifier(PPDSparseClassifier(**names), method=method, cv=0.2)
    calibrated.fit(X, Y)
    found[method] = calibrated.predict_topk(X_test, k=5, scores="proba")

# %%
# The tags of some new passages, with their probabilities.

labels, p = found["isotonic"]
for place in np.argsort(-p[:, 0])[:: len(p) // 4][:4]:
    answer = [f"{tag} {value:.2f}" for tag, value in zip(labels[place], p[place], strict=True)]
    print(f"{docs.data_test[place][:60]}...\n    {', '.join(answer)}")

# %%
# The expected calibration error is the mean distance between what was promised and what came
# true; the curve shows where. On the diagonal both are the same.

import matplotlib.pyplot as plt

from sklearn_xc.metrics import expected_calibration_error, reliability_curve

plt.plot([0, 1], [0, 1], color="0.4", linestyle=":")
colours = {"uncalibrated": "C3", "sigmoid": "C0", "isotonic": "C1"}
for name, (labels, p) in found.items():
    true, predicted, _ = reliability_curve(Y_test, labels, p, classes=tags.classes_)
    error = expected_calibration_error(Y_test, labels, p, classes=tags.classes_)
    print(f"{name:14}{error:.3f}")
    plt.plot(predicted, true, "o-", color=colours[name], label=f"{name}, error {error:.3f}")
plt.xlabel("predicted probability")
plt.ylabel("share of labels that are true")
plt.gca().set_aspect("equal")
plt.legend(loc="lower right")
plt.show()

# %%
# Softmax models have probabilities without a second step.

from sklearn_xc import ImplicitSoftmaxRegressor

y, y_test = docs.target_names[docs.target_train], docs.target_names[docs.target_test]
softmax = ImplicitSoftmaxRegressor(max_iter=5, n_jobs=2, random_state=0).fit(X, y)
labels, p = softmax.predict_topk(X_test, k=5, scores="proba")
print(f"softmax, one name a passage: {expected_calibration_error(y_test, labels, p):.3f}")
