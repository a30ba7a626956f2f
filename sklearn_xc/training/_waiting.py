"""Samples of a stream that wait until they fill a mini-batch.

Where steps are divided by what gradients have been, two steps on halves of a mini-batch are not one
step on the whole. So that the same samples lead to the same steps in whatever parts they come,
lasting steps are on whole mini-batches only. What is left of a part takes a step for as much of a
mini-batch as it is, so that predictions know it; the next call takes this step back, and begins
with the samples that it was on.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..utils._csr import as_dense
from ..utils._matrix import as_rows, normalise
from ..utils._records import either, is_a, is_array, is_count, is_truth, made_record, record
from ..utils._typing import Matrix

# indptr, ids and grades, as the attributes of `Waiting`.
Labels: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Samples: TypeAlias = tuple[Matrix, Labels, np.ndarray | None]  # X, labels and weights
Tables: TypeAlias = Sequence[np.ndarray]  # weights and intercepts of a model
CLASSES_AT_ONCE = 256
# Until BEGINNING samples have come, each call trains on all of them from the start, and then each
# by which their number has grown by the factor GROWTH: few say little about the sizes of columns
# and the frequencies of classes, which the first steps go by. Steps are five times as many so long.
BEGINNING, END_OF_BEGINNING, GROWTH = 100, 800, 1.25


@record(rows=is_array(np.int64), columns=is_array(np.int64), values=is_array(np.float32, ndim=2))
class Replaced:
    """The smallest block of a table that holds all its changes, float32, as it was before."""

    def __init__(self, before: np.ndarray, now: np.ndarray) -> None:
        before, now = _as_table(before), _as_table(now)
        turned = _is_turned(now)
        # Compared in the order of memory, by rows that lie side by side.
        places = _unlike(before.T, now.T)[::-1] if turned else _unlike(before, now)
        self.rows, self.columns = (place.astype(np.int64) for place in places)
        self.values = before[np.ix_(self.rows, self.columns)].astype(np.float32)

    def _check_record(self) -> None:
        if self.values.shape != (len(self.rows), len(self.columns)):
            raise ValueError("a Replaced has not one value for each row and column")

    def put_back(self, now: np.ndarray) -> np.ndarray:
        """Return a copy of the table as it was."""
        before = np.array(now, dtype=np.float32)
        _as_table(before)[np.ix_(self.rows, self.columns)] = self.values
        return before

    def fits(self, shape: tuple[int, ...]) -> bool:
        n_rows, n_columns = (*shape, 1)[:2]
        return all(
            not len(places) or 0 <= places.min() <= places.max() < size
            for places, size in ((self.rows, n_rows), (self.columns, n_columns))
        )


def _unlike(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns in which two tables differ, in the order of memory."""
    differs = np.zeros(before.shape[1], dtype=bool)
    rows = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(before), CLASSES_AT_ONCE):
        part = slice(start, start + CLASSES_AT_ONCE)
        unlike = before[part] != now[part]
        # Blocks of rows, so that the comparison needs no array of flags as large as the table.
        differs |= unlike.any(axis=0)
        rows.append(start + np.flatnonzero(unlike.any(axis=1)))
    return np.concatenate(rows), np.flatnonzero(differs)


def _as_table(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), -1) if array.ndim == 1 else array


@record(
    X=either(is_a(sparse.csr_array), is_array(np.float32, ndim=2)),
    indptr=is_array(np.int64),
    ids=is_array(np.int32),
    grades=is_array(np.float32, least=0),
    weight=either(None, is_array(np.float32, least=0)),
    cold=is_truth,
    replaced=is_a(tuple),
    digest=is_count,
)
class Waiting:
    """Samples of calls before on which no lasting step was taken.

    Attributes
    ----------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    indptr, ids : ndarray of int64 (n_samples + 1,), and of int32
        The classes of sample i are ``ids[indptr[i]:indptr[i + 1]]``.
    grades : ndarray of float32, or of size 0
        Factors on the terms of these classes, if they have any.
    weight : ndarray of float32 (n_samples,), or None
    cold : bool
        Whether there has been no lasting step at all; of a beginning whether the last call
        trained on all of it.
    replaced : tuple of Replaced
        For each table of the model, what the step on these samples has changed; empty if there
        has been none, or when it is taken back.
    digest : int
        Of the tables: with others put in their place, nothing is to be taken back.

    Notes
    -----
    In the model that made it a record holds the very arrays of before and after the step, which
    nobody writes to: to compare and to put back costs nothing. `replaced` and `digest`, which take
    passes over all weights, are computed when a file, a pickle or other weights ask for them.
    """

    def __init__(
        self,
        X: Matrix,
        labels: Labels,
        weight: np.ndarray | None,
        cold: bool,
        before: Tables,
        now: Tables,
    ) -> None:
        self.X, self.weight, self.cold = X, weight, cold
        indptr, ids, self.grades = labels
        self.indptr, self.ids = indptr.astype(np.int64), ids.astype(np.int32)
        self._before, self._now = tuple(before), tuple(now)

    @cached_property
    def replaced(self) -> tuple[Replaced, ...]:
        return tuple(map(Replaced, self._before, self._now)) if self._before else ()

    @cached_property
    def digest(self) -> int:
        return digest_of(self._now)

    def as_saved(self) -> "Waiting":
        """Return the record with what has changed in the place of the arrays themselves."""
        names = (*self._fields_of_record,)
        return made_record(type(self), {name: getattr(self, name) for name in names})

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.as_saved())

    def _check_record(self) -> None:
        n, weight, indptr = self.X.shape[0], self.weight, self.indptr
        fits = len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] == len(self.ids)
        fits &= self.grades.size in (0, len(self.ids))
        if not fits or (np.diff(indptr) < 0).any() or (weight is not None and len(weight) != n):
            raise ValueError("labels or weights of samples that wait are not one for each")
        if sparse.issparse(self.X) and self.X.dtype != np.float32:
            raise ValueError("samples that wait are not of float32")
        if not all(isinstance(part, Replaced) for part in self.replaced):
            raise ValueError("what samples that wait have replaced is of the wrong kind")

    def check(self, tables: Tables, n_classes: int, n_features: int) -> None:
        """Raise ValueError if a loaded record does not fit the model with these tables."""
        known = not len(self.ids) or 0 <= self.ids.min() <= self.ids.max() < n_classes
        if not known or self.X.shape[1] != n_features:
            raise ValueError("samples that wait are not of the classes or features of the model")
        if "_before" in vars(self):  # made here, not loaded
            return
        if self.replaced and not (
            len(self.replaced) == len(tables)
            and all(part.fits(t.shape) for part, t in zip(self.replaced, tables, strict=True))
        ):
            raise ValueError("what samples that wait have replaced is not in the weights")

    def is_of(self, tables: Tables) -> bool:
        """Return whether the tables are those that the step on these samples has led to."""
        same = _are_arrays(tables, vars(self).get("_now", ()))
        return self.digest == digest_of(tables) if same is None else same

    @property
    def has_replaced(self) -> bool:
        """Whether there is a step to take back."""
        return bool(vars(self).get("_before") or self.replaced)

    def before(self, tables: Tables) -> Tables:
        """Return the tables without the step on these samples."""
        if not self.has_replaced:
            return tables
        if vars(self).get("_before"):
            return [np.asarray(table, dtype=np.float32) for table in self._before]
        return [part.put_back(t) for part, t in zip(self.replaced, tables, strict=True)]

    def knows(self, X: Matrix) -> bool:
        """Return whether more than half of these samples are there: they begin to come again."""
        hashes = as_rows(X).hashes()
        return bool(np.isin(hashes, as_rows(self.X).hashes()).mean() > 0.5)

    def placed(self, places: np.ndarray, tables: Tables) -> "Waiting":
        """Return the record when classes have moved to these places, and the step is taken back."""
        labels = self.indptr, np.asarray(places)[self.ids], self.grades
        return Waiting(self.X, labels, self.weight, self.cold, (), tables)

    def followed_by(self, X: Matrix, labels: Labels, weight: np.ndarray | None) -> Samples:
        """Return samples, labels (indptr, ids and grades) and weights with those of a further part
        after them.
        """
        indptr, ids, grades = labels
        weights = [
            np.ones(len(pointers) - 1, dtype=np.float32) if given is None else given
            for given, pointers in ((self.weight, self.indptr), (weight, indptr))
        ]
        if sparse.issparse(X):
            X = normalise(sparse.vstack([sparse.csr_array(self.X), X], format="csr"))
        else:
            X = np.concatenate([as_dense(self.X), X])
        both = None if self.weight is None and weight is None else np.concatenate(weights)
        indptr = np.concatenate([self.indptr, self.indptr[-1] + indptr[1:]])
        if self.grades.size or grades.size:
            of_each = ((self.grades, self.ids), (grades, ids))
            grades = np.concatenate(
                [g if g.size else np.ones(len(own), np.float32) for g, own in of_each]
            )
        return X, (indptr, np.concatenate([self.ids, ids]), grades), both


def _are_arrays(tables: Tables, known: Tables) -> bool | None:
    """Return whether tables are the very arrays that are known; None where their numbers decide.

    One that can be written to may have been edited since.
    """
    if len(tables) != len(known):
        return None
    for table, other in zip(tables, known, strict=True):
        if table.ndim == 1:  # intercepts, which some models compute when they are asked for
            if not np.array_equal(table, other):
                return False
        elif table is not other:
            return None
        elif table.flags.writeable:
            return False
    return True


def digest_of(tables: Tables) -> int:
    """Return 32 bits of the numbers of some tables, the same however they lie in memory."""
    digest = 0
    for number, table in enumerate(tables):
        table = np.asarray(table, dtype=np.float32)
        # Each number is multiplied by a number of its row and one of its column, modulo 2**32, so
        # that the sum can follow the memory: a copy in another order takes as long as all the rest.
        # Odd factors lose no bit of a number.
        factors = [_odd_numbers(n, number + 2 * axis) for axis, n in enumerate(table.shape)]
        if table.ndim == 1:
            table, factors = table[:, None], [*factors, np.ones(1, dtype=np.uint32)]
        if _is_turned(table):
            table, factors = table.T, factors[::-1]
        for start in range(0, len(table), CLASSES_AT_ONCE):
            part = slice(start, start + CLASSES_AT_ONCE)
            bits = np.array(table[part], order="C").view(np.uint32)
            # Otherwise two signs that change would cancel out.
            bits ^= bits >> np.uint32(16)
            bits *= factors[1]
            sums = bits.sum(axis=1, dtype=np.uint32) * factors[0][part]
            # Sums modulo 2**32 do not depend on their order, and hence not on that of memory.
            digest = (digest + int(sums.sum(dtype=np.uint32))) % 2**32
    return digest


def _odd_numbers(n: int, seed: int) -> np.ndarray:
    """Return n odd numbers of 32 bits, always the same ones."""
    numbers = np.arange(1, n + 1, dtype=np.uint32) * np.uint32(2654435761)
    numbers ^= np.uint32(seed * 40503 + 1)
    numbers ^= numbers >> np.uint32(15)
    numbers *= np.uint32(2246822519)
    numbers ^= numbers >> np.uint32(13)
    return numbers | np.uint32(1)


def _is_turned(table: np.ndarray) -> bool:
    """Return whether the numbers of a column lie side by side."""
    return table.ndim == 2 and table.strides[0] < table.strides[1]


# ------------------------------------------------------------------------ the first samples of all


def with_beginning(
    beginning: Waiting | None, tables: Callable[[], Tables], samples: Samples, first: bool
) -> tuple[Samples, bool, Samples | None]:
    """Return samples of a call, whether to train on them from the start, and all samples of the
    beginning, for `beginning_of`, or None where it is over.

    As long as the beginning lasts, and has grown enough, the samples are all those of the
    beginning. `first` says that no fit or part came before.
    """
    if first:
        return samples, True, samples
    # Weights that were put in place of the model are not to be trained away.
    if beginning is None or not beginning.is_of(tables()) or _is_over(beginning, samples[0]):
        return samples, False, None
    n_before = beginning.X.shape[0]
    known = beginning.followed_by(*samples)
    anew = n_before < BEGINNING or _growths(known[0].shape[0]) > _growths(n_before)
    return known if anew else samples, anew, known


def ended_beginning(
    beginning: Waiting | None, tables: Callable[[], Tables], X: Matrix
) -> Samples | None:
    """Return X, labels and weight of a beginning that ends as its samples have begun to come again,
    where the last of them were not trained on from the start; else None.
    """
    if beginning is None or beginning.cold or not beginning.is_of(tables()):
        return None
    if not _is_over(beginning, X):
        return None
    return beginning.X, (beginning.indptr, beginning.ids, beginning.grades), beginning.weight


def _is_over(waiting: Waiting, X: Matrix) -> bool:
    """Return whether the samples of a beginning have begun to come again."""
    return waiting.X.shape[0] >= BEGINNING and waiting.knows(X)


def _growths(n_samples: int) -> int:
    """Return how often the number of samples has grown by GROWTH, from BEGINNING on."""
    return int(np.log(max(n_samples, BEGINNING) / BEGINNING) / np.log(GROWTH))


def beginning_of(tables: Callable[[], Tables], known: Samples | None, anew: bool) -> Waiting | None:
    """Return the samples of a beginning, None if it is over; `anew` if all were just trained on."""
    if known is None:
        return None
    X, weight = known[0], known[-1]
    n_samples = X.shape[0] if weight is None else np.count_nonzero(weight)
    return Waiting(*known, anew, (), tables()) if n_samples < END_OF_BEGINNING else None
