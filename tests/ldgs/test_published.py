"""LDGS as printed: the settings of the paper, its decay, its threshold query, its bounds."""

import numpy as np
import pytest
from _ldgs_replayed import replayed

from sklearn_xc import LDGSClassifier

PUBLISHED = LDGSClassifier.PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_settings_fit(name, digits, labels):
    system, kind = name.rsplit("_", 1)
    X, y = digits if kind == "multiclass" else labels
    model = LDGSClassifier(**PUBLISHED[name], max_iter=1, random_state=0).fit(X, y)
    assert model.gradient_ == {"softmax": "exact", "sampled_softmax": "sampled"}.get(
        system, {"margin": "exact"}.get(system, system)
    )
    assert (model.solver, model.batch_size, model.decay) == ("sgd", 10, "inverse_steps")
    assert model.mu == (1 if kind == "multiclass" else 5)
    assert model.predict_topk(X[:5], k=3)[0].shape == (5, 3)


def test_sampled_softmax_draws_a_hundredth_of_the_classes_beside_those_of_a_sample():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 8)), np.append(np.arange(500), rng.integers(500, size=100))
    options = PUBLISHED["sampled_softmax_multiclass"]
    model = LDGSClassifier(**options, max_iter=1, random_state=0).fit(X, y)
    assert 5 < model.n_scored_ <= 6


# ------------------------------------------------------------------------------------ the decay


def test_the_rate_falls_over_the_calls_too(digits):
    X, y = digits[0][:30], digits[1][:30]
    model = LDGSClassifier(
        solver="sgd",
        learning_rate=2.0,
        batch_size=1,
        decay="inverse_steps",
        alpha=0,
        fit_intercept=False,
        gradient="exact",
        random_state=0,
    )
    for start in range(0, 30, 10):
        part = slice(start, start + 10)
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    np.testing.assert_allclose(model.coef_, replayed(X, y, 10, 2.0, 1), atol=1e-5)


# ------------------------------------------------------------------------- the threshold query


def test_training_with_a_threshold_of_nothing_is_training_on_all_classes(digits):
    X, y = digits
    options = {
        "gradient": "decomposed",
        "index": "exact",
        "query_size": 10,
        "unretrieved": "zero",
        # after a pass on drawn classes no score is 0
        "warmup": 1,
        "hidden_dim": None,
        "loss": "margin",
        "max_iter": 2,
        "random_state": 0,
    }
    all_classes = LDGSClassifier(**options).fit(X, y)
    by_threshold = LDGSClassifier(**options, query_threshold=0.0).fit(X, y)
    few = LDGSClassifier(**options, query_threshold=1e9).fit(X, y)
    np.testing.assert_allclose(by_threshold.coef_, all_classes.coef_, atol=1e-4)
    assert few.n_scored_ < 0.7 * all_classes.n_scored_


# -------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [("query_size", 1.0), ("query_size", 0.0), ("query_threshold", -1.0), ("decay", "steps")],
)
def test_other_values_are_refused(name, value, digits):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        LDGSClassifier(**{name: value}).fit(*digits)
