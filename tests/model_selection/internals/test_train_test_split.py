"""Functions inside of what `model_selection/test_train_test_split.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc.model_selection._take_rows import take

pytestmark = pytest.mark.kernel


class Columns:
    """A table that knows rows by number and is no NumPy array, as polars' are."""

    shape = (8, 1)
    __dataframe__ = None

    def __len__(self):
        return 8

    def __getitem__(self, rows):
        return "rows", rows.tolist()


def test_rows_of_other_tables_are_taken_by_the_table():
    rows = np.array([5, 2])
    assert take(Columns(), rows) == ("rows", [5, 2])
    assert take(("a", "b", "c", "d", "e", "f"), rows) == ("f", "c")
    assert take(None, rows) is None
    assert take(range(6), rows).tolist() == [5, 2]
