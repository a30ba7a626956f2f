"""AugmentReduceClassifier without arguments: free of scale, honest about its end."""

import numpy as np
import pytest
from _ctrl_c import ctrl_c
from _full import rest_in_full
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_xc import AugmentReduceClassifier

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")
RAW = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}


@pytest.mark.parametrize("name", rest_in_full(RAW, "wine"))
@pytest.mark.parametrize("bound", ["auto", "augment_reduce"])
def test_raw_columns_are_learnt_without_arguments(name, bound):
    X, y = RAW[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    model = AugmentReduceClassifier(bound=bound, random_state=0).fit(X, y)
    other = LogisticRegression(max_iter=5000).fit((X - X.mean(0)) / (X.std(0) + 1e-9), y)
    best = other.score((X_test - X.mean(0)) / (X.std(0) + 1e-9), y_test)
    error = np.sqrt(best * (1 - best) / len(y_test))
    assert model.score(X_test, y_test) > best - 0.03 - 2 * error
    assert model.log_likelihood(X_test, y_test) > -0.2


@pytest.mark.parametrize(
    "options", [{}, {"bound": "augment_reduce"}, {"model": "probit"}, {"bound": "one_vs_each"}]
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_factor_on_all_of_x_changes_nothing(options, container):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    expected = None
    for factor in (1.0, 2.0**-10, 2.0**10, 2.0**40):  # powers of two round as 1 does
        model = AugmentReduceClassifier(**options, max_iter=10, random_state=0)
        p = model.fit(container(X * factor), y).predict_proba(container(X * factor))
        expected = p if expected is None else expected
        np.testing.assert_allclose(p, expected, atol=1e-3)
        assert model.intercept_.max() < 10


def test_columns_in_units_of_their_own_change_nothing():
    X, y = load_wine(return_X_y=True)
    units = 2.0 ** np.arange(13)
    some = AugmentReduceClassifier(max_iter=100, random_state=0).fit(X, y)
    other = AugmentReduceClassifier(max_iter=100, random_state=0).fit(X * units, y)
    np.testing.assert_allclose(other.predict_proba(X * units), some.predict_proba(X), atol=5e-3)


def test_a_few_rows_too_many_are_no_step_of_their_own():
    X, y = load_digits(return_X_y=True)
    options = {"learning_rate": 0.1, "alpha": 0.0, "max_iter": 60, "random_state": 0}
    for bound in ("exact", "augment_reduce"):
        found = [
            AugmentReduceClassifier(bound=bound, batch_size=size, **options)
            .fit(X / 16, y)
            .log_likelihood(X / 16, y)
            for size in (899, 1796)  # batches of 599, of 898 or 899
        ]
        assert found[0] == pytest.approx(found[1], rel=0.25)


def test_bound_auto_goes_by_the_number_of_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 4)), np.arange(1200)
    options = {"n_sampled_classes": 1, "max_iter": 1, "random_state": 0}
    for n_classes, rate in ((100, None), (101, 10.0)):
        model = AugmentReduceClassifier(**options).fit(X, np.arange(1200) % n_classes)
        assert model.bound_ == "exact"
        assert (model.learning_rate_ == 10.0) == (rate is not None)
    assert AugmentReduceClassifier("probit", **options).fit(X, np.arange(1200)).bound_ == "exact"
    for given in {"learning_rate": 0.01}, {"batch_size": 50}:
        model = AugmentReduceClassifier(**options | given).fit(X, np.arange(1200))
        assert model.bound_ == "augment_reduce"
    assert AugmentReduceClassifier("probit", max_iter=1).fit(X, y % 3).bound_ == "augment_reduce"


def test_a_stream_goes_on_from_exact_steps():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 200), density=0.05, rng=rng, format="csr", dtype=np.float32)
    y = np.arange(3000) % 1100
    model = AugmentReduceClassifier(random_state=0).fit(X, y)
    before = model.log_likelihood(X, y)
    model.partial_fit(X[:600], y[:600])
    assert model.bound_ == "augment_reduce"
    assert model.log_likelihood(X, y) > before - 0.5


def test_passes_follow_the_size_of_the_data():
    X, y = load_iris(return_X_y=True)
    assert AugmentReduceClassifier(random_state=0).fit(X, y).n_iter_ == 1000
    assert AugmentReduceClassifier(batch_size=5, random_state=0).fit(X, y).n_iter_ == 34
    assert AugmentReduceClassifier(batch_size=1, random_state=0).fit(X, y).n_iter_ == 20


def test_what_did_not_converge_is_said():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"tol=1e-09 .* increase max_iter or tol"):
        AugmentReduceClassifier(tol=1e-9, max_iter=6, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="below the .* of its start"):
        AugmentReduceClassifier(
            bound="augment_reduce", learning_rate=50.0, max_iter=2, random_state=0
        ).fit(X, y)
    AugmentReduceClassifier(tol=0.5, max_iter=50, random_state=0).fit(X, y)  # no warning


@pytest.mark.parametrize("after", [0.2, 0.6])
def test_an_interruption_is_heard_within_a_second(after):
    """On weights whose memory alone takes the system a while to give."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((6000, 8000), density=2e-3, rng=rng, format="csr", dtype=np.float32)
    model = AugmentReduceClassifier(bound="augment_reduce", max_iter=10_000, random_state=0)
    with ctrl_c(after) as seconds, pytest.raises(KeyboardInterrupt):
        model.fit(X, np.arange(6000))
    assert seconds[0] < 1
    assert not hasattr(model, "classes_")
