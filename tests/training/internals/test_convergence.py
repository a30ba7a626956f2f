"""The number of passes, and the warnings of fits that ended too early."""

import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc.training._convergence import (
    FEWEST_STEPS,
    number_of_passes,
    still_rose,
    warn_not_converged,
)


@pytest.mark.parametrize("n_samples", [1, 10, 150, 999, 5000, 10**6])
@pytest.mark.parametrize("batch_size", [1, 16, 500])
def test_auto_makes_enough_steps_and_the_usual_passes(n_samples, batch_size):
    passes = number_of_passes("auto", 10, n_samples, batch_size)
    steps_a_pass = -(-n_samples // batch_size)
    assert passes >= 10
    assert passes * steps_a_pass >= FEWEST_STEPS
    assert passes == 10 or (passes - 1) * steps_a_pass < FEWEST_STEPS


def test_a_number_is_taken_as_it_is():
    assert number_of_passes(3, 10, 100, 10) == 3


def test_the_warning_points_at_the_caller():
    def fit():
        warn_not_converged("max_iter=1 ended", stacklevel=2)

    with pytest.warns(ConvergenceWarning, match="max_iter=1") as found:
        fit()
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("scores", "rose"),
    [
        ([1.0, 1.0, 1.0], False),
        ([0.9, 1.0, 1.0], False),
        ([0.7, 0.7], False),
        ([0.7], False),
        ([0.8, 0.7, 0.6], False),
        ([0.7, 0.8], True),
        ([0.7, 0.9, 0.8], True),
    ],
)
def test_only_what_rose_and_can_rise_more_still_rises(scores, rose):
    assert still_rose(scores) is rose
