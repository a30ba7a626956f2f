import numpy as np
import pytest

from sklearn_xc.training._schedules import share_of_rate


@pytest.mark.parametrize("decay", ["linear", "inverse", 0.5])
@pytest.mark.parametrize("n_passes", [None, 4])
def test_rates_begin_whole_and_fall(decay, n_passes):
    shares = share_of_rate(decay, np.arange(0, 4.5, 0.5), n_passes)
    assert shares[0] == 1
    assert (np.diff(shares) <= 0).all()
    assert shares[-1] < 0.5
    assert shares.tolist() == [share_of_rate(decay, t, n_passes) for t in np.arange(0, 4.5, 0.5)]


def test_values():
    assert share_of_rate("linear", 1, 4) == 0.75
    assert share_of_rate("linear", 9, 4) == 0  # in passes after the last
    assert share_of_rate("linear", 3) == 0.5
    assert share_of_rate("inverse", 3, 4) == 0.25
    assert share_of_rate(0.9, 2.7, 4) == 0.9**2
