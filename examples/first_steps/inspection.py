"""
Explaining: why this label, and which labels are good?
======================================================

A linear model can say what each feature adds to a score. A mean over thousands of labels hides
the weak ones: the report and the displays of :mod:`sklearn_xc.inspection` look at each label.
"""

# %%
# Two models that tell apart functions, classes and methods by passages of their documentation.

import os

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import ImplicitSoftmaxRegressor, PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
train = docs.data_train, docs.target_names[docs.target_train]
test = docs.data_test, docs.target_names[docs.target_test]
models = {
    "one-vs-rest": PPDSparseClassifier(l1=0.02, l2=0.3, n_jobs=2, random_state=0),
    "softmax": ImplicitSoftmaxRegressor(n_jobs=2, random_state=0),
}
for name, model in models.items():
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
    models[name] = make_pipeline(words, model).fit(*train)
print(f"{len(train[0])} passages, {len(docs.target_names)} objects")

# %%
# Why was that predicted?
# -----------------------
# :func:`~sklearn_xc.explain` lists what every word adds.

from sklearn_xc import explain

ovr = models["one-vs-rest"]
right = [text for text, hit in zip(test[0], ovr.predict(test[0]) == test[1], strict=True) if hit]
passage = max((text for text in right if len(text) <= 120), key=len, default=test[0][0])
print(passage)
print(explain(ovr, [passage], k=8))

# %%
# The same as a picture.

import matplotlib.pyplot as plt

from sklearn_xc.inspection import ContributionsDisplay

ContributionsDisplay.from_estimator(ovr, [passage], k=8)
plt.show()

# %%
# Which labels is it good at?
# ---------------------------
# A line a label: how often it occurs, is suggested, is found.

from sklearn_xc.inspection import label_report

print(label_report(ovr, *test, k=5))

# %%
# Frequent labels are easier than rare ones; the displays show by how much, and how precision
# falls with the number of suggestions.

from sklearn_xc.inspection import LabelFrequencyDisplay, PrecisionAtKDisplay, ReliabilityDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
for (name, model), colour in zip(models.items(), ("C0", "C1"), strict=True):
    PrecisionAtKDisplay.from_estimator(model, *test, name=name, ax=left, color=colour)
    LabelFrequencyDisplay.from_estimator(model, *test, name=name, ax=right, color=colour)
plt.show()

# %%
# Which labels are mixed up?
# --------------------------
# A model of the part of the package that a passage belongs to. Each bar is a pair: the first label
# is true, and the second was suggested instead.

from sklearn_xc.inspection import LabelConfusionDisplay, LabelSupportDisplay

parts_train, parts_test = (
    [name.rpartition(".")[0] for name in names] for names in (train[1], test[1])
)
parts = make_pipeline(TfidfVectorizer(sublinear_tf=True), PPDSparseClassifier(random_state=0))
LabelConfusionDisplay.from_estimator(
    parts.fit(train[0], parts_train), test[0], parts_test, n_pairs=8
)
plt.show()

# %%
# How many labels are rare?

LabelSupportDisplay.from_estimator(ovr, name="numpy")
plt.show()

# %%
# Would more training samples help?

from sklearn_xc.model_selection import TopKLearningCurveDisplay

TopKLearningCurveDisplay.from_estimator(ovr, *train, train_sizes=[0.2, 0.5, 1.0], random_state=0)
plt.show()

# %%
# Are the probabilities of the softmax to be trusted? More on this in
# :ref:`sphx_glr_auto_examples_tasks_probabilities.py`.

ReliabilityDisplay.from_estimator(models["softmax"], *test, name="softmax")
plt.show()
