"""Functions inside of what `ppdsparse/test_penalty_pilot.py` tests from outside."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from _near_copies import near_copies
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import ndcg_at_k
from sklearn_xc.ppdsparse import _penalty_pilot as pilot
from sklearn_xc.ppdsparse import _solver
from sklearn_xc.ppdsparse._factor_search import START, START_FOR_SEVERAL, choose_factors
from sklearn_xc.ppdsparse._problem import OneVsRestProblem, Penalties
from sklearn_xc.utils._callbacks import Progress
from sklearn_xc.utils._coordinates import Coordinates
from sklearn_xc.utils._matrix import as_rows
from sklearn_xc.utils._scratch import Scratch

X, Y = make_xc_classification(1500, 400, 60, n_labels=2, random_state=0)
X = sparse.csr_array(X, dtype=np.float32)
Y = sparse.csr_array(Y)
AUTO = PPDSparseClassifier(random_state=0)


def problem_of(X, Y, weight=None):
    weight = np.ones(Y.shape[0], np.float32) if weight is None else weight
    classes = np.ones((Y.shape[1], 2), np.float32)
    Y = sparse.csr_array(Y, dtype=np.uint8)
    return OneVsRestProblem(as_rows(X), Y, weight, classes, Penalties(0.05, 1.0, Coordinates()))


# ---------------------------------------------------------------------------------------- choices


@pytest.mark.parametrize("peak", [(0.2, 0.1), (1.0, 1.0), (4.0, 10.0), (1.0, 0.3)])
def test_the_search_ends_at_the_top_of_a_surface(peak):
    def mean(pair, near=None):
        return -sum(np.log(a / b) ** 2 for a, b in zip(pair, peak, strict=True))

    scores = SimpleNamespace(
        mean=mean, gain=lambda pair, over: 100 * (mean(pair) - mean(over)), one_label=True
    )
    l1, l2 = choose_factors(scores, pilot.L1_FACTORS, pilot.L2_FACTORS)
    assert l1 == peak[0]
    assert l2 == pytest.approx(peak[1], rel=1e-6)


@pytest.mark.parametrize(("one_label", "start"), [(True, START), (False, START_FOR_SEVERAL)])
def test_a_gain_within_half_a_standard_error_moves_no_l2(one_label, start):
    scores = SimpleNamespace(mean=lambda *_: 0.0, gain=lambda *_: 0.4, one_label=one_label)
    assert choose_factors(scores, (1.0,), pilot.L2_FACTORS) == (1.0, start)


@pytest.mark.parametrize(
    ("one_label", "l2", "gain", "l1"),
    [
        (True, 1.0, 0.9, 1.0),
        (True, 1.0, 1.1, 0.02),
        (True, 0.3, 0.1, 0.2),
        (True, 0.3, 0.6, 0.02),
        (False, 0.3, 0.9, 1.0),
    ],
)
def test_a_weaker_l1_has_to_gain_a_standard_error_but_for_clean_labels(one_label, l2, gain, l1):
    """It makes a far larger model: ten times the weights on yso_finna_en_small."""

    def gained(pair, over):
        if pair[1] != over[1]:
            return np.sign(np.log(over[1] / l2) ** 2 - np.log(pair[1] / l2) ** 2)
        return gain if pair[0] < over[0] else -1

    scores = SimpleNamespace(mean=lambda *_: 0.0, gain=gained, one_label=one_label)
    assert choose_factors(scores, pilot.L1_FACTORS, pilot.L2_FACTORS)[0] == l1


@pytest.mark.parametrize(("one_label", "l1"), [(True, 1.0), (False, 4.0)])
def test_samples_of_several_labels_take_a_strong_l1_that_is_nearly_as_good(one_label, l1):
    scores = SimpleNamespace(mean=lambda *_: 0.0, gain=lambda *_: -0.4, one_label=one_label)
    assert choose_factors(scores, pilot.L1_FACTORS, pilot.L2_FACTORS)[0] == l1


# ------------------------------------------------------------------------------------------- costs


def fits_of(X, Y):
    """What the fits of a pilot began from and came to."""
    fits, fit = [], pilot.PilotScores._fit

    def noted(self, pair, dual):
        fits.append((pair, dual, fit(self, pair, dual)))
        return fits[-1][2]

    with mock.patch.object(pilot.PilotScores, "_fit", noted):
        clone(AUTO).fit(X, Y)
    return fits


@pytest.mark.parametrize("chance", [0.0, 0.4, 0.8])
def test_every_fit_but_the_first_begins_with_the_dual_variables_of_another(chance):
    pairs, duals, results = zip(*fits_of(*near_copies(80, 12, chance)), strict=True)
    assert len(set(pairs)) == len(pairs) <= 9
    made = [id(result["dual"]) for result in results]
    assert duals[0] is None
    assert all(id(dual) in made[:i] for i, dual in enumerate(duals) if i)


def test_a_pilot_fits_no_more_classes_than_a_share_of_the_work_allows():
    X, y = near_copies(800, 6, 0.0)
    X = X.astype(np.float32)
    problem = problem_of(X, sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), y))))
    whole = pilot.pilot_of(problem)
    entries = X.nnz / X.shape[0] + pilot.ROW_ENTRIES
    visits = pilot.CLASS_VISITS + 6 * pilot.POSITIVE_VISITS
    with mock.patch.object(pilot, "LEAST_WORK", 300 * visits * entries):
        part = pilot.pilot_of(problem)
    assert 150 < part.problem.Y.shape[1] <= 300 < whole.problem.Y.shape[1]
    assert len(part.truth) >= pilot.FEWEST_FOR_WORK
    with mock.patch.object(pilot, "LEAST_WORK", 0), mock.patch.object(pilot, "WORK_SHARE", 0.5):
        share = pilot.pilot_of(problem)
    assert 300 < share.problem.Y.shape[1] <= 400


def test_a_pilot_on_dense_samples_fits_fewer_classes_the_more_features_they_have():
    X, y = near_copies(800, 6, 0.0)
    Y = sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), y)))
    visits, fitted = pilot.CLASS_VISITS + 6 * pilot.POSITIVE_VISITS, []
    for n_features in 16, 64:
        dense = X[:, :n_features].toarray().astype(np.float32)
        with mock.patch.object(pilot, "LEAST_WORK", 300 * visits * 12):
            fitted.append(pilot.pilot_of(problem_of(dense, Y)).problem.Y.shape[1])
    # a visit costs 8 + 16 / 4 = 12 of the 16 features, twice as much of the 64
    assert fitted[0] <= 300
    assert fitted[1] < fitted[0]


def test_samples_of_several_labels_take_less_work():
    X, Y = make_xc_classification(3000, 400, 30, n_labels=3, random_state=0)
    X, Y = sparse.csr_array(X, dtype=np.float32), sparse.csr_array(Y)
    few = pilot.pilot_of(problem_of(X, Y)).problem.Y.shape[0]
    with mock.patch.object(pilot, "MOST_OF_SEVERAL", pilot.MOST_POSITIVES):
        many = pilot.pilot_of(problem_of(X, Y)).problem.Y.shape[0]
    assert few < many
    X, Y = make_xc_classification(3000, 400, 600, n_labels=3, random_state=0)
    X, Y = sparse.csr_array(X, dtype=np.float32), sparse.csr_array(Y)
    n_classes = []
    for least in 1e7, 1e12:
        with mock.patch.object(pilot, "LEAST_FOR_SEVERAL", least):
            n_classes.append(pilot.pilot_of(problem_of(X, Y)).problem.Y.shape[1])
    assert n_classes[0] < n_classes[1]


@pytest.mark.parametrize("n_labels", [1, 6])
def test_samples_of_many_labels_bring_in_fewer_neighbours(n_labels):
    X, Y = make_xc_classification(1500, 400, 300, n_labels=n_labels, random_state=0)
    asked, of = set(), pilot._Neighbours.of

    def noted(self, held, k):
        asked.add(k)
        return of(self, held, k)

    with mock.patch.object(pilot._Neighbours, "of", noted):
        pilot.pilot_of(problem_of(sparse.csr_array(X, dtype=np.float32), Y))
    assert asked == {3 if n_labels == 1 else 1}


# ------------------------------------------------------------------------------- when and when not


def test_labels_of_one_sample_take_weak_penalties():
    model = clone(AUTO).fit(X[:300], np.arange(300))
    assert model.penalty_factors_ == pilot.SINGLE


# ------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("dense", [False, True])
def test_held_out_samples_and_what_is_fitted(dense):
    part = pilot.pilot_of(problem_of(X.toarray() if dense else X, Y))
    held, fitted = part.held_rows.matrix(), part.problem.rows.matrix()
    held, fitted = (M if dense else M.toarray() for M in (held, fitted))
    assert not {row.tobytes() for row in held} & {row.tobytes() for row in fitted}
    assert len(held) == len(part.truth) == len(part.weight) >= pilot.FEWEST_HELD
    counts = np.asarray(Y.sum(axis=0)).ravel()
    left = np.asarray(part.problem.Y.sum(axis=0)).ravel()
    assert part.truth.shape[1] == part.problem.Y.shape[1] == len(left)
    assert (left + part.truth.sum(axis=0) <= counts[counts > 0].max()).all()
    # each class keeps half of its positives at least, where it has as many as are kept
    total = left + part.truth.sum(axis=0)
    assert (left >= np.minimum(total // 2, pilot.MOST_POSITIVES // 4)).all()


def test_samples_that_stand_for_others_weigh_as_much():
    few = Y.tolil()
    few[300:] = 0  # most samples have no label
    part = pilot.pilot_of(problem_of(X, sparse.csr_array(few)))
    assert part is None or part.problem.sample_weight.sum() + len(part.truth) == pytest.approx(1500)


def test_scores_are_ndcg():
    part = pilot.pilot_of(problem_of(X, Y))
    settings = AUTO._settings(part.problem.penalties)
    scores = pilot.PilotScores(part, settings, 1)
    fitted = scores._fit((1.0, 1.0), None)
    D = part.held_rows.matrix() @ fitted["coef"].T.toarray() + fitted["intercept"]
    best = np.argsort(-D, axis=1, kind="stable")[:, :5]
    expected = ndcg_at_k(sparse.csr_array(part.truth.astype(int)), best, k=5)
    # labels of held-out samples that no fitted sample has are not counted by either
    counted = part.truth.any(axis=1)
    assert scores.of((1.0, 1.0))[counted].mean() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dense", [True, False])
def test_all_fits_of_the_pilot_share_one_arrangement_and_are_those_of_their_own(dense):
    part = pilot.pilot_of(problem_of(X.toarray() if dense else X, Y))
    settings, pairs = AUTO._settings(part.problem.penalties), ((1.0, 1.0), (0.2, 0.3))
    with mock.patch.object(_solver, "arrange", side_effect=AssertionError):
        scores = pilot.PilotScores(part, settings, 2)
        shared = [scores._fit(pair, None) for pair in pairs]
    penalties = part.problem.penalties
    for fitted, (l1, l2) in zip(shared, pairs, strict=True):
        of_pair = {"l1": l1 * penalties.l1, "l2": l2 * penalties.l2}
        own = _solver.fit_classes(
            part.problem,
            scores._settings | of_pair,
            feature_threshold=0.0,
            dual=None,
            keep_dual=True,
            n_jobs=1,
            progress=Progress(),
            scratch=Scratch(),
        )
        for name in "coef", "dual":
            np.testing.assert_array_equal(fitted[name].toarray(), own[name].toarray())
        np.testing.assert_array_equal(fitted["intercept"], own["intercept"])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_nearest_samples_are_those_of_largest_cosine(n_threads):
    rows, held, others = as_rows(X), np.arange(50), np.arange(50, 1500)
    near = pilot._Neighbours(rows, others, n_threads).of(held, 3)
    unit = X.toarray() / np.linalg.norm(X.toarray(), axis=1)[:, None]
    cosines = unit[held] @ unit[others].T
    best = np.sort(cosines, axis=1)[:, -3:]
    found = np.sort(np.take_along_axis(cosines, near - 50, axis=1), axis=1)
    np.testing.assert_allclose(found, best, atol=1e-6)
