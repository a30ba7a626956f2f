"""Prints a digest of what each method answers after a short fit, as JSON."""

import hashlib
import json
import warnings

import numpy as np
from sklearn.datasets import load_digits

import sklearn_xc
from sklearn_xc import datasets

warnings.simplefilter("ignore")
OPTIONS = {"n_jobs": 1, "random_state": 0}


def models():
    """Name -> an estimator, rows and labels."""
    X, Y = datasets.make_xc_classification(300, 200, 40, n_labels=2.0, random_state=0)
    labels, labelled = datasets.first_label(Y)
    dense, y = (part[:300] for part in load_digits(return_X_y=True))
    many = np.tile(dense, (15, 1)) + np.arange(4500)[:, None] % 7
    kinds = np.arange(4500) % 300 // 5
    ppdsparse = sklearn_xc.PPDSparseClassifier(**OPTIONS)
    ldgs = sklearn_xc.LDGSClassifier(max_iter=3, **OPTIONS)
    layer = sklearn_xc.LDGSClassifier(
        max_iter=2, hidden_dim=16, gradient="decomposed", loss="margin", **OPTIONS
    )
    reduce = sklearn_xc.AugmentReduceClassifier(bound="augment_reduce", max_iter=3, **OPTIONS)
    implicit = sklearn_xc.ImplicitSoftmaxRegressor(
        "implicit", learning_rate=1.0, max_iter=2, **OPTIONS
    )
    return {
        "PPDSparse, sparse": (ppdsparse, X, Y),
        "PPDSparse, dense": (ppdsparse, dense, y),
        "PPDSparse, bytes": (ppdsparse, many, kinds),
        "MEMOIR": (sklearn_xc.MemoirSVC(max_iter=3, **OPTIONS), X[labelled], labels[labelled]),
        "LDGS": (ldgs, X, Y),
        "LDGS, decomposed": (layer, dense, y),
        "A&R": (reduce, dense, y),
        "implicit SGD": (implicit, dense, y),
    }


def digest(labels, scores):
    return hashlib.sha1(labels.tobytes() + scores.tobytes()).hexdigest()


found = {}
for name, (model, X, y) in models().items():
    found[name] = digest(*model.fit(X, y).predict_topk(X, 5))
print(json.dumps(found))
