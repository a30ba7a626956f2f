"""Functions inside of what `test_mapped_rows.py` tests from outside."""

import numpy as np
import pytest
from _memory import with_peak

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.datasets import dump_xc, load_xc, make_xc_classification
from sklearn_xc.utils import _csr, _rows

# What a fit may have beside X, as a share of X: arrays by row; for PPDSparse the lists of sixteen
# lanes, of which pages are used as they grow; for A&R the values a second time, since columns are
# brought to one size; for implicit SGD the samples that judge rates.
SHARE = {
    PPDSparseClassifier: 0.8,
    MemoirSVC: 0.3,
    LDGSClassifier: 0.3,
    AugmentReduceClassifier: 0.9,
    ImplicitSoftmaxRegressor: 0.6,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """X of 13 MB in memory and mapped, and the class of each row."""
    folder = tmp_path_factory.mktemp("mapped")
    X, Y = make_xc_classification(20_000, 2000, 10, n_labels=1, n_tokens=200, random_state=0)
    dump_xc(folder / "data.txt", X, Y)
    mapped, Y = load_xc(folder / "data.txt", to=folder / "data")
    return X, mapped, np.array(Y.indices), folder / "data"


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_csr, "STRETCH", 1 << 16)
    monkeypatch.setattr(_rows, "HASHED_AT_ONCE", 1 << 14)


def estimator(kind, tmp_path):
    options = {"scratch": tmp_path} if kind is PPDSparseClassifier else {}
    return kind(max_iter=1, random_state=0, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", SHARE)
def test_no_copy_in_memory_and_the_same_model(data, small_pieces, tmp_path, kind):
    X, mapped, y, _ = data
    assert not mapped.data.flags.writeable
    estimator(kind, tmp_path).fit(mapped[:500], y[:500])  # what is imported at the first fit
    model, peak = with_peak(lambda: estimator(kind, tmp_path).fit(mapped, y))
    assert peak < SHARE[kind] * 8 * X.nnz
    expected = kind(max_iter=1, random_state=0).fit(X, y)
    some, other = model.predict_topk(mapped[:200]), expected.predict_topk(X[:200])
    for found, wanted in zip(some, other, strict=True):
        np.testing.assert_array_equal(found, wanted)
