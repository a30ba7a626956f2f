"""State of a softmax fit over its samples, so that the parts of a stream add up to one fit.

A part of the samples does not say how many there are in all, which the penalty that it carries
depends on, nor what the double sum's auxiliary variables were when its samples came by before.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from ..base._used_columns import moved
from ..training._rows_seen import RowsSeen
from ..utils._coordinates import Coordinates
from ..utils._records import either, is_a, is_array, is_count, is_positive, record
from ._sizes import Sizes

# Auxiliary variables are kept of this many samples at most, 16 bytes each; which, their hashes
# decide.
MOST_KEPT = 2**22


class Whole(NamedTuple):
    """Totals of all calls, of which a call sees a part.

    Attributes
    ----------
    n_samples : float
        Different samples of weight above zero.
    weight : float
        Their weights.
    class_counts : ndarray (n_classes,)
        Samples of each class.
    entries : ndarray of float (n_features,), or None
        Samples that have each feature; None where it is not needed.
    n_before : int
        Visits of samples in calls before.
    """

    n_samples: float
    weight: float
    class_counts: np.ndarray
    entries: np.ndarray | None = None
    n_before: int = 0


@record(
    coordinates=is_a(Coordinates),
    length=is_positive,
    typical=is_positive,
    sizes=is_a(Sizes),
    seen=is_a(RowsSeen),
    entries=either(None, is_array(np.int64, least=0)),
    keys=is_array(np.uint64),
    u=is_array(np.float64),
    draws=is_array(np.uint64),
    n_stepped=is_count,
)
class Stream:
    """The samples of all calls of a fit and what followed it.

    Attributes
    ----------
    coordinates : Coordinates
        In which the steps are made.
    length : float
        Of a typical sample as it came, in the first call: the unit of the rate that is reported.
    typical : float
        The same, of all calls.
    sizes : Sizes
    seen : RowsSeen
    entries : ndarray of int64 (n_features,), or None
        Visits of samples that have each feature.
    keys : ndarray of uint64 (n,)
        Hashes of samples with their labels, ascending.
    u : ndarray of float64 (n,)
        Their auxiliary variables.
    draws : ndarray of uint64, of size 1 or 0
        Where the draws of single steps go on; of size 0 where there have been none.
    n_stepped : int
        Visits of samples by lasting steps.
    """

    def __init__(self, coordinates: Coordinates, length: float = 1.0) -> None:
        self.coordinates, self.length, self.typical = coordinates, length, length
        self.sizes, self.seen, self.entries = Sizes(), RowsSeen(), None
        self.keys, self.u = np.empty(0, dtype=np.uint64), np.empty(0)
        self.draws, self.n_stepped = np.empty(0, dtype=np.uint64), 0

    def _check_record(self) -> None:
        if len(self.keys) != len(self.u):
            raise ValueError("the auxiliary variables of a Stream are not one for each sample")
        if not (self.keys[1:] > self.keys[:-1]).all():
            raise ValueError("the keys of a Stream are not in order")
        if len(self.draws) > 1:
            raise ValueError("the draws of a Stream are not one state")

    def replaced(self, **changes: Any) -> "Stream":
        """Return a record with other attributes; this one stays as it is."""
        found = Stream(self.coordinates)
        vars(found).update(vars(self) | changes)
        return found

    def stepped_on(self, n_epochs: int, solver: Any) -> "Stream":
        """Return a record after these epochs of a solver."""
        n_stepped = self.n_stepped + n_epochs * len(solver.visited)
        return self.replaced(draws=solver.draws, n_stepped=n_stepped)

    def with_samples(
        self, hashes: np.ndarray, sample_weight: np.ndarray | None, entries: np.ndarray | None
    ) -> "Stream":
        """Return a record with another call's samples too, but for their sizes; `entries` are
        samples of the call that have each feature, where that is needed.
        """
        seen = self.seen.with_hashes(hashes, sample_weight)
        if entries is None:
            entries = self.entries
        elif self.entries is not None:
            entries = entries + self.entries
        return self.replaced(seen=seen, entries=entries)

    def in_columns(self, before: np.ndarray, now: np.ndarray) -> "Stream":
        """Return a record of the columns `now` from one of those `before`."""
        if self.entries is None:
            return self
        return self.replaced(entries=moved(self.entries, before, now))

    def with_auxiliary(self, keys: np.ndarray, u: np.ndarray) -> "Stream":
        """Return a record with the auxiliary variables of some samples, of equal ones the last."""
        # Of equal samples the last one counts: in reverse order it is the first.
        keys, first = np.unique(keys[::-1], return_index=True)
        u = u[::-1][first]
        others = ~np.isin(self.keys, keys)
        keys = np.concatenate([self.keys[others], keys])
        # The smallest hashes: the same samples are kept in whatever order they come.
        order = np.argsort(keys)[:MOST_KEPT]
        u = np.concatenate([self.u[others], u])[order]
        return self.replaced(keys=keys[order], u=u)

    def auxiliary(self, keys: np.ndarray, unknown: float) -> np.ndarray:
        """Return auxiliary variables of these samples, `unknown` for those that never came by."""
        u = np.full(len(keys), unknown)
        if len(self.keys):
            place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            known = self.keys[place] == keys
            u[known] = self.u[place[known]]
        return u

    def whole(self, class_counts: np.ndarray) -> Whole:
        """Return totals of all calls, if its samples come equally often."""
        n_samples, entries = self.seen.n_rows, self.entries
        if entries is not None:
            # Visits count entries of samples that come again; scaled to different samples, if all
            # come equally often.
            entries = entries * (n_samples / max(self.seen.n_visits, 1))
            if self.coordinates.mean is not None:
                # Once shifted to its mean, a column has no zeros.
                entries = np.where(self.coordinates.mean, n_samples, entries)
        return Whole(n_samples, self.seen.weight, class_counts, entries, self.n_stepped)


def keys_of(hashes: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return a hash of each sample with its label, uint64; `y` are places in `classes`."""
    # Places change when other classes join; the labels themselves do not.
    present, place = np.unique(y, return_inverse=True)
    # Half of a character may be in a label, as in other texts of Python.
    texts = (str(label).encode("utf-8", "surrogatepass") for label in classes[present])
    digests = (hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    of_label = np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
    return hashes ^ of_label[place]
