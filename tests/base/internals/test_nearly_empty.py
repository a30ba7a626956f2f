"""Functions inside of what `base/test_nearly_empty.py` tests from outside."""

import pytest
from _rare_labels import fitted, rare_labels

from sklearn_xc.base._nearly_empty import FEWEST_SAMPLES


@pytest.mark.parametrize("kind", ["plain", "calibrated"])
def test_few_rows_say_nothing(kind):
    X, Y = rare_labels()
    model = fitted(X, Y, kind)
    model.predict(X[: FEWEST_SAMPLES - 1])
    with pytest.warns(UserWarning, match="no label to"):
        model.predict(X[:FEWEST_SAMPLES])
