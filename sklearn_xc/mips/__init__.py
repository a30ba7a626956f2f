"""Maximum inner product search: the rows with the largest inner products with a query.

All indexes have the same interface: ``index.build(rows, queries)``, ``index.query(Q, k)``,
``index.candidates(Q, n)`` and ``index.update(ids, rows)``. An approximate index scores exactly the
rows that it finds. When it is built, it measures on a sample of queries how many of the best it
finds: below ``min_recall`` it says so and answers exactly.
"""

from ._exact import ExactIndex
from ._hnsw import HNSWIndex
from ._lsh import SimpleLSHIndex
from ._sketch import LinearSketch
from ._spherical import SphericalIndex

__all__ = ["ExactIndex", "HNSWIndex", "LinearSketch", "SimpleLSHIndex", "SphericalIndex"]
