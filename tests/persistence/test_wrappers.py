"""Model files of calibrated models and of wrappers."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_xc import (
    LDGSClassifier,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
    load,
)
from sklearn_xc.datasets import make_xc_classification


@pytest.fixture(scope="module")
def labelled():
    return make_xc_classification(
        n_samples=300, n_features=200, n_classes=20, n_labels=2.5, random_state=0
    )


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_calibrated_model_keeps_its_probabilities(method, mmap_mode, labelled, tmp_path):
    X, Y = labelled
    model = PPDSparseClassifier(calibration=method, calibration_cv=0.3, random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode=mmap_mode)
    np.testing.assert_array_equal(loaded.predict_proba(X[:20]), model.predict_proba(X[:20]))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_a_temperature_is_kept(mmap_mode, labelled, tmp_path):
    X = labelled[0]
    y = np.array(["a", "b", "c"])[np.arange(X.shape[0]) % 3]
    model = PPDSparseClassifier(calibration="temperature", random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode=mmap_mode)
    np.testing.assert_array_equal(loaded.predict_proba(X[:20]), model.predict_proba(X[:20]))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize(
    "wrapper",
    [
        TopKCalibratedClassifier(cv=0.3, method="isotonic"),
        TopKThresholdClassifier(cv=0.3),
        TopKThresholdClassifier(cv=0.3, scope="per_label", max_labels=4),
    ],
)
def test_a_wrapper_is_saved_with_what_it_wraps(wrapper, mmap_mode, labelled, tmp_path):
    X, Y = labelled
    wrapper.fit(X, Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode=mmap_mode)
    assert (loaded.predict(X) != wrapper.predict(X)).nnz == 0
    for expected, found in zip(wrapper.predict_topk(X, 3), loaded.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("hidden_dim", [None, 8])
def test_label_embeddings_of_distances(hidden_dim, mmap_mode, labelled, tmp_path):
    """Prediction makes its lists from them, and training goes on."""
    X, Y = labelled[0].toarray(), labelled[1]
    model = LDGSClassifier(
        similarity="sqeuclidean", hidden_dim=hidden_dim, max_iter=2, random_state=0
    )
    model.fit(X, Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode=mmap_mode)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    loaded.partial_fit(X, Y)
    model.partial_fit(X, Y)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_wrapper_goes_through_skops(labelled):
    skops = pytest.importorskip("skops.io")
    X, Y = labelled
    wrapper = TopKCalibratedClassifier(cv=0.3, method="isotonic").fit(X, Y)
    text = skops.dumps(wrapper)
    loaded = skops.loads(text, trusted=skops.get_untrusted_types(data=text))
    np.testing.assert_array_equal(loaded.predict_proba(X), wrapper.predict_proba(X))


def test_a_calibration_for_other_classes_is_refused(labelled):
    X, Y = labelled
    model = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.3, random_state=0)
    few = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.3, random_state=0)
    model.fit(X, Y)
    model.calibration_ = few.fit(X, Y[:, :12]).calibration_
    with pytest.raises(ValueError, match="for 12 classes, but the model has 20"):
        model.predict_proba(X)


def test_a_wrapper_inside_a_pipeline_is_saved_alone(labelled, tmp_path):
    X, Y = labelled
    inside = make_pipeline("passthrough", TopKCalibratedClassifier(PPDSparseClassifier(), cv=0.3))
    inside.fit(X, Y)[-1].save(tmp_path / "model.sxc")
    loaded = make_pipeline("passthrough", load(tmp_path / "model.sxc"))
    np.testing.assert_array_equal(loaded.predict_proba(X), inside.predict_proba(X))
