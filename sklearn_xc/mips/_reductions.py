"""Reductions of inner products to what graphs, clusters and hashes can search."""

from typing import NamedTuple

import numpy as np

from ..utils._parallel import single_threaded_blas

MODES = ("ip", "xbox", "ip-centred", "xbox-centred")
RANGES = "ranges"  # of graphs only


class Reduction(NamedTuple):
    """A map of rows and one of queries after which near means a large inner product.

    With w' = (w - centre) / bound:

    * "ip" leaves w' as it is: search for the largest inner product itself;
    * "xbox" appends sqrt(1 - ||w'||^2), and 0 to queries: all rows then have norm 1, and distance,
      cosine and inner product put them into the same order, that of <q, w>;
    * "ranges" is "ip" for a structure that itself tells rows of different norm apart.

    Queries are divided by their norm, which changes no order. Centring changes every score of a
    query by the same <q, centre>, so no order either, but brings the rows' directions apart where
    they have a large part in common.

    Attributes
    ----------
    mode : str
        One of `MODES`, or `RANGES`.
    centre : ndarray of float32 (d,), or None
    bound : float
        The largest norm of a (centred) row when the reduction was made. A row that outgrows it
        later gets the extra coordinate 0: it may be missed, but is scored rightly when found.
    """

    mode: str
    centre: np.ndarray | None
    bound: float

    @property
    def extended(self) -> bool:
        """Whether rows get one more coordinate."""
        return self.mode.startswith("xbox")

    def rows(self, vectors: np.ndarray) -> np.ndarray:
        """Return the rows as they are searched for, float32 (n, d) or (n, d + 1)."""
        n, d = vectors.shape
        out = np.zeros((n, d + self.extended), dtype=np.float32)
        out[:, :d] = vectors
        if self.centre is not None:
            out[:, :d] -= self.centre
        out[:, :d] /= np.float32(self.bound)
        if self.extended:
            # In double, for 1 - ||w'||^2 is a small difference of the longest rows. Below 0 it is
            # where a row has outgrown the bound, or by rounding.
            squares = np.einsum("ij,ij->i", out[:, :d], out[:, :d], dtype=np.float64)
            out[:, d] = np.sqrt(np.maximum(0, 1 - squares))
        return out

    def queries(self, vectors: np.ndarray) -> np.ndarray:
        """Return the queries as they are asked, float32; a zero query stays zero."""
        n, d = vectors.shape
        out = np.zeros((n, d + self.extended), dtype=np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        out[:, :d] = vectors / np.where(norms > 0, norms, 1).astype(np.float32)[:, None]
        return out


def reduction(mode: str, vectors: np.ndarray) -> Reduction:
    """Return the reduction of this mode for these rows, (n, d) float32."""
    centre, squares = None, np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    if mode.endswith("centred"):
        centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        with single_threaded_blas():  # the same bits for any number of threads
            shifted, own = vectors @ centre, float(centre @ centre)
        squares = squares - 2.0 * shifted + own  # ||w - c||^2, without a copy of all rows
    largest = float(np.sqrt(max(0.0, squares.max())))
    return Reduction(mode, centre, largest if largest > 0 else 1.0)
