"""Functions inside of what `mips/test_failures.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc.mips import ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex
from sklearn_xc.mips._approximate import ApproximateIndex

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)
ROWS, QUERIES = RNG.normal(size=(3000, 4)), RNG.normal(size=(50, 4))
INDEXES = [
    ExactIndex(),
    HNSWIndex(min_recall=0, random_state=0),
    SimpleLSHIndex(min_recall=0, random_state=0),
    SphericalIndex(min_recall=0, random_state=0),
]
LARGE = np.full((40, 4), 3e38, dtype=np.float32)  # products overflow while the recall is measured
ids = [type(index).__name__ for index in INDEXES]


class Interrupted(BaseException):
    pass


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
