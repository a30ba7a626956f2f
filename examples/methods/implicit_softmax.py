"""
Implicit steps: six ways to a softmax from a few classes
========================================================

A stochastic step on one sample and one other class is cheap, but takes large steps where the model
is wrong: with a rate too high it diverges. An implicit step is stable at any rate, and U-max
bounds how far a step can go (the paper of 2018); three older methods are cheap too, but biased.
Compare figure 1 of the paper.
"""

# %%
# Passages of documentation; the object that a passage describes is its class.

import os

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "stdlib").split(",")  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)
words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
y, y_test = docs.target_train, docs.target_test
print(f"N = {X.shape[0]} passages, D = {X.shape[1]} words, K = {len(docs.target_names)} objects")

# %%
# Each solver runs at the learning rate that the paper's protocol finds for it on a part of the
# samples.

import time
import warnings

from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import ImplicitSoftmaxRegressor

settings = {"alpha": 0.0, "sampling": "uniform", "decay": 0.9, "compute_loss": True}
settings |= {"max_iter": int(os.environ.get("PASSES", 10)), "random_state": 0}
curves = {}
print(f"{'':14}  rate   seconds   log-loss: training     test   accuracy")
for solver in ("implicit", "umax", "sgd", "one_vs_each", "nce", "importance"):
    model = ImplicitSoftmaxRegressor(solver, **settings)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():  # plain steps may well end above their start
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
    except ValueError as error:  # a rate that went well on the part and not on the whole
        print(f"{solver:14}{error}")
        continue
    print(
        f"{solver:14}{model.learning_rate_:6g}{time.perf_counter() - start:10.1f}"
        f"{model.loss_curve_[-1]:21.3f}{-model.log_likelihood(X_test, y_test):9.3f}"
        f"{model.score(X_test, y_test):11.3f}"
    )
    curves[solver] = model.learning_rate_, model.loss_curve_

# %%
# Solid lines are unbiased, dashed ones biased. Implicit steps bear ten times the rate of plain
# steps, and get further in the same passes. At a small rate the bound of U-max is never met, so
# that its steps are the plain ones.

import matplotlib.pyplot as plt

colours = {"implicit": "C0", "umax": "C1", "sgd": "C2"}
colours |= {"one_vs_each": "C3", "nce": "C4", "importance": "C5"}
for solver, (rate, losses) in curves.items():
    line = "-" if solver in ("implicit", "umax", "sgd") else "--"
    width = 3.5 if solver == "umax" else 1.5  # plain steps may lie on top of it
    epochs = range(1, len(losses) + 1)
    plt.plot(
        epochs, losses, line, color=colours[solver], linewidth=width, label=f"{solver}, {rate:g}"
    )
plt.yscale("log")
plt.gca().yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
plt.gca().yaxis.set_major_formatter("{x:g}")
plt.gca().yaxis.set_minor_locator(plt.NullLocator())
plt.xticks(epochs)
plt.xlabel("passes over the data")
plt.ylabel("training log-loss (nats a sample)")
plt.legend(title="solver, rate\n(dashed: biased)", loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
