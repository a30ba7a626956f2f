"""class_weight as a factor on the weights of samples: LDGS and the softmax models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, LDGSClassifier, load
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import propensities

X, codes = make_xc_classification(300, 80, 6, class_exponent=1.0, random_state=0)
y = np.array(list("abcdef"))[codes]
COUNTS = np.bincount(codes, minlength=6)
MODELS = {
    "ldgs": LDGSClassifier(max_iter=3, random_state=0),
    "hidden": LDGSClassifier(hidden_dim=4, max_iter=3, random_state=0),
    "implicit": ImplicitSoftmaxRegressor(max_iter=3, learning_rate=0.5, random_state=0),
    "exact": ImplicitSoftmaxRegressor(solver="exact", max_iter=3, random_state=0),
    "augment_reduce": AugmentReduceClassifier(max_iter=3, random_state=0),
}
FACTORS = {
    "balanced": compute_class_weight("balanced", classes=np.arange(6), y=codes),
    "propensity": 1 / propensities(codes),
    "dict": np.array([1, 4, 1, 0.5, 1, 1.0]),
}
GIVEN = {"balanced": "balanced", "propensity": "propensity", "dict": {"b": 4, "d": 0.5}}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("name", MODELS)
def test_it_is_a_factor_on_sample_weights(name, kind, tmp_path):
    model = clone(MODELS[name]).set_params(class_weight=GIVEN[kind]).fit(X, y)
    weighted = clone(MODELS[name]).fit(X, y, sample_weight=FACTORS[kind][codes])
    np.testing.assert_array_equal(model.decision_function(X), weighted.decision_function(X))
    plain = clone(MODELS[name]).fit(X, y)
    assert (model.decision_function(X) != plain.decision_function(X)).any()
    np.testing.assert_array_equal(model.label_report_.support, COUNTS)  # samples, not weights
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").class_weight == GIVEN[kind]


@pytest.mark.parametrize("name", MODELS)
def test_beside_sample_weights(name):
    weight = np.random.default_rng(0).integers(0, 3, size=300).astype(float)
    counts = np.bincount(codes, weights=weight, minlength=6)
    factors = counts.sum() / 6 / counts
    model = clone(MODELS[name]).set_params(class_weight="balanced").fit(X, y, weight)
    weighted = clone(MODELS[name]).fit(X, y, weight * factors[codes])
    np.testing.assert_allclose(
        model.decision_function(X), weighted.decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["ldgs", "exact", "augment_reduce"])
def test_two_classes(name):
    two = np.where(codes == 0, "yes", "no")
    model = clone(MODELS[name]).set_params(class_weight={"yes": 3}).fit(X, two)
    weighted = clone(MODELS[name]).fit(X, two, np.where(codes == 0, 3.0, 1.0))
    np.testing.assert_array_equal(model.decision_function(X), weighted.decision_function(X))


@pytest.mark.parametrize("name", ["ldgs", "implicit", "augment_reduce"])
def test_parts(name):
    """A dict may name classes that come later; frequencies are refused."""
    model = clone(MODELS[name]).set_params(class_weight={"b": 4, "z": 2})
    weighted = clone(MODELS[name])
    factors = np.where(codes == 1, 4.0, 1.0)
    for rows in (slice(0, 150), slice(150, 300)):
        model.partial_fit(X[rows], y[rows], classes=list("abcdef"))
        weighted.partial_fit(X[rows], y[rows], classes=list("abcdef"), sample_weight=factors[rows])
    np.testing.assert_array_equal(model.decision_function(X), weighted.decision_function(X))
    before = model.coef_
    model.set_params(class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight='balanced' follows the frequencies of all"):
        model.partial_fit(X, y)
    assert model.coef_ is before


def test_refusals():
    for model in MODELS.values():
        with pytest.raises(ValueError, match="class_weight names 'z', which is not a class of y"):
            clone(model).set_params(class_weight={"z": 2}).fit(X, y)
        with pytest.raises(ValueError, match="class_weight must be above zero"):
            clone(model).set_params(class_weight={"a": 0}).fit(X, y)
        with pytest.raises(ValueError, match="'class_weight' parameter"):
            clone(model).set_params(class_weight="equal").fit(X, y)
    Y = sparse.csr_array(np.eye(6, dtype=int)[codes])
    with pytest.raises(ValueError, match="class_weight of LDGSClassifier is a factor on samples"):
        LDGSClassifier(class_weight="balanced").fit(X, Y)
    tiny = AugmentReduceClassifier(class_weight=dict.fromkeys("abcdef", 1e-9))
    with pytest.raises(ValueError, match=r"sample_weight times class_weight: .* the largest must"):
        tiny.fit(X, y)
