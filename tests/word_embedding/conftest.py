"""Fixtures of the tests of word vectors."""

import pytest
from _topics import CORPUS, model

from sklearn_xc.word_embedding import _block_sums


@pytest.fixture
def laid(monkeypatch):
    """The blocks that are visited."""
    blocks, visit_blocks = [], _block_sums.visit_blocks

    def visit(some, *others):
        blocks.append(some)
        visit_blocks(some, *others)

    monkeypatch.setattr(_block_sums, "visit_blocks", visit)
    return blocks


@pytest.fixture(scope="module")
def fitted():
    return model(gradient="exact", max_iter=40, compute_loss=True).fit(CORPUS)
