"""One thread builds an index anew, others ask it: each answer is of one state."""

import sys
import threading

import numpy as np
import pytest

from sklearn_xc.mips import ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 8)).astype("f4")
QUERIES = RNG.normal(size=(40, 8)).astype("f4")
INDEXES = [ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex]


@pytest.mark.parametrize("change", ["build", "update"])
@pytest.mark.parametrize("kind", INDEXES, ids=lambda kind: kind.__name__)
def test_queries_beside_build(kind, change):
    options = {"random_state": 0} | ({} if kind is ExactIndex else {"min_recall": 0.0})
    index = kind(**options).build(ROWS)
    failures, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                if change == "build":
                    ids, scores = index.query(QUERIES, 5)
                    if not np.allclose(scores[:, 0], (QUERIES * ROWS[ids[:, 0]]).sum(1), atol=1e-3):
                        failures.append("scores of other rows")
                else:
                    index.update(np.arange(50), ROWS[:50])
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(1 if change == "update" else 2)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        for n in range(12):
            index.build(ROWS[: 100 + 40 * n % 200])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert failures[:1] == []
