"""X in memory-mapped, read-only files goes through `fit` of all estimators without a copy."""

import numpy as np
import pytest

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
)
from sklearn_xc.datasets import dump_xc, iter_xc, load_xc, make_xc_classification


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """X in memory and mapped, and the class of each row."""
    folder = tmp_path_factory.mktemp("mapped")
    X, Y = make_xc_classification(7000, 2000, 10, n_labels=1, n_tokens=200, random_state=0)
    dump_xc(folder / "data.txt", X, Y)
    mapped, Y = load_xc(folder / "data.txt", to=folder / "data")
    return X, mapped, np.array(Y.indices), folder / "data"


@pytest.mark.parametrize(
    "kind", [MemoirSVC, LDGSClassifier, AugmentReduceClassifier, ImplicitSoftmaxRegressor]
)
def test_partial_fit_over_batches(data, kind):
    """From the folder and from the rows in memory: the same model, and one that has learnt."""
    X, _, y, folder = data
    models = [kind(random_state=0), kind(random_state=0)]
    for i, (rows, labels) in enumerate(iter_xc(folder, batch_size=1000)):
        part = slice(1000 * i, 1000 * i + rows.shape[0])
        models[0].partial_fit(rows, labels.indices, classes=np.arange(10))
        models[1].partial_fit(X[part], y[part], classes=np.arange(10))
    np.testing.assert_array_equal(*(model.predict_topk(X[:500])[1] for model in models))
    assert models[0].score(X, y) > 0.7
