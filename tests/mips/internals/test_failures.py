"""Functions inside of what `mips/test_failures.py` tests from outside."""

import numpy as np
import pytest
from _failing_indexes import INDEXES, LARGE, Interrupted, ids

from sklearn_xc.mips import ExactIndex
from sklearn_xc.mips._approximate import ApproximateIndex

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)
ROWS, QUERIES = RNG.normal(size=(3000, 4)), RNG.normal(size=(50, 4))


@pytest.mark.parametrize("index", INDEXES, ids=ids)
@pytest.mark.parametrize("error", [MemoryError, Interrupted, None])
def test_failed_build(index, error, monkeypatch):
    index = index.__class__(**index.get_params())
    before = index.build(ROWS).query(QUERIES, 3)
    state = dict(vars(index))
    exact = type(index) is ExactIndex
    if error is not None:

        def fail(*args, **kwargs):
            raise error("no")

        target = ExactIndex if exact else ApproximateIndex
        monkeypatch.setattr(target, "_set_up", fail)
        with pytest.raises(error):
            index.build(ROWS[:50])
        monkeypatch.undo()
    elif not exact:
        with pytest.raises(ValueError, match="not finite in float32"):
            index.build(LARGE)
    assert vars(index) == state
    for old, new in zip(before, index.query(QUERIES, 3), strict=True):
        np.testing.assert_array_equal(old, new)
