"""A random problem of candidate gradients, with its exact gradient."""

import numpy as np

from sklearn_xc._kernels.ldgs import _losses as kernel
from sklearn_xc.ldgs._candidate_gradients import (
    ComparedClasses,
    Positives,
    SetLoss,
    chunk_bounds,
    set_gradients,
)

ONES = np.empty(0, dtype=np.float32)


def loss_and_gradient(loss, z, n_positive, mu=1.0, rest=0.0, weight=ONES):
    gradient = np.empty(len(z), dtype=np.float32)
    z = np.asarray(z, dtype=np.float32)
    value = kernel.of_set(kernel.KINDS[loss], mu, rest, z, weight, n_positive, gradient)
    return value, gradient


# ------------------------------------------------------------------------- decomposed gradients


class Problem:
    """Random weights, samples and positives; everything is retrieved."""

    def __init__(self, n_classes=30, n_columns=12, n_rows=5, seed=0, scale=0.7):
        rng = np.random.default_rng(seed)
        self.W = rng.normal(size=(n_classes, n_columns)).astype(np.float32)
        self.H = (scale * rng.normal(size=(n_rows, n_columns))).astype(np.float32)
        own = [rng.choice(n_classes, rng.integers(1, 4), replace=False) for _ in range(n_rows)]
        indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in own])])
        self.own = own
        self.positives = Positives(indptr.astype(np.int64), np.concatenate(own).astype(np.int32))

    def everything(self, n_chunks):
        return np.tile(np.arange(len(self.W), dtype=np.int32), (len(self.H), n_chunks, 1))

    def gradient(self, loss, n_chunks, retrieved=None, **options):
        if retrieved is None:
            retrieved = self.everything(n_chunks)
        bounds = chunk_bounds(self.W.shape[1], n_chunks)
        candidates = ComparedClasses(
            retrieved, options.pop("drawn", None), options.pop("n_first", None)
        )
        terms = {name: options.pop(name) for name in SetLoss._fields if name in options}
        loss = SetLoss(loss, **terms)
        found = set_gradients(self.W, self.H, bounds, candidates, self.positives, loss, **options)
        dense = np.zeros((len(self.H), len(self.W)))
        for row, ids, values, count in zip(
            dense, found.ids, found.values, found.counts, strict=True
        ):
            row[ids[:count]] = values[:count]
        return dense, found

    def exact(self, loss, z=None, mu=1.0):
        """Values and gradients of the loss of all classes, row by row."""
        z = self.H @ self.W.T if z is None else z
        values, gradients = [], np.zeros(z.shape)
        for row, own, gradient in zip(z, self.own, gradients, strict=True):
            order = np.concatenate([own, np.setdiff1d(np.arange(len(row)), own)])
            value, found = loss_and_gradient(loss, row[order], len(own), mu)
            values.append(value)
            gradient[order] = found
        return np.array(values), gradients
