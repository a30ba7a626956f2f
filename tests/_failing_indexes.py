"""Indexes and rows of the tests of failures."""

import numpy as np

from sklearn_xc.mips import ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex

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
