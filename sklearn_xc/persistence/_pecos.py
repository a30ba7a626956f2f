"""Linear models in the folder that PECOS reads: a tree of one level, scores as they are."""

import json
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

PECOS = {  # one matrix of weights: a tree of one level, whose scores stay as they are
    "": {"__meta__": {"class_fullname": "pecos.xmc.xlinear.model###XLinearModel"}},
    "ranker": {
        "__meta__": {"class_fullname": "pecos.xmc.base###HierarchicalMLModel"},
        "model": "HierarchicalMLModel",
        "depth": 1,
        "nr_codes": 1,
    },
    "ranker/0.model": {
        "__meta__": {"class_fullname": "pecos.xmc.base###MLModel"},
        "model": "MLModel",
        "nr_codes": 1,
        "bias": 1.0,
        "pred_kwargs": {
            "__meta__": {"class_fullname": "pecos.xmc.base###MLModel.PredParams"},
            "only_topk": 10,
            "post_processor": "noop",
        },
    },
}


def linear_parts(model: BaseEstimator) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return weights and intercepts of a linear classifier; ValueError for one of another kind."""
    # Two classes share one row of coef_, and an embedding has another width: a program with one
    # vector a label can hold neither.
    n_labels, n_features = len(model.classes_), getattr(model, "n_features_in_", 0)
    if getattr(getattr(model, "coef_", None), "shape", None) != (n_labels, n_features):
        name = type(model).__name__
        raise ValueError(f"{name} with {n_labels} labels has no weights for each label and feature")
    intercept = np.broadcast_to(getattr(model, "intercept_", 0), n_labels).astype(np.float32)
    return sparse.csr_matrix(model.coef_), intercept


def write_pecos(model: BaseEstimator, path: str) -> None:
    """Write the weights of a linear classifier into a folder."""
    (coef, intercept), folder = linear_parts(model), Path(path)
    # PECOS has the bias as the last feature, a column of ones in X.
    W = sparse.vstack([coef.T, sparse.csr_matrix(intercept)], format="csc", dtype=np.float32)
    for place, values in PECOS.items():
        inner = folder / place
        inner.mkdir(parents=True, exist_ok=True)
        sizes = {"nr_features": coef.shape[1], "nr_labels": coef.shape[0]} if place else {}
        (inner / "param.json").write_text(json.dumps({**values, **sizes}))
    # The tree: all labels below the one node of the level above.
    ones = sparse.csc_matrix(np.ones((coef.shape[0], 1), np.float32))
    sparse.save_npz(inner / "W.npz", W, compressed=False)  # or PECOS does not read it
    sparse.save_npz(inner / "C.npz", ones, compressed=False)
