"""Weights of many classes, put together from blocks."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc._kernels.ppdsparse._results import name_entries
from sklearn_xc.ppdsparse import _assembly
from sklearn_xc.ppdsparse._assembly import weights_of_classes


@given(
    seed=st.integers(0, 2**31),
    n_classes=st.integers(1, 12),
    n_features=st.integers(1, 9),
    n_blocks=st.integers(1, 4),
    n_threads=st.sampled_from([1, 2, 5]),
)
def test_blocks_in_any_order_become_one_matrix(seed, n_classes, n_features, n_blocks, n_threads):
    rng = np.random.default_rng(seed)
    W = (
        rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.4)
    ).astype("f4")
    solved = rng.permutation(n_classes)[: rng.integers(1, n_classes + 1)].astype(np.int32)
    names = rng.permutation(n_features).astype(np.int32)
    counts, entries = [], []
    for block in np.array_split(solved, n_blocks):
        found = [rng.permutation(np.flatnonzero(W[label, names])) for label in block]
        counts.append(np.array([len(positions) for positions in found], dtype=np.int64))
        positions = np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(np.int32)
        entries.append((positions, W[np.repeat(block, counts[-1]), names[positions]]))
        name_entries(counts[-1], *entries[-1], names)
    blocks = np.array_split(solved, n_blocks)
    with mock.patch.object(_assembly, "FEWEST", 1):
        weights = weights_of_classes(blocks, counts, iter(entries), W.shape, n_threads=n_threads)
    expected = np.zeros_like(W)
    expected[solved] = W[solved]
    assert weights.format == "csr"
    assert weights.dtype == np.float32
    assert weights.indices.dtype == np.int32
    np.testing.assert_array_equal(weights.toarray(), expected)
    assert weights.nnz == np.count_nonzero(expected)
    for start, stop in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
        assert (np.diff(weights.indices[start:stop]) > 0).all()
