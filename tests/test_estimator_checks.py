"""scikit-learn's own checks of every public estimator, and what they leave out of weights."""

import numpy as np
import pytest
import sklearn
from _full import rest_in_full
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

import sklearn_xc

PUBLIC = [getattr(sklearn_xc, name) for name in sklearn_xc.__all__]
PUBLIC = [member for member in PUBLIC if isinstance(member, type)]
PUBLIC = [member for member in PUBLIC if issubclass(member, BaseEstimator)]
TEXT_ESTIMATORS = [sklearn_xc.LDGSWordEmbedding, sklearn_xc.LabelTextClassifier]
ESTIMATORS = [member for member in PUBLIC if issubclass(member, ClassifierMixin)]
ESTIMATORS = [member for member in ESTIMATORS if member not in TEXT_ESTIMATORS]

# These two compare a weighted fit with one on repeated rows to a relative 1e-7. Both stop at a
# duality gap of `tol` and take their samples in a random order of their own, so they agree to the
# tolerance only; test_weights_are_repetitions below compares converged solutions.
WEIGHT_CHECKS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a solver that stops at a duality gap agrees to its tolerance, not to 1e-7",
)
# Repeated rows are other mini-batches, in another order, than rows with weights. For MemoirSVC
# test_memoir_defaults.py shows that converged fits agree to 1e-4 at the default penalty.
STOCHASTIC = dict.fromkeys(
    WEIGHT_CHECKS, "a stochastic solver agrees at convergence, not step by step"
)
# tests/neighbors/test_classifier.py shows that they agree where all rows are neighbours.
NEIGHBORS = dict.fromkeys(
    WEIGHT_CHECKS, "of the k nearest rows one of weight two is one, and two copies are two"
)
EXPECTED_FAILURES = {
    "AugmentReduceClassifier": STOCHASTIC,
    "ImplicitSoftmaxRegressor": STOCHASTIC,
    "LDGSClassifier": STOCHASTIC,
    "MemoirSVC": STOCHASTIC,
    "PPDSparseClassifier": WEIGHT_CHECKS,
    "PPDSparseClassifierCV": WEIGHT_CHECKS,  # fits it, on parts that hold other copies of a row
    "TopKNeighborsClassifier": NEIGHBORS,
    # tests/stacking shows what weights of zero do.
    "TopKStackingClassifier": dict.fromkeys(
        WEIGHT_CHECKS, "holds out a share of the rows; the check asks for splits of its own"
    ),
}
if parse_version(sklearn.__version__) < parse_version("1.9"):
    EXPECTED_FAILURES["TopKThresholdClassifier"] = dict.fromkeys(
        WEIGHT_CHECKS,
        "y of two classes is made by the first entry of each copy, which differs: other problems",
    )
if parse_version(sklearn.__version__) < parse_version("1.7"):  # other data, which agree
    del EXPECTED_FAILURES["TopKStackingClassifier"][
        "check_sample_weight_equivalence_on_sparse_data"
    ]
# What they fit beside the estimator has tests of its own with weights.
STACK = sklearn_xc.TopKStackingClassifier
WRAPPERS = [
    sklearn_xc.TopKAbstainClassifier,
    sklearn_xc.PPDSparseClassifierCV,
    sklearn_xc.TopKCalibratedClassifier,
    sklearn_xc.TopKThresholdClassifier,
]


# Passes over the few samples of a check: by themselves these take 500 to 5,000 (time).
FEW_PASSES = {
    sklearn_xc.AugmentReduceClassifier: 100,
    sklearn_xc.LDGSClassifier: 100,
    sklearn_xc.MemoirSVC: 50,
    sklearn_xc.ImplicitSoftmaxRegressor: 50,
}
# Its default parts take 2,000 passes each, five times on few samples (time).
QUICK_PARTS = [
    ("one_vs_rest", sklearn_xc.PPDSparseClassifier(random_state=0)),
    ("neighbors", sklearn_xc.TopKNeighborsClassifier(random_state=0)),
]


def checked(estimator):
    """An estimator as it is checked: by default, but for folds, passes and parts (time)."""
    if estimator is STACK:
        return STACK(QUICK_PARTS, cv=0.5)
    if estimator in WRAPPERS:
        return estimator(cv=2)
    if estimator in FEW_PASSES:
        return estimator(max_iter=FEW_PASSES[estimator])
    return estimator()


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


CHECKS = parametrize_with_checks(
    [checked(estimator) for estimator in ESTIMATORS], expected_failed_checks=expected_failures
).mark


def test_public_estimators_are_found():
    assert sklearn_xc.PPDSparseClassifier in ESTIMATORS
    assert set(PUBLIC) == {*ESTIMATORS, *TEXT_ESTIMATORS}


# scikit-learn has no text to fit such estimators on; these need none.
CHECKS_WITHOUT_DATA = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("estimator", TEXT_ESTIMATORS)
@pytest.mark.parametrize("name", CHECKS_WITHOUT_DATA)
def test_scikit_learns_check_of_an_estimator_of_text(estimator, name):
    tags = estimator().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags._skip_test
    getattr(estimator_checks, name)(estimator.__name__, estimator())


@pytest.mark.filterwarnings(
    # some checks fit on a feature around 100 or on three rounds: the warning is right
    "ignore:max_iter=.* rounds did not bring:sklearn.exceptions.ConvergenceWarning",
    # some checks fit on noise, which nothing is sure of
    "ignore:no threshold makes 0.9 of the answers right:UserWarning",
    # how old scikit-learn versions announce a check that does not apply
    "ignore:Skipping check:sklearn.exceptions.SkipTestWarning",
)
# as a list, since old scikit-learn versions give a generator and new pytest versions refuse it
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learns_check(estimator, check):
    before = repr(estimator)
    check(estimator)
    assert repr(estimator) == before  # what is checked is a copy


@pytest.mark.parametrize(
    "name",
    [
        "check_classifier_data_not_an_array",
        "check_classifiers_one_label",
        "check_classifiers_train",
        "check_estimator_sparse_tag",
        "check_estimators_pickle",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
    ],
)
def test_scikit_learns_check_of_the_stack_with_its_own_parts(name):
    getattr(estimator_checks, name)("TopKStackingClassifier", STACK())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_only_the_weight_checks_may_fail(estimator):
    expected = expected_failures(estimator())
    assert set(expected) <= set(WEIGHT_CHECKS)
    assert all(expected.values())
    checks = {
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(estimator(), legacy=True)
    }
    assert set(expected) <= checks  # no leftovers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_tag_excuses_an_estimator(estimator):
    tags = estimator().__sklearn_tags__()
    assert not tags._skip_test
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert not tags.classifier_tags.poor_score
    assert tags.input_tags.sparse


@pytest.mark.filterwarnings(
    # a gap of 1e-9 is at the edge of float32
    "ignore:max_iter=.* rounds did not bring:sklearn.exceptions.ConvergenceWarning"
)
@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if one not in [*WRAPPERS, STACK]])
@pytest.mark.parametrize(
    ("container", "n_classes"),
    [
        (sparse.csr_array, 3),
        *rest_in_full([(np.asarray, 2), (np.asarray, 3), (sparse.csr_array, 2)]),
    ],
)
def test_weights_are_repetitions(estimator, container, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(40, 5))
    y = np.arange(40) % n_classes
    weight = rng.integers(0, 4, size=40)
    rows = np.repeat(np.arange(40), weight)
    weighted = converged(estimator(), container(X), y, weight).decision_function(X)
    repeated = converged(estimator(), container(X[rows]), y[rows]).decision_function(X)
    np.testing.assert_allclose(repeated, weighted, atol=1e-4)


# The optimum of the same objective: with a penalty, so that there is one, all samples in one
# mini-batch, all classes in each step.
CONVERGED = {
    "AugmentReduceClassifier": {
        "bound": "exact",
        "alpha": 1.0,
        "learning_rate": 0.5,
        "max_iter": 5000,
        "tol": None,
    },
    "ImplicitSoftmaxRegressor": {
        "solver": "exact",
        "alpha": 1.0,
        "learning_rate": 0.01,
        "decay": 1.0,
        "max_iter": 3000,
        "batch_size": 1000,
    },
    "LDGSClassifier": {
        "gradient": "exact",
        "alpha": 1.0,
        "solver": "sgd",
        "learning_rate": 0.05,
        "decay": 1.0,
        "max_iter": 1000,
        "batch_size": 1000,
    },
    "MemoirSVC": {
        "alpha": 10.0,
        "eta0": 0.1,
        "eta_step": 1.0,
        "average": False,
        "max_iter": 1500,
    },
    # The float32 gap cannot tell solutions 1e-3 apart; descending on from there brings 1e-6.
    "PPDSparseClassifier": {"tol": 1e-9, "max_iter": 1000, "pruning": 0.0, "warm_start": True},
    # All rows are neighbours.
    "TopKNeighborsClassifier": {"n_neighbors": 1000, "power": 2.0, "frequency_power": 0.2},
}


def converged(model, X, y, sample_weight=None):
    model.set_params(random_state=0, **CONVERGED[type(model).__name__])
    for _ in range(10 if getattr(model, "warm_start", False) else 1):
        model.fit(X, y, sample_weight)
    return model
