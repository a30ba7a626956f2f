"""
Augment and Reduce: bounds against seconds
==========================================

Steps that look at a few classes follow a bound of the likelihood instead of the likelihood itself
(Ruiz et al., ICML 2018). How tight are the bounds, and how fast do they rise? Compare figure 2 of
the paper.
"""

# %%
# Passages of documentation; the object that a passage describes is its class.

import os

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
y, y_test = docs.target_train, docs.target_test
print(f"N = {X.shape[0]} passages, D = {X.shape[1]} words, K = {len(docs.target_names)} objects")

# %%
# Three models by Augment and Reduce; the softmax by the one-vs-each bound as well, and by its
# exact likelihood, for which every step looks at all classes.

import time
import warnings

from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import AugmentReduceClassifier

# Few passages an object are few steps: smaller batches and a larger rate than published.
settings = {"batch_size": 100, "learning_rate": 0.2, "alpha": 0.0, "random_state": 0}
settings["max_iter"] = int(os.environ.get("PASSES", 10))
models = {
    "softmax": {"bound": "augment_reduce"},
    "probit": {"model": "probit"},
    "logistic": {"model": "logistic"},
    "softmax, one-vs-each": {"bound": "one_vs_each"},
    "softmax, exact": {"bound": "exact"},
}
curves = {}
print(f"{'':22}seconds    bound   log-likelihood, new passages   accuracy")
for name, parameters in models.items():
    model = AugmentReduceClassifier(**parameters, **settings)
    start = time.perf_counter()
    with warnings.catch_warnings():  # very few passes may end below their start
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    print(
        f"{name:22}{seconds:7.1f}{-model.loss_curve_[-1]:9.2f}"
        f"{model.log_likelihood(X_test, y_test):31.2f}{model.score(X_test, y_test):11.3f}"
    )
    times = seconds * np.arange(1, model.n_iter_ + 1) / model.n_iter_  # passes are alike
    curves[name] = times, model.loss_curve_

# %%
# Bounds are negative and far apart, hence the logarithm of their size; higher is better. The
# bounds are not to be compared with each other in accuracy: a loose bound may train a good model.

import matplotlib.pyplot as plt

for (name, (times, losses)), colour in zip(
    curves.items(), ("C0", "C1", "C2", "C3", "0.4"), strict=True
):
    plt.plot(times, losses, "--o" if "exact" in name else "-o", color=colour, label=name)
axes = plt.gca()
axes.set_yscale("log")
axes.invert_yaxis()
axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
axes.yaxis.set_major_formatter(lambda size, _: f"\u2212{size:g}")
axes.yaxis.set_minor_locator(plt.NullLocator())
axes.set(xlabel="training time (s)", ylabel="bound (nats a training sample)")
axes.set_xlim(left=0)
axes.legend(loc="lower right")
plt.show()
