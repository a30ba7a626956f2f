"""The probability of the best class alone, and how the others share what it leaves."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sklearn_xc import MemoirSVC, PPDSparseClassifier, TopKCalibratedClassifier, load
from sklearn_xc.calibration._calibrators import fit_calibration
from sklearn_xc.calibration._top_label import MANY, _below
from sklearn_xc.model_selection._out_of_fold import NO_SCORE, HeldOut, splits_of

N_CLASSES = 5000


def held_out(seed=0, n=4000, k=6):
    """Rows whose best class is right with probability expit(2 * score + lead - 1)."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.normal(size=(n, k)), axis=1)
    p = expit(2 * scores[:, 0] + (scores[:, 0] - scores[:, 1]) - 3)
    hits = np.zeros((n, k), dtype=bool)
    hits[:, 0] = rng.random(n) < p
    others = ~hits[:, 0] & (rng.random(n) < 0.5)
    hits[others, rng.integers(1, k, size=n)[others]] = True
    return HeldOut(scores, hits, np.ones(n), np.ones(n)), p


def test_best_is_a_logistic_regression_and_then_isotonic():
    data, p = held_out()
    transform = fit_calibration("top_label", "multiclass", N_CLASSES, data).transform
    lead = data.scores[:, 0] - data.scores[:, 1]
    features, hit = np.column_stack([data.scores[:, 0], lead]), data.hits[:, 0]
    reference = LogisticRegression(C=1e10, tol=1e-10, solver="newton-cg").fit(features, hit)
    slopes = transform.slope, transform.lead_slope
    np.testing.assert_allclose(slopes, reference.coef_[0], rtol=5e-3)
    combined = features @ slopes
    targets = np.where(hit, (hit.sum() + 1) / (hit.sum() + 2), 1 / ((~hit).sum() + 2))
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(combined, targets)
    np.testing.assert_allclose(transform.best(data.scores), isotonic.predict(combined), rtol=1e-9)
    assert np.abs(transform.best(data.scores) - p).mean() < 0.03


def test_few_rows_have_two_numbers_only():
    data, p = held_out(n=MANY - 1)
    transform = fit_calibration("top_label", "multiclass", N_CLASSES, data).transform
    assert type(transform.curve).__name__ == "Sigmoid"
    assert np.abs(transform.best(data.scores) - p).mean() < 0.05
    more, _ = held_out(n=MANY)
    transform = fit_calibration("top_label", "multiclass", N_CLASSES, more).transform
    assert type(transform.curve).__name__ == "Isotonic"


def test_rows_sum_to_one_and_fall():
    data, _ = held_out()
    calibration = fit_calibration("top_label", "multiclass", N_CLASSES, data)
    missing = np.where(np.arange(6) < 3, data.scores, 10 * NO_SCORE)
    for scores in (data.scores, missing, data.scores[:, [0, 0, 0, 0, 0, 0]]):
        p, rest = calibration.candidates(scores)
        np.testing.assert_allclose(p.sum(axis=1) + (N_CLASSES - 6) * rest, 1, rtol=1e-12)
        assert (np.diff(np.column_stack([p, rest]), axis=1) <= 1e-15).all()
    best = calibration.transform.best(data.scores)
    np.testing.assert_allclose(calibration.candidates(data.scores)[0][:, 0], best, rtol=1e-12)


def test_other_classes_have_their_frequencies():
    """Among the rows whose best class is wrong, the shares of the places are those that held."""
    data, _ = held_out(seed=1)
    calibration = fit_calibration("top_label", "multiclass", N_CLASSES, data)
    p, rest = calibration.candidates(data.scores)
    np.testing.assert_allclose(p.sum(axis=0), data.hits.sum(axis=0), rtol=0.12)
    beyond = len(p) - data.hits.any(axis=1).sum()
    assert (N_CLASSES - 6) * rest.sum() == pytest.approx(beyond, rel=0.05)


def test_shares_below_the_best_are_those_of_one_scale():
    """The others share by `scale`: ``sum(min(best, scale * share) * count) == 1 - best``."""
    rng = np.random.default_rng(2)
    best = np.append(rng.uniform(1 / 30, 1, 50), [1 / 30, 1])
    share = -np.sort(-rng.exponential(size=(52, 5)), axis=1)
    count = np.tile([1.0, 1, 1, 1, 25], (52, 1))
    found = _below(best, share, count)
    for b, s, c, f in zip(best, share, count, found, strict=True):

        def excess(log_scale, b=b, s=s, c=c):
            return (np.minimum(b, np.exp(log_scale) * s) * c).sum() - (1 - b)

        if b < 1 / 30 + 1e-12:
            np.testing.assert_allclose(f, b, rtol=1e-9)
        elif b < 1:
            scale = np.exp(brentq(excess, -60, 60, xtol=1e-13))
            np.testing.assert_allclose(f, np.minimum(b, scale * s), rtol=1e-9)
        else:
            np.testing.assert_allclose(f, 0, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_nothing_to_learn(k):
    """All right, all wrong, all the same score, no second score."""
    data, _ = held_out(n=1200, k=6)
    scores = data.scores[:, :k]
    for hits in (np.eye(1, k, dtype=bool).repeat(1200, 0), np.zeros((1200, k), dtype=bool)):
        for given in (scores, np.ones_like(scores), np.where(np.arange(k) < 1, scores, -1e18)):
            calibration = fit_calibration(
                "top_label", "multiclass", 40, data._replace(scores=given, hits=hits)
            )
            p, rest = calibration.candidates(given)
            np.testing.assert_allclose(p.sum(axis=1) + (40 - k) * rest, 1, rtol=1e-12)
            assert abs(p[:, 0].mean() - hits[:, 0].mean()) < 0.03


@pytest.fixture(scope="module")
def rare():
    """Three thousand classes, most of them with two or three rows, half of them hard to tell."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3000, size=9000))
    centre = rng.normal(size=(3000, 24))
    centre[1::2] = centre[::2] + 0.3 * rng.normal(size=(1500, 24))
    X = (centre[y] + 0.45 * rng.normal(size=(9000, 24))).astype(np.float32)
    order = rng.permutation(9000)
    return X[order[:7000]], y[order[:7000]], X[order[7000:]], y[order[7000:]]


def test_best_of_thousands_of_rare_classes(rare):
    """Divided by a sum hardly any is above 0.8; these are, and right more often than others."""
    X, y, X_test, y_test = rare

    def best(method, seed):
        model = PPDSparseClassifier(random_state=seed)
        wrapped = TopKCalibratedClassifier(model, method=method, cv=0.2).fit(X, y)
        labels, p = wrapped.predict_topk(X_test, 1, scores="proba")
        return p[:, 0], labels[:, 0] == y_test

    p, hit = np.hstack([best("auto", seed) for seed in range(3)])
    hit = hit > 0
    assert (p > 0.8).mean() > max(0.1, 4 * (best("isotonic", 0)[0] > 0.8).mean())
    assert hit[p > 0.8].mean() > 0.75 > hit.mean()
    # the rows that are held out are few: of one seed alone the two differ by up to 0.055
    assert abs(p.mean() - hit.mean()) < 0.04


def test_held_out_rows_have_as_many_new_classes_as_rows_to_come(rare):
    """By shares of classes hardly one would lose all its rows, and the best would seem sure."""
    X, y, _, y_test = rare
    ((train, test),) = splits_of(0.2, X, y, "multiclass")
    assert len(test) == pytest.approx(0.2 * len(y), abs=1)
    new = (~np.isin(y[test], y[train])).mean()
    assert new == pytest.approx((~np.isin(y_test, y)).mean(), abs=0.02)
    assert new > 0.06


def test_it_is_saved(tmp_path, rare):
    X, y, X_test, _ = rare
    few = y < 300
    model = MemoirSVC(calibration="auto", calibration_cv=0.2, random_state=0).fit(X[few], y[few])
    assert model.calibration_.method == "top_label"
    model.save(tmp_path / "model.sxc")
    for mode in (None, "r"):
        loaded = load(tmp_path / "model.sxc", mode)
        np.testing.assert_array_equal(
            loaded.predict_topk(X_test, 7, scores="proba")[1],
            model.predict_topk(X_test, 7, scores="proba")[1],
        )


def test_it_is_for_one_class_a_row():
    X, Y = np.eye(6), np.eye(6, dtype=int)
    with pytest.raises(ValueError, match="'top_label' makes the probabilities of a sample sum"):
        PPDSparseClassifier(calibration="top_label").fit(X, Y)
    with pytest.raises(ValueError, match="'top_label' makes the probabilities of a sample sum"):
        TopKCalibratedClassifier(method="top_label").fit(X, Y)
