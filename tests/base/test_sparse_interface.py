"""Which sparse container answers come in, and scikit-learn's setting of it."""

import numpy as np
import pytest
import sklearn
from scipy import sparse

from sklearn_xc import (
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(200, 100, 10, n_labels=2, random_state=0)
CONTAINERS = [sparse.csr_array, sparse.csr_matrix]
has_setting = pytest.mark.skipif(
    "sparse_interface" not in sklearn.get_config(), reason="scikit-learn 1.9 has the setting"
)


@pytest.mark.parametrize("container", CONTAINERS)
def test_predictions_come_as_y_did(container):
    model = PPDSparseClassifier(random_state=0).fit(X, container(Y))
    assert type(model.predict(X)) is container
    assert type(model.coef_) is sparse.csr_array
    assert type(model.predict_topk(X, 2, sparse_output=True)) is sparse.csr_array


@has_setting
@pytest.mark.parametrize("container", CONTAINERS)
def test_arrays_where_they_are_asked_for(container):
    model = PPDSparseClassifier(random_state=0).fit(X, container(Y))
    thresholds = TopKThresholdClassifier(PPDSparseClassifier(random_state=0)).fit(X, container(Y))
    with sklearn.config_context(sparse_interface="sparray"):
        for estimator in (model, thresholds):
            assert type(estimator.predict(X)) is sparse.csr_array
        assert type(model.predict_topk(X, 2, sparse_output=True)) is sparse.csr_array
    assert type(model.predict(X)) is container


@has_setting
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_default_of_the_setting_leaves_them_as_they_are(container):
    model = PPDSparseClassifier(random_state=0)
    with sklearn.config_context(sparse_interface="spmatrix"):
        predicted = model.fit(X, container(Y)).predict(X)
        assert type(predicted) is container
        assert 0 <= model.score(X, container(Y)) <= 1
    np.testing.assert_array_equal(predicted.toarray(), model.predict(X).toarray())


def test_an_indicator_of_one_column_is_scored():
    rows, y = np.eye(2)[np.arange(40) % 2], sparse.csr_array(np.arange(40)[:, None] % 2)
    for model in (PPDSparseClassifier(), TopKNeighborsClassifier(), TopKStackingClassifier()):
        assert model.fit(rows, y).score(rows, y) == 1
    for wrapper in (TopKCalibratedClassifier, TopKThresholdClassifier):
        model = wrapper(PPDSparseClassifier(), cv=2).fit(rows, y)
        assert model.score(rows, y, sample_weight=np.ones(40)) == 1
