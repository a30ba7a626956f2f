"""Cost of an index, in counted operations: `MemoirSVC` chooses its search by them.

The unit is one multiply-add of a matrix product by BLAS; everything else is this many of them.
The weights were fitted to times of many queries at a time on one thread.
"""

import numpy as np

# Reading a score that a product has left, and comparing it.
SCAN = 25
# Vectors beyond this many bytes come from memory, not from a cache, if read in no order.
CACHE = 16 << 20
# A node of a graph looked at: its neighbours' list and its vector are in no order.
NODE, CACHED_NODE = 2000, 700
# Putting a row into a graph against searching for it with the same beam.
INSERT = 1.3
# A code compared.
CODE = 30


def graph(n_rows: int, width: int, M: int, effort: int) -> float:
    """Count a query of a graph: the descent, then about M nodes for each place of the beam."""
    node = NODE if n_rows * (4 * width + 8 * M) > CACHE else CACHED_NODE
    return (effort + np.log2(n_rows + 1)) * M * (width + node)


def graph_build(n_rows: int, width: int, M: int, ef_construction: int) -> float:
    """Count the building of a graph."""
    return n_rows * INSERT * graph(n_rows, width, M, ef_construction)


def codes_build(n_rows: int, width: int, n_bits: int) -> float:
    """Count the building of binary codes."""
    return n_rows * (n_bits * width + CODE * n_bits)
