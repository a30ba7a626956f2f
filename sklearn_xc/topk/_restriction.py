"""Which labels an answer may hold, and what is added to their scores."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from ..utils._label_places import Named, named_labels
from ..utils._rows import Rows
from ..utils._typing import LabelsLike
from ..utils._validation import check_k
from ._dense_topk import best_columns

# Scores that are held at once where more are requested than are returned.
SCORES_AT_ONCE = 2**23
# Places of labels, ascending, for all rows; or CSR of bool (n_rows, n_classes), row by row.
Pattern: TypeAlias = np.ndarray | sparse.csr_array


class ScoreIndex(Protocol):
    """An index of scores that a restriction asks, as `InvertedIndex` is one."""

    def shifted(self, weight: np.ndarray) -> "ScoreIndex":
        """Return the index with a weight added to the score of each class."""

    def part(self, coef: Callable[[], sparse.csr_array] | None, places: np.ndarray) -> "ScoreIndex":
        """Return an index of some classes, which answers with their numbers here."""

    def topk(self, rows: Rows, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best classes of each row, and their scores."""

    def scores_at(
        self,
        coef: Callable[[], sparse.csr_array] | None,
        rows: Rows,
        starts: np.ndarray,
        places: np.ndarray,
        n_threads: int,
    ) -> np.ndarray:
        """Return scores of the candidates of each row."""


def read_restriction(
    classes: np.ndarray,
    n_rows: int,
    labels: LabelsLike | None = None,
    exclude: LabelsLike | None = None,
    label_weight: Any = None,
) -> "Restriction | None":
    """Return the restriction that arguments of `predict_topk` ask for, or None."""
    if labels is None and exclude is None and label_weight is None:
        return None
    n_classes = len(classes)
    allowed = excluded = None
    if labels is not None:
        allowed = _pattern(named_labels(labels, classes, n_rows), n_classes)
        if not sparse.issparse(allowed) and not len(allowed):
            raise ValueError("labels is empty; name those that an answer may hold, or leave it out")
    if exclude is not None:
        excluded = _pattern(_excluded(exclude, classes, n_rows), n_classes)
    if label_weight is not None:
        label_weight = checked_weight(label_weight, classes)
    return Restriction(n_classes, n_rows, allowed, excluded, label_weight)


def _pattern(named: Named, n_classes: int) -> "Pattern":
    """Return places, ascending, for all rows; or a CSR pattern of those of each row."""
    if named.starts is None:
        return np.sort(named.places)
    parts = np.ones(len(named.places), dtype=bool), named.places, named.starts
    pattern = sparse.csr_array(parts, shape=(len(named.starts) - 1, n_classes))
    pattern.sort_indices()
    return pattern


def _excluded(exclude: LabelsLike, classes: np.ndarray, n_rows: int) -> Named:
    """Return labels not to answer with; those that the model does not know are excluded already."""
    return named_labels(exclude, classes, n_rows, "exclude", missing="left out")


def weights_by_name(label_weight: Any, classes: np.ndarray) -> Any:
    """Look weights of a dict or a Series up by name; return anything else as it is.

    Raises ValueError if a class is not named, or a name stands twice.
    """
    if isinstance(label_weight, dict):
        names, values = list(label_weight), list(label_weight.values())
    elif hasattr(label_weight, "index") and hasattr(label_weight, "to_numpy"):
        names, values = label_weight.index.tolist(), label_weight.to_numpy().tolist()
    else:
        return label_weight
    table = dict(zip(names, values, strict=True))
    missing = [label for label in classes.tolist() if label not in table]
    if missing or len(table) < len(names):
        wrong = f"does not name {missing[0]!r}" if missing else "names a label twice"
        raise ValueError(
            f"label_weight is a {type(label_weight).__name__}, which goes by its names, and "
            f"{wrong}; give a number for each class, or an array in the order of classes_"
        )
    return [table[label] for label in classes.tolist()]


def checked_weight(label_weight: Any, classes: np.ndarray) -> np.ndarray:
    """Return the addends of the scores of all classes, as float32 (n_classes,)."""
    n_classes = len(classes)
    label_weight = weights_by_name(label_weight, classes)
    try:
        weight = np.asarray(label_weight, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"label_weight must be numbers: {error}") from error
    if weight.shape != (n_classes,):
        raise ValueError(
            f"label_weight must be 1-D with a number for each of the {n_classes} classes, in the "
            f"order of classes_; got shape {weight.shape}"
        )
    if not np.isfinite(weight).all():
        raise ValueError(
            "label_weight holds NaN or infinity; leave labels out with `exclude` or `labels`"
        )
    return weight


class Restriction:
    """Labels that rows may have, and weights that are added to scores.

    `allowed` are places, ascending, of the labels that all rows may have, or a pattern of those of
    each row, `excluded` alike of those that they may not have. `fewest` is how many labels the row
    with the fewest may have, `is_empty` whether no row may have any.
    """

    def __init__(
        self,
        n_classes: int,
        n_rows: int,
        allowed: Pattern | None = None,
        excluded: Pattern | None = None,
        weight: np.ndarray | None = None,
    ) -> None:
        self.n_classes, self.n_rows, self.weight = n_classes, n_rows, weight
        # One pattern a row says both, so that no other method looks at `excluded` beside it.
        if excluded is not None and sparse.issparse(allowed):
            allowed, excluded = _without(allowed, excluded), None
        self._allowed, self._excluded = allowed, excluded
        counts = self._counts()
        self._poorest = int(np.argmin(counts)) if len(counts) else 0
        self.fewest = int(counts.min(initial=n_classes))
        self.is_empty = not counts.any()

    def _counts(self) -> np.ndarray:
        """Return labels that each row may have."""
        allowed, excluded = self._allowed, self._excluded
        if sparse.issparse(allowed):
            return np.diff(allowed.indptr)
        counts = np.full(self.n_rows, self.n_classes if allowed is None else len(allowed))
        if excluded is None:
            return counts
        if not sparse.issparse(excluded):
            hit = excluded if allowed is None else np.intersect1d(excluded, allowed)
            return counts - len(hit)
        if allowed is not None:
            excluded = excluded[:, allowed]
        return counts - np.diff(excluded.indptr)

    def check_k(self, k: int | None, ragged: bool) -> int:
        """Return the number of labels to return for each row; with `ragged` rows may have fewer."""
        if ragged:
            return check_k(k, self.n_classes)
        if self.fewest == 0:
            raise ValueError(
                f"labels and exclude leave no label for sample {self._poorest}; "
                "sparse_output=True returns those there are"
            )
        if k is not None and self.fewest < check_k(k, self.n_classes):
            raise ValueError(
                f"k={k} labels are requested, but sample {self._poorest} may have {self.fewest} "
                "only, by labels and exclude; sparse_output=True returns those there are"
            )
        return check_k(k, self.fewest)

    # --------------------------------------------------------------- of some rows, some labels

    def of_rows(self, start: int, stop: int) -> "Restriction":
        """Return the restriction of some of the rows."""
        part = slice(start, stop)
        allowed, excluded = (
            pattern[part] if sparse.issparse(pattern) else pattern
            for pattern in (self._allowed, self._excluded)
        )
        return Restriction(self.n_classes, stop - start, allowed, excluded, self.weight)

    def of_labels(self, places: np.ndarray) -> "Restriction":
        """Return the restriction of a model that has the labels at these places, in their order."""
        allowed, excluded = (_among(p, places) for p in (self._allowed, self._excluded))
        weight = None if self.weight is None else self.weight[places]
        return Restriction(len(places), self.n_rows, allowed, excluded, weight)

    def without_weight(self) -> "Restriction | None":
        """Return the same labels, with nothing added to their scores; None if all may be given."""
        if self._allowed is None and self._excluded is None:
            return None
        return Restriction(self.n_classes, self.n_rows, self._allowed, self._excluded)

    def arguments(self, classes: np.ndarray) -> dict[str, Any]:
        """Return arguments of `predict_topk` that say the same to a model of these classes."""
        given = {"labels": self._allowed, "exclude": self._excluded}
        found = {
            name: pattern if sparse.issparse(pattern) else classes[pattern]
            for name, pattern in given.items()
            if pattern is not None
        }
        return found if self.weight is None else {**found, "label_weight": self.weight}

    def best_of_pairs(
        self, starts: np.ndarray, places: np.ndarray, scores: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best allowed labels of each row among pairs as of `best_of_each`."""
        # In the form of pairs: which row, which label.
        row = np.repeat(np.arange(self.n_rows), np.diff(starts))
        if self.weight is not None:
            scores = scores + self.weight[places]
        kept = self.permits(row, places)
        counts = np.bincount(row[kept], minlength=self.n_rows)
        starts = np.append(0, np.cumsum(counts))
        return best_of_each(starts, places[kept], scores[kept], k)

    def permits(self, row: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return whether the row of each pair may have its label, ndarray of bool."""
        kept = np.ones(len(places), dtype=bool)
        if self._allowed is not None:
            kept &= _holds(self._allowed, row, places, self.n_classes)
        if self._excluded is not None:
            kept &= ~_holds(self._excluded, row, places, self.n_classes)
        return kept

    # ----------------------------------------------------------------------- of linear scores

    def topk(
        self,
        index: ScoreIndex,
        coef: Callable[[], sparse.csr_array] | None,
        rows: Rows,
        k: int,
        n_threads: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row among those it may have, -1 for none, and scores.

        `coef` returns the weights of the index, class by class; None for an index of others.
        """
        if self.weight is not None:
            index = index.shifted(self.weight)
        allowed = self._allowed
        if sparse.issparse(allowed):
            starts, places = allowed.indptr.astype(np.int64), allowed.indices.astype(np.int64)
            # Labels by row are few: these are scored, and no others.
            scores = index.scores_at(coef, rows, starts, places, n_threads)
            return best_of_each(starts, places, scores, k)
        n = self.n_classes
        if allowed is not None:
            index, n = index.part(coef, allowed), len(allowed)
        if self._excluded is None:
            return _padded(*index.topk(rows, min(k, n), n_threads), k)
        return self._beyond_excluded(index, rows, k, n, n_threads)

    def _beyond_excluded(
        self, index: ScoreIndex, rows: Rows, k: int, n: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ask for k + n_excluded labels, then drop the excluded ones."""
        excluded: Pattern = self._excluded
        most = (
            int(np.diff(excluded.indptr).max(initial=0))
            if sparse.issparse(excluded)
            else len(excluded)
        )
        asked = min(n, k + most)
        best = np.full((self.n_rows, k), -1, dtype=np.int64)
        scores = np.zeros((self.n_rows, k), dtype=np.float32)
        at_once = max(1, SCORES_AT_ONCE // asked)
        for start in range(0, self.n_rows, at_once):
            part = slice(start, min(start + at_once, self.n_rows))
            found, values = index.topk(rows.block(part.start, part.stop), asked, n_threads)
            kept = ~self._hits(excluded, part, found)
            # Stable: those that stay keep their order, best first, before the dropped ones.
            order = np.argsort(~kept, axis=1, kind="stable")[:, :k]
            kept = np.take_along_axis(kept, order, axis=1)
            n_found = order.shape[1]
            best[part, :n_found] = np.where(kept, np.take_along_axis(found, order, axis=1), -1)
            scores[part, :n_found] = np.where(kept, np.take_along_axis(values, order, axis=1), 0)
        return best, scores

    def _hits(self, pattern: Pattern, part: slice, found: np.ndarray) -> np.ndarray:
        """Mark which labels of the answers of some rows are in a pattern."""
        if not sparse.issparse(pattern):
            return np.isin(found, pattern)
        pattern = pattern[part]
        row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        # Row and label as one number, which `isin` compares at once.
        keys = row * self.n_classes + pattern.indices.astype(np.int64)
        return np.isin(np.arange(len(found))[:, None] * self.n_classes + found, keys)

    # --------------------------------------------------------------- of dense scores, or others

    def hide(self, values: np.ndarray, start: int) -> None:
        """Set scores of labels that rows from `start` on may not have to minus infinity."""
        part = slice(start, start + len(values))
        if self._allowed is not None:
            values[~_dense(self._allowed, part, values.shape)] = -np.inf
        if self._excluded is not None:
            values[_dense(self._excluded, part, values.shape)] = -np.inf

    def best_columns(
        self, values: np.ndarray, k: int, start: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best columns of dense values, which are changed; -1 where a row may have
        fewer.
        """
        if self.weight is not None:
            values += self.weight
        self.hide(values, start)
        columns = best_columns(values, k, values > -np.inf)
        best = np.take_along_axis(values, np.maximum(columns, 0), axis=1)
        return _padded(columns, np.where(columns >= 0, best, 0), k)


def best_of_columns(
    values: np.ndarray, k: int, only: Restriction | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best columns of dense values, and these; a restriction changes `values`."""
    if only is not None:
        return only.best_columns(values, k)
    # Stable: a tie goes to the first column.
    best = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return best, np.take_along_axis(values, best, axis=1)


def _holds(pattern: Pattern, row: np.ndarray, places: np.ndarray, n_classes: int) -> np.ndarray:
    """Return whether a pattern holds pairs of row and label."""
    if not sparse.issparse(pattern):
        mask = np.zeros(n_classes, dtype=bool)
        mask[pattern] = True
        return mask[places]
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return np.isin(row * n_classes + places, rows * n_classes + pattern.indices)


def _among(pattern: Pattern | None, places: np.ndarray) -> Pattern | None:
    """Return a pattern in the columns of a model that has the labels at these places."""
    if pattern is None:
        return None
    if sparse.issparse(pattern):
        found = sparse.csr_array(pattern[:, places])
        found.sort_indices()
        return found
    return np.flatnonzero(np.isin(places, pattern))


def _without(allowed: sparse.csr_array, excluded: Pattern) -> sparse.csr_array:
    """Return a pattern without the labels of another, or of all rows."""
    if not sparse.issparse(excluded):
        kept = ~np.isin(allowed.indices, excluded)
        row = np.repeat(np.arange(allowed.shape[0]), np.diff(allowed.indptr))
        starts = np.append(0, np.cumsum(np.bincount(row[kept], minlength=allowed.shape[0])))
        parts = allowed.data[kept], allowed.indices[kept], starts
        return sparse.csr_array(parts, shape=allowed.shape)
    left = allowed.astype(np.int8) - allowed.multiply(excluded).astype(np.int8)
    left.eliminate_zeros()
    left = sparse.csr_array(left.astype(bool))
    left.sort_indices()
    return left


def _dense(pattern: Pattern, part: slice, shape: tuple[int, ...]) -> np.ndarray:
    """Return a pattern for some rows, as ndarray of bool."""
    if sparse.issparse(pattern):
        return pattern[part].toarray()
    mask = np.zeros(shape, dtype=bool)
    mask[:, pattern] = True
    return mask


def best_of_each(
    starts: np.ndarray, places: np.ndarray, scores: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of the candidates of each row, ties to the smaller label, and scores.

    Candidates of row i are starts[i], ..., starts[i + 1] - 1. The answer is -1 where a row has
    fewer than k.
    """
    n_rows = len(starts) - 1
    row = np.repeat(np.arange(n_rows), np.diff(starts))
    # By row, then best first, then the smaller label.
    order = np.lexsort((places, -scores, row))
    rank = np.arange(len(places)) - starts[row]
    chosen = rank < k
    best = np.full((n_rows, k), -1, dtype=np.int64)
    values = np.zeros((n_rows, k), dtype=np.float32)
    best[row[chosen], rank[chosen]] = places[order[chosen]]
    values[row[chosen], rank[chosen]] = scores[order[chosen]]
    return best, values


def _padded(best: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Pad to k columns, where all rows have fewer."""
    missing = k - best.shape[1]
    if missing <= 0:
        return best, scores
    width = (0, 0), (0, missing)
    return np.pad(best, width, constant_values=-1), np.pad(scores, width)
