"""What fails leaves the index as it was, or answering exactly; never half of another one."""

import numpy as np
import pytest
from _failing_indexes import INDEXES, LARGE, Interrupted, ids

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)
ROWS, QUERIES = RNG.normal(size=(3000, 4)), RNG.normal(size=(50, 4))


@pytest.mark.parametrize("index", INDEXES[1:4], ids=ids[1:4])
def test_a_first_build_that_fails_leaves_nothing(index):
    index = index.__class__(**index.get_params())
    with pytest.raises(ValueError, match="not finite in float32"):
        index.build(LARGE)
    with pytest.raises(ValueError, match="call build first"):
        index.query(QUERIES, 3)


@pytest.mark.parametrize("index", INDEXES[1:4], ids=ids[1:4])
@pytest.mark.parametrize("share", [0.0, 1.0], ids=["rebuilt", "replaced"])
def test_a_failed_update_answers_exactly(index, share, monkeypatch):
    index = index.__class__(**index.get_params()).set_params(rebuild_share=share).build(ROWS)
    assert index.mode_ != "exact"

    def fail(*args):
        raise Interrupted

    monkeypatch.setattr(type(index), "_train" if share == 0 else "_to_vectors", fail)
    new = RNG.normal(size=(10, 4))
    with pytest.raises(Interrupted):
        index.update(np.arange(10), new)
    monkeypatch.undo()
    assert index.mode_ == "exact"
    rows = ROWS.copy()
    rows[:10] = new
    best = np.argsort(-(QUERIES.astype(np.float32) @ rows.T.astype(np.float32)), axis=1)[:, :3]
    np.testing.assert_array_equal(index.query(QUERIES, 3)[0], best)
