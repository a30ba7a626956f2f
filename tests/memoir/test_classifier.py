"""MemoirSVC: optimum, search, averages, stopping, going on, bad input."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize
from sklearn.svm import LinearSVC

from sklearn_xc import MemoirSVC, predict_topk
from sklearn_xc.datasets import repeat_per_label
from sklearn_xc.metrics import make_topk_scorer

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]


def mean_hinge(model, X, y, rho):
    scores = X @ model.coef_.T.toarray() + model.intercept_
    own = scores[np.arange(len(y)), y].copy()
    scores[np.arange(len(y)), y] = -np.inf
    return np.maximum(0, 1 - (own - scores.max(axis=1)) / rho).mean()


# -------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_l2_reaches_the_optimum_of_crammer_and_singer(rho, digits):
    """LinearSVC has the same objective for V = W / rho and C = 1 / (n alpha rho^2)."""
    X, y = digits[0][:300], digits[1][:300]
    alpha = 0.01
    options = {"C": 1 / (len(y) * alpha * rho**2), "fit_intercept": False, "tol": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = LinearSVC(multi_class="crammer_singer", max_iter=100_000, **options).fit(X, y)
    optimum = MemoirSVC(fit_intercept=False).fit(X, y)
    optimum.coef_ = sparse.csr_array(rho * exact.coef_)
    model = MemoirSVC(
        alpha=alpha,
        rho=rho,
        batch_size=20,
        eta0=1 / alpha,
        eta_step=1,
        max_iter=1500,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)

    def objective(m):
        return alpha / 2 * (m.coef_.data**2).sum() + mean_hinge(m, X, y, rho)

    assert objective(optimum) * (1 - 1e-4) <= objective(model) <= objective(optimum) * 1.005


@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_l1_reaches_the_optimum_of_a_linear_program(rho):
    rng = np.random.default_rng(0)
    n, d, k, alpha = 40, 6, 3, 0.02
    y = np.arange(n) % k
    X = normalize(rng.normal(size=(k, d))[y] + 0.5 * rng.normal(size=(n, d)))
    n_weights = k * d  # variables: w+, w-, the losses
    cost = np.concatenate([np.full(2 * n_weights, alpha), np.full(n, 1 / n)])
    A, b = [], []
    for i in range(n):
        for r in set(range(k)) - {y[i]}:
            row = np.zeros(2 * n_weights + n)
            for kk, sign in ((y[i], -1), (r, 1)):
                part = slice(kk * d, (kk + 1) * d)
                row[part] += sign * X[i] / rho
                row[n_weights + kk * d : n_weights + (kk + 1) * d] -= sign * X[i] / rho
            row[2 * n_weights + i] = -1
            A.append(row)
            b.append(-1)
    optimum = optimize.linprog(cost, A_ub=np.array(A), b_ub=b).fun
    model = MemoirSVC(
        "l1",
        alpha=alpha,
        rho=rho,
        batch_size=n,
        eta0=3,
        eta_step=0.03,
        max_iter=2500,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)
    objective = alpha * np.abs(model.coef_.data).sum() + mean_hinge(model, X, y, rho)
    assert optimum * (1 - 1e-4) <= objective <= 1.02 * optimum


def test_theorem_2_holds_on_a_run_under_its_conditions(digits):
    """Batches of one, eta = 1 / (alpha t), the averaged iterate; epsilon and delta are 0."""
    X, y = digits[0][:400], digits[1][:400]
    alpha, n_passes = 0.05, 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = 1 / (len(y) * alpha)
        exact = LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, max_iter=100_000
        ).fit(X, y)
    optimum = MemoirSVC(fit_intercept=False).fit(X, y)
    optimum.coef_ = sparse.csr_array(exact.coef_)
    model = MemoirSVC(
        alpha=alpha,
        batch_size=1,
        eta0=1 / alpha,
        eta_step=1,
        max_iter=n_passes,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)

    def objective(m):
        return alpha / 2 * (m.coef_.data**2).sum() + mean_hinge(m, X, y, 1.0)

    steps = n_passes * len(y)
    c = (np.sqrt(alpha) + 2) ** 2  # see the guide's page on MEMOIR, "The theorems"
    assert objective(model) <= objective(optimum) + c * (1 + np.log(steps)) / (2 * alpha * steps)
    assert objective(model) >= objective(optimum) * (1 - 1e-4)


# ---------------------------------------------------------------------------------- the rest


@pytest.mark.parametrize("name", MemoirSVC.PUBLISHED)
def test_the_published_parameters_are_those_of_the_paper(name, many):
    X, y = many
    model = MemoirSVC(**MemoirSVC.PUBLISHED[name], max_iter=1, random_state=0)
    assert (model.eta0, model.eta_step) == (0.1, 0.02)
    assert model.alpha == (1e-6 if name == "l1" else 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of an index with too little recall
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    if name != "l1":  # the ball of radius 1
        assert np.linalg.norm(model.coef_.data) <= 1 + 1e-4


def test_the_average_is_the_mean_of_the_iterates(digits):
    X, y = digits[0][:60], digits[1][:60]
    options = {"alpha": 0.01, "eta0": 0.5, "eta_step": 0.1, "batch_size": 1, "random_state": 0}
    last = MemoirSVC(**options, average=False)
    mean = MemoirSVC(**options).partial_fit(X[:1], y[:1], classes=np.arange(10))
    iterates = []
    for i in range(60):
        last.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(10))
        iterates.append(last.coef_.toarray())
    mean.partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(mean.coef_.toarray(), np.mean(iterates, axis=0), atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_normalized_scores_are_proportional_to_cosines(fit_intercept, digits):
    X, y = digits
    options = {"fit_intercept": fit_intercept, "random_state": 0}
    model = MemoirSVC(normalize_scores=True, **options).fit(X, y)
    plain = MemoirSVC(**options).fit(X, y)
    assert bool(np.abs(plain.intercept_).max()) == fit_intercept
    both = np.hstack([plain.coef_.toarray(), plain.intercept_[:, None]])  # rows have length 1
    found = np.hstack([model.coef_.toarray(), model.intercept_[:, None]])
    np.testing.assert_allclose(found, normalize(both), atol=1e-5)
    two = MemoirSVC(normalize_scores=True, **options).fit(X[y < 2], y[y < 2])
    assert two.coef_.shape == (1, 64)
    assert two.score(X[y < 2], y[y < 2]) > 0.95


def test_early_stopping_watches_the_macro_f1_of_samples_kept_apart(digits):
    X, y = digits
    model = MemoirSVC(
        early_stopping=True,
        n_iter_no_change=2,
        max_iter=50,
        random_state=0,
        validation_fraction=0.2,
    ).fit(X, y)
    scores = model.validation_scores_
    assert len(scores) == len(model.loss_curve_) == model.n_iter_ < 50
    assert scores.argmax() == model.n_iter_ - 3
    assert scores.max() > 0.85
    model.set_params(early_stopping=False, max_iter=2).fit(X, y)
    assert not hasattr(model, "validation_scores_")
    assert model.n_iter_ == 2


@pytest.mark.parametrize(("scores", "warns"), [((0.5, 0.5), False), ((0.5, 0.6), True)])
def test_a_score_that_stays_is_not_said_to_rise(scores, warns, digits, monkeypatch):
    found = iter(scores)
    monkeypatch.setattr(MemoirSVC, "_score_on", lambda *_: next(found))
    model = MemoirSVC(early_stopping=True, max_iter=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*digits)
    assert model.validation_scores_.tolist() == list(scores)
    assert bool(caught) == warns


def test_weights_of_classes_are_weights_of_their_samples(digits):
    X, y = digits[0][:500], digits[1][:500]
    options = {"max_iter": 3, "random_state": 0}
    some = MemoirSVC(class_weight={3: 5.0}, **options).fit(X, y)
    other = MemoirSVC(**options).fit(X, y, sample_weight=np.where(y == 3, 5.0, 1.0))
    np.testing.assert_array_equal(some.coef_.toarray(), other.coef_.toarray())
    weight = 1 / np.bincount(y)[y]
    balanced = MemoirSVC(class_weight="balanced", **options).fit(X, y)
    other = MemoirSVC(**options).fit(X, y, sample_weight=weight * 50)
    np.testing.assert_allclose(
        balanced.coef_.toarray(), other.coef_.toarray(), rtol=1e-2, atol=1e-2
    )
    with pytest.raises(ValueError, match="class_weight names 77"):
        MemoirSVC(class_weight={77: 1.0}).fit(X, y)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_partial_fits_are_a_fit_in_parts(penalty, n_classes, digits):
    X, y = digits[0][digits[1] < n_classes], digits[1][digits[1] < n_classes]
    model = MemoirSVC(penalty, random_state=0)
    for _ in range(3):
        for part in np.array_split(np.arange(len(X)), 4):
            model.partial_fit(X[part], y[part], classes=np.arange(n_classes))
    assert model.n_iter_ == 12
    assert model.score(X, y) > 0.9
    copy = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    model.partial_fit(X, y)
    np.testing.assert_array_equal(copy.coef_.toarray(), model.coef_.toarray())


def test_an_average_can_begin_between_partial_fits(digits):
    X, y = digits[0][:300], digits[1][:300]
    options = {"batch_size": 300, "random_state": 0}
    model = MemoirSVC(**options, average=True).partial_fit(X, y, classes=np.arange(10))
    model.set_params(average=False).partial_fit(X, y)
    last = model.coef_.toarray()
    model.set_params(average=True).partial_fit(X[:1], y[:1])
    of_one = model.coef_.toarray()  # the average of one iterate is that iterate
    saved = model._state.saved
    assert saved.n_iterates == 1
    V = sparse.csc_array((saved.values, saved.classes, saved.indptr), shape=(10, 65)).toarray()
    np.testing.assert_allclose(of_one, saved.scale * V[:, :-1], atol=1e-5)
    assert np.abs(of_one - last).max() > 0


def test_warm_start_goes_on_from_the_last_iterate(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = MemoirSVC(warm_start=True, average=False, max_iter=3, random_state=0).fit(X, y)
    before = model.coef_.toarray()
    model.set_params(eta0=1e-9, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.coef_.toarray(), before, atol=1e-5)
    with pytest.raises(ValueError, match="warm_start=True needs the classes and features"):
        model.fit(X, y % 3)
    np.testing.assert_allclose(model.coef_.toarray(), before, atol=1e-5)


def test_multilabel_rows_repeated_for_each_label():
    rng = np.random.default_rng(0)
    Y = sparse.csr_array((rng.random((300, 8)) < 0.25).astype(int))
    X = sparse.csr_array(Y @ rng.normal(size=(8, 40)))
    repeated, y, rows = repeat_per_label(X, Y)
    assert len(y) == len(rows) == repeated.shape[0] == Y.nnz
    np.testing.assert_array_equal(repeated.toarray(), X.toarray()[rows])
    assert all(Y.toarray()[rows, y])
    model = MemoirSVC(random_state=0).fit(repeated, y)
    best = model.predict(X)
    has = np.asarray(Y.sum(axis=1)).ravel() > 0
    assert Y.toarray()[np.arange(300), best][has].mean() > 0.8
    with pytest.raises(ValueError, match="as many samples"):
        repeat_per_label(X[:3], Y)


def test_pipeline_and_search(digits):
    X, y = digits[0][:600], digits[1][:600].astype(str)
    search = GridSearchCV(
        make_pipeline(Normalizer(), MemoirSVC(random_state=0)),
        {"memoirsvc__alpha": [1e-4, 1e4]},
        scoring=make_topk_scorer("precision_at_k", k=1),
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"memoirsvc__alpha": 1e-4}
    labels, _ = predict_topk(search, X, 3)
    assert (labels == y[:, None]).any(axis=1).mean() > 0.9


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "'penalty' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": "large"}, "'alpha' parameter"),
        ({"rho": 0}, "'rho' parameter"),
        ({"search": "tree"}, "'search' parameter"),
        ({"search_params": 3}, "'search_params' parameter"),
        ({"search_params": {"min_recall": 1.1}}, "'min_recall' parameter"),
        ({"search_params": {"n_bits": 0}}, "'n_bits' parameter of search_params of MemoirSVC"),
        ({"search_params": {"n_bits": 100}}, "'n_bits' parameter of search_params of MemoirSVC"),
        ({"search_params": {"n_bits": 2048}}, "'n_bits' parameter of search_params of MemoirSVC"),
        ({"search_params": {"sketch_dim": 1}}, "'sketch_dim' parameter"),
        ({"search_params": {"n_probes": 1}}, "'n_probes'; MemoirSVC knows 'min_recall', 'n_bits'"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"reduction": "max"}, "'reduction' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"max_iter": "many"}, "'max_iter' parameter"),
        ({"eta0": 0}, "'eta0' parameter"),
        ({"eta_step": -1}, "'eta_step' parameter"),
        ({"sampling": "frequency"}, "'sampling' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change' parameter"),
        ({"class_weight": "even"}, "'class_weight' parameter"),
    ],
)
def test_bad_parameters_have_one_clear_error(options, message, digits):
    model = MemoirSVC(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*digits)
    assert not hasattr(model, "classes_")


def test_overflow_is_reported_and_leaves_nothing_half_fitted(digits):
    X, y = digits
    model = MemoirSVC(max_iter=1, random_state=0).fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"use a smaller eta0 \(here 1e\+12\)"):
        model.set_params(eta0=1e12, alpha=0.0).fit(1e30 * X, y)
    assert model.coef_ is before["coef_"]


@pytest.mark.parametrize("container", [np.eye, sparse.eye_array])
def test_multilabel_y_is_refused_with_a_way_out(container):
    Y = container(4, dtype=int)
    with pytest.raises(ValueError, match=r"one class a sample.*first_label.*repeat_per_label"):
        MemoirSVC().fit(np.eye(4), Y)


def test_impossible_sizes_are_refused_by_number(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "100000")
    X = sparse.csr_array((np.ones(9000), np.arange(9000) * 5, [0, 1, 2, 9000]), (3, 10_000_000))
    with pytest.raises(MemoryError, match="9000 features"):
        MemoirSVC().fit(X, [0, 1, 2])


def test_unusual_arrays(digits, tmp_path):
    """float16, int64 indices, duplicate entries, memory maps, empty rows, rows of zeros."""
    X, y = digits[0][:200].copy(), digits[1][:200]
    X[7] = 0
    model = MemoirSVC(max_iter=2, random_state=0)
    expected = clone(model).fit(sparse.csr_array(X), y).coef_.toarray()
    odd = sparse.csr_array(X)
    odd.indices, odd.indptr = odd.indices.astype(np.int64), odd.indptr.astype(np.int64)
    row, column = np.tile(np.nonzero(X), 2)
    halves = sparse.coo_array((np.tile(X[X != 0] / 2, 2), (row, column)), shape=X.shape)
    for other in (odd, halves, sparse.csc_array(X)):
        np.testing.assert_array_equal(clone(model).fit(other, y).coef_.toarray(), expected)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(clone(model).fit(mapped, y).coef_.toarray(), expected, atol=1e-4)
    half = X.astype(np.float16)
    assert clone(model).fit(half, y).score(half, y) > 0.8
