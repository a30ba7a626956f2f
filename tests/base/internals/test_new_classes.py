"""Functions inside of what `base/test_new_classes.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.base._new_classes import merge_labels, rows_in_places


@pytest.mark.parametrize(
    ("known", "labels", "merged"),
    [
        ([1, 5], [3, 1, 3], [1, 3, 5]),
        ([1, 5], [1, 5], [1, 5]),
        ([1, 5], [], [1, 5]),
        ([1, 5], [7.0, 5.0], [1, 5, 7]),
        ([1.0, 5.0], [7, 5], [1.0, 5.0, 7.0]),
        ([0, 1], [True, False], [0, 1]),
        (np.array([1, 5], dtype=np.int8), [300], [1, 5, 300]),
        (["a", "c"], np.array(["bee", "a"], dtype=object), ["a", "bee", "c"]),
        (np.array(["a", "c"], dtype=object), ["bee", "a"], ["a", "bee", "c"]),
        (np.array([2**60, 2**60 + 1]), np.array([2**60 + 3]), [2**60, 2**60 + 1, 2**60 + 3]),
    ],
)
def test_union(known, labels, merged):
    known = np.asarray(known)
    found, places = merge_labels(known, np.asarray(labels))
    assert found.tolist() == merged
    assert found.dtype.kind == known.dtype.kind
    np.testing.assert_array_equal(found[places], known)


@pytest.mark.parametrize(
    ("known", "labels", "message"),
    [
        ([1, 5], ["a"], "holds strings such as 'a', but the classes of this model are numbers"),
        (["a", "b"], [1], "holds numbers such as 1, but the classes of this model are strings"),
        ([1, 5], np.array([1, "a"], dtype=object), "objects of int, str"),
        ([False, True], [2], "booleans"),
        ([1, 5], [2.5], "continuous. y or classes holds 2.5"),
        ([1, 5], [1e300], "does not fit among whole numbers"),
        (np.array([1, 5]), np.array([2**63 + 1], dtype=np.uint64), "uint64 do not fit"),
    ],
)
def test_labels_of_another_kind(known, labels, message):
    with pytest.raises(ValueError, match=message):
        merge_labels(np.asarray(known), np.asarray(labels))


def test_rows_in_places():
    rows = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]], dtype=np.float32))
    placed = rows_in_places(rows, np.array([3, 1]), 5)
    np.testing.assert_array_equal(
        placed.toarray(), [[0, 0, 0], [0, 3, 0], [0, 0, 0], [1, 0, 2], [0, 0, 0]]
    )
    assert placed.dtype == np.float32
