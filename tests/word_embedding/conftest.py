"""Random counts of words and contexts, and the gradients of their objective."""

import pytest

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
