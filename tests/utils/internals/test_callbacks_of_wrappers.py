"""Functions inside of what `utils/test_callbacks_of_wrappers.py` tests from outside."""

import joblib
import numpy as np
import pytest
from _recorder import NEW, Recorder
from _wrappers import WRAPPERS

from sklearn_xc.utils import _callbacks


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_fit_the_same_with_callbacks(name, n_jobs, labels):
    wrapper, options, _ = WRAPPERS[name]
    plain = wrapper(**options).fit(*labels)
    told = wrapper(**options, n_jobs=n_jobs)
    if NEW:
        told.set_callbacks(Recorder())
    with joblib.parallel_config(backend="threading"):
        told.fit(*labels)
    assert not any(name in vars(told) for name in _callbacks.STATE)
    np.testing.assert_array_equal(
        plain.predict(labels[0]).toarray(), told.predict(labels[0]).toarray()
    )
