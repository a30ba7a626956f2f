"""Random indicators for the splitters."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


@st.composite
def indicators(draw):
    """Few rows and labels, most of them rare: where the guarantees are hard to keep."""
    n_rows, n_labels = draw(st.integers(2, 30)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    containers = [sparse.csr_matrix, sparse.coo_array] + [np.asarray] * (n_labels > 1)
    density = rng.random(n_labels) ** draw(st.integers(1, 4))
    Y = (rng.random((n_rows, n_labels)) < density).astype(int)
    return draw(st.sampled_from(containers))(Y)


def dense(Y):
    return Y.toarray() if sparse.issparse(Y) else Y
