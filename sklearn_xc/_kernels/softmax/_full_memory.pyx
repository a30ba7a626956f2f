"""Samples, weights and scratch memory of steps on all classes (see `_full_step`)."""

from libc.stdint cimport int32_t, int64_t, uintptr_t

import numpy as np

from sklearn_xc._kernels.softmax._mini_batch cimport NOWHERE, Batch
from sklearn_xc._kernels.softmax._tiles cimport FOUR, Scratch

cdef enum:
    CACHE_LINE = 16  # floats


cdef class Buffers:
    """The memory of a mini-batch, reused by the next one."""

    def __init__(
        self, n_rows, n_places, n_tiles, n_features, n_entries, n_threads, rounded, noise
    ):
        n_distinct = min(n_features, n_entries)
        n_scored = n_threads if rounded else n_rows
        self.scores = np.empty(n_scored * n_places + CACHE_LINE, dtype=np.float32)
        self.spare = np.empty(n_threads * n_places if noise else 1, dtype=np.float32)
        self.own, self.mass = np.empty((2, n_rows), dtype=np.float32)
        self.highest, self.total = np.empty((2, n_tiles * n_rows))
        self.log_normaliser = np.empty(n_rows)
        self.classes = np.empty(n_rows * n_places if rounded else 1, dtype=np.int32)
        self.kept = np.empty(n_rows * n_places if rounded else 1, dtype=np.float32)
        self.counts = np.empty(n_rows, dtype=np.int32)
        n_streams = n_entries + (FOUR - 1) * n_rows + 1
        self.streams = np.empty(n_streams, dtype=np.int64)  # pointers
        self.factors = np.empty(n_streams, dtype=np.float32)
        self.ends = np.empty(n_rows, dtype=np.int64)
        self.features = np.empty(n_distinct + 1, dtype=np.int32)
        self.starts = np.empty(n_distinct + 2, dtype=np.int64)
        self.row_of = np.empty(n_entries + 1, dtype=np.int32)
        self.value = np.empty(n_entries + 1, dtype=np.float32)
        self.place_of = np.full(n_features + 1, NOWHERE, dtype=np.int32)

    cdef void point(self, Batch* batch, Scratch* scratch) noexcept:
        cdef uintptr_t address = <uintptr_t>&self.scores[0]
        address = (address + 4 * CACHE_LINE - 1) // (4 * CACHE_LINE) * (4 * CACHE_LINE)
        scratch.scores = <float*>address
        scratch.spare = &self.spare[0]
        scratch.own = &self.own[0]
        scratch.mass = &self.mass[0]
        scratch.classes = &self.classes[0]
        scratch.kept = &self.kept[0]
        scratch.counts = &self.counts[0]
        scratch.streams = <const float**>&self.streams[0]
        scratch.factors = &self.factors[0]
        scratch.ends = &self.ends[0]
        scratch.highest = &self.highest[0]
        scratch.total = &self.total[0]
        scratch.log_normaliser = &self.log_normaliser[0]
        batch.features = &self.features[0]
        batch.starts = &self.starts[0]
        batch.row_of = &self.row_of[0]
        batch.value = &self.value[0]
        batch.place_of = &self.place_of[0]


cdef class FullSamples:
    """Samples of an epoch, read only.

    Parameters
    ----------
    indptr, indices, data, dense : the samples (see `_rows.Rows`)
    y : (n_samples,), class of each sample
    weight : (n_samples,), or of size 0 for weights of 1
    """

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] y, const float[::1] weight,
    ):
        self.arrays = indptr, indices, data, y, weight
        self.pointers.indptr = &indptr[0]
        self.pointers.features = &indices[0] if indices.shape[0] else NULL
        self.pointers.values = &data[0] if data.shape[0] else NULL
        self.pointers.dense = dense
        self.pointers.y = &y[0]
        self.pointers.weight = &weight[0] if weight.shape[0] else NULL

    cdef int64_t longest_batch(self, const int32_t[::1] order, const int64_t[::1] cuts) noexcept:
        """Entries of the mini-batch that has most."""
        cdef int64_t position, i, n_entries, most = 0
        for position in range(cuts.shape[0] - 1):
            n_entries = 0
            for i in range(cuts[position], cuts[position + 1]):
                n_entries += self.pointers.indptr[order[i] + 1] - self.pointers.indptr[order[i]]
            most = max(most, n_entries)
        return most


cdef class FullWeights:
    """Weights and averages that an epoch changes.

    Parameters
    ----------
    W, b : (n_features, n_places) and (n_places,); b is very low beyond the classes
    ridge : (n_features,), what one sample contributes to the penalty's factor
    averages, touched : (n_features + 1, n_places) and (n_features + 1,), or of size 0 for plain
        steps, on the sum of the mini-batch's gradients. With them, steps are those of the adaptive
        schedule on the gradient scaled to all samples.
    scales : (n_features,), factors of the rows of W; or of size 0. With them, steps are plain ones
        on rounded probabilities (see `_rounded_step`).
    intercept : the constant feature of the intercepts; 0 without
    noise : 0 for the softmax, 1 for the probit and 2 for the logistic model, with plain steps
    mu, beta : (n_samples,), of the noise of each sample; of size 0 for the softmax
    """

    def __init__(
        self, float[:, ::1] W, float[::1] b, const float[::1] ridge, float[:, ::1] averages,
        int64_t[::1] touched, float[::1] scales, double intercept, int noise, double[::1] mu,
        double[::1] beta,
    ):
        self.arrays = W, b, ridge, averages, touched, scales, mu, beta
        self.pointers.n_features, self.pointers.n_places = W.shape[0], W.shape[1]
        self.pointers.W = &W[0, 0] if W.shape[0] else NULL
        self.pointers.b = &b[0]
        self.pointers.averages = &averages[0, 0] if averages.shape[0] else NULL
        self.pointers.touched = &touched[0] if touched.shape[0] else NULL
        self.pointers.scales = &scales[0] if scales.shape[0] else NULL
        self.pointers.ridge = &ridge[0] if W.shape[0] else NULL
        self.pointers.intercept = <float>(intercept * intercept)
        self.pointers.noise = noise
        self.pointers.mu = &mu[0] if mu.shape[0] else NULL
        self.pointers.beta = &beta[0] if beta.shape[0] else NULL
