"""Samples and classes that come later, put into their places."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..base._labels import LabelEncoding
from ..base._named_classes import encoding_of
from ..base._new_classes import append_names, merge_labels
from ..utils._label_places import check_names
from ..utils._matrix import as_rows
from ..utils._rows import Rows


def wider_encoding(
    encoding: LabelEncoding, n_labels: int, names: np.ndarray | None
) -> LabelEncoding:
    """Return the encoding of an indicator of n_labels columns, with the names of all of them.

    None for names is of columns that are numbered.
    """
    known = encoding.classes_
    n_known = len(known)
    if n_labels < n_known:
        raise ValueError(f"y has {n_labels} columns, but the model has {n_known} labels")
    # Columns that nobody named are numbered from 0: new ones go on with the numbers.
    numbers = known.dtype.kind in "iu" and np.array_equal(known, np.arange(n_known))
    if names is not None:
        check_names(names, n_labels, "classes")
        if not np.array_equal(names[:n_known], known):
            raise ValueError(
                f"the names of the columns must begin with the {n_known} labels of the model, "
                f"such as {known.tolist()[0]!r}; got {names.tolist()[0]!r}"
            )
        grown = append_names(known, names[n_known:]) if n_labels > n_known else known
    elif n_labels == n_known:
        return encoding
    elif numbers:
        grown = np.arange(n_labels)
    else:
        raise ValueError(
            f"y has {n_labels} columns, but the model has {n_known} labels with names: name all "
            "columns with classes, or give a DataFrame"
        )
    return LabelEncoding("multilabel", grown, encoding.dtype, encoding.container)


def with_new_labels(
    encoding: LabelEncoding, n_new: int, names: ArrayLike | None
) -> tuple[LabelEncoding, np.ndarray, np.ndarray]:
    """Return the encoding with labels added, the places of the previous ones and of the new ones.

    Names are needed where a sample has one class; columns of an indicator may be numbered.
    """
    known = encoding.classes_
    named = None if names is None else np.asarray(names)
    if named is not None:
        samples = "samples with their labels go to partial_fit, or to fit where there is none"
        if getattr(names, "ndim", 1) == 2:
            raise ValueError(
                f"names must be 1-D with a name for each of the {n_new} new labels, got an "
                f"indicator of shape {names.shape}: add_labels takes texts of labels, {samples}"
            )
        # Before they are held to be distinct: classes of samples repeat.
        again = np.flatnonzero(np.isin(named, known)) if named.ndim == 1 else ()
        if len(again):
            name = named[again].tolist()[0]
            raise ValueError(f"names holds {name!r}, which the model has already; {samples}")
        check_names(named, n_new, "names")
    if encoding.kind == "multilabel":
        joined = None if named is None else append_names(known, named)
        places = np.arange(len(known) + n_new)
        wider = wider_encoding(encoding, len(places), joined)
        return wider, places[: len(known)], places[len(known) :]
    if named is None:
        raise ValueError("names must be given: fit's y held one class a sample")
    # Sorted classes: new ones come between the others, which move.
    grown, previous = merge_labels(known, named)
    return encoding_of(grown), previous, np.searchsorted(grown, named)


def indicator_of(codes: np.ndarray, n_labels: int) -> sparse.csr_array:
    """Return one class a sample as an indicator of uint8."""
    parts = np.ones(len(codes), np.uint8), codes.astype(np.int32), np.arange(len(codes) + 1)
    return sparse.csr_array(parts, shape=(len(codes), n_labels))


def without_rows(
    rows: Rows, Y: sparse.csr_array, kept: np.ndarray
) -> tuple[Rows, sparse.csr_array]:
    """Return rows and labels with nothing in those that are not kept."""
    # Rows are emptied, not left out: `kneighbors` answers with the numbers that the user counts.
    if rows.dense:
        rows = as_rows(np.where(kept[:, None], rows.matrix(), np.float32(0)))
    else:
        keep = np.repeat(kept, np.diff(rows.indptr))
        lengths = np.where(kept, np.diff(rows.indptr), 0)
        starts = np.append(0, np.cumsum(lengths))
        rows = rows._replace(indptr=starts, indices=rows.indices[keep], data=rows.data[keep])
    keep = np.repeat(kept, np.diff(Y.indptr))
    starts = np.append(0, np.cumsum(np.where(kept, np.diff(Y.indptr), 0)))
    return rows, sparse.csr_array((Y.data[keep], Y.indices[keep], starts), shape=Y.shape)
