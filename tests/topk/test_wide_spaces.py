"""An index of weights in few columns of a wide space costs what these columns cost."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import PPDSparseClassifier, load

pytestmark = pytest.mark.kernel
WIDE = 2**20


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_a_loaded_model_answers_the_same(tmp_path, mmap_mode):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 6
    columns = rng.choice(WIDE, 12)[np.c_[y, y + 6]]
    X = sparse.csr_array((np.ones(120), columns.ravel(), np.arange(0, 121, 2)), (60, WIDE))
    model = PPDSparseClassifier().fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    some = loaded.predict_topk(X, 2, labels=[1, 3])
    assert all(map(np.array_equal, some, model.predict_topk(X, 2, labels=[1, 3])))
    each = [[0, 5]] * 60
    candidates = loaded.predict_topk(X, 2, labels=each), model.predict_topk(X, 2, labels=each)
    assert all(map(np.array_equal, *candidates))
    assert (loaded.coef_ != model.coef_).nnz == 0
