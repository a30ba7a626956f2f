"""Functions inside of what `mips/test_recall.py` tests from outside."""

import numpy as np
import pytest
from _recall_of_index import measured, normal

from sklearn_xc.mips import HNSWIndex
from sklearn_xc.mips import _approximate as approximate
from sklearn_xc.mips._hnsw import Graph


def test_a_graph_that_cannot_be_searched_is_not_used(monkeypatch):
    def search(self, asked, n, effort, n_threads):
        return np.full((len(asked.reduced), n), -1, dtype=np.int32)

    monkeypatch.setattr(Graph, "search", search)
    rows = normal(100, 4, 0)
    with pytest.warns(RuntimeWarning, match=r"recall@10 of the graph is 0\.000"):
        index = HNSWIndex(random_state=0).build(rows)
    assert (index.mode_, index.ann_recall_) == ("exact", 0.0)


@pytest.mark.parametrize("hopeless", [False, True])
def test_many_rows_choose_the_reduction_on_some(monkeypatch, hopeless):
    monkeypatch.setattr(approximate, "PILOT_ROWS", 300)
    rows, queries = normal(1200, 8, 0), normal(100, 8, 1)
    built = []
    train = HNSWIndex._train

    def spy(self, reduced, mapping):
        built.append((mapping.mode, len(reduced)))
        return train(self, reduced, mapping)

    monkeypatch.setattr(HNSWIndex, "_train", spy)
    index = HNSWIndex(random_state=0)
    if hopeless:
        monkeypatch.setattr(approximate, "HOPELESS", -1.0)
        with pytest.warns(RuntimeWarning, match="answers exactly"):
            index.build(rows, queries)
        assert [n for _, n in built] == [300] * 4
        assert index.mode_ == "exact"
        return
    index.build(rows, queries)
    assert [n for _, n in built] == [300] * 4 + [1200]
    assert index.mode_ == built[-1][0]
    assert measured(index, rows, normal(200, 8, 2)) == pytest.approx(index.recall_, abs=0.05)
