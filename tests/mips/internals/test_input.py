"""Functions inside of what `mips/test_input.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc.mips import ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex
from sklearn_xc.utils._memory_limit import VARIABLE

ROWS = np.random.default_rng(0).normal(size=(40, 5))


@pytest.mark.parametrize("index", [ExactIndex(), HNSWIndex(), SphericalIndex(), SimpleLSHIndex()])
def test_too_little_memory(monkeypatch, index):
    monkeypatch.setenv(VARIABLE, "1000" if isinstance(index, ExactIndex) else "1700")
    with pytest.raises(MemoryError, match=r"rows.* would take .* bytes, more than the limit"):
        index.build(np.repeat(ROWS, 2, axis=0).astype(np.float32))
