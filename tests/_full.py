"""What `make test` leaves to `make test-full`: further values of a law that one value shows."""

import pytest


def rest_in_full(values, *quick):
    """Values for `parametrize`, tuples for several names; all but `quick` are marked `full`."""
    return [value if value in quick else in_full(value) for value in values]


def in_full(value):
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.full)
