"""Functions inside of what `datasets/test_docstrings.py` tests from outside."""

import inspect

import numpy as np
import pytest

from sklearn_xc.datasets._docstring_collector import public_docstrings
from sklearn_xc.datasets._docstrings import cut_into_passages


def test_public_docstrings_of_numpy():
    docstrings = public_docstrings("numpy")
    assert list(docstrings) == sorted(docstrings)
    assert docstrings["numpy.linalg.svd"] == inspect.cleandoc(np.linalg.svd.__doc__)
    assert "numpy.ndarray.sort" in docstrings
    assert "numpy.testing.TestCase" not in docstrings  # it is unittest's


DOCSTRING = """Sort the rows of a table by one of its columns.

sort_rows(table, column=0) -> table

Equal rows keep their order (see [1]_). The table itself does not change.

.. versionadded:: 1.2
   With a parameter nobody needs.

.. note:: A column of strings is sorted by the order
   of :func:`~package.module.collate`, e.g. Danish letters.

Parameters
----------
table : {array-like, sparse matrix} of shape (n_rows, n_columns)
    What to sort, row by row, from the first to the last.
column : int, default=0
    Number of the column that decides.

    .. deprecated:: 2.0
       Negative numbers are going away soon.

Returns
-------
array of the same shape as the table
    A new table with its rows in order.

See Also
--------
numpy.sort : Return a sorted copy of an array.

Examples
--------
Two rows that change their places::

    this is no prose at all

>>> sort_rows([[2], [1]])
[[1], [2]]

References
----------
.. [1] D. E. Knuth, The Art of Computer Programming.
"""


def test_cut_into_passages():
    assert cut_into_passages(DOCSTRING) == [
        "Sort the rows of a table by one of its columns.",
        "Equal rows keep their order (see). The table itself does not change.",
        "A column of strings is sorted by the order of package.module.collate, e.g. Danish "
        "letters.",
        "What to sort, row by row, from the first to the last.",
        "Number of the column that decides.",
        "A new table with its rows in order.",
        "Two rows that change their places:",
    ]


@pytest.mark.parametrize(
    "text", ["", "Short.", ">>> 1\n1", "f(x) -> y", "\n\n::\n\n  code code code"]
)
def test_nothing_to_cut(text):
    assert cut_into_passages(text) == []
