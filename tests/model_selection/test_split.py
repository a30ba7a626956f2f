"""The splitters and train_test_split: what they guarantee, for any y."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from _indicators import dense, indicators
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GridSearchCV, check_cv, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_xc
from sklearn_xc.model_selection import IterativeStratifiedKFold, RareLabelKFold

pytestmark = pytest.mark.kernel

SPLITTERS = [RareLabelKFold, IterativeStratifiedKFold]


def split(cv, y):
    """The splits, and whether a warning said that not everything can be kept."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folds = list(cv.split(np.zeros((y.shape[0], 1)), y))
    assert all("no way was found" in str(warning.message) for warning in caught)
    return folds, bool(caught)


def counts_in_tests(Y, folds):
    return np.array([dense(Y)[test].sum(axis=0) for _, test in folds])


@given(indicators(), st.integers(2, 6), st.sampled_from(SPLITTERS), st.booleans(), st.booleans())
def test_guarantees(Y, n_splits, splitter, shuffle, pin):
    cv = splitter(
        n_splits, shuffle=shuffle, random_state=3 if shuffle else None, pin_singletons=pin
    )
    total = dense(Y).sum(axis=0)
    alone = dense(Y)[:, total == 1].any(axis=1) & pin
    if (~alone).sum() < n_splits:
        with pytest.raises(ValueError, match=r"n_splits=\d is more than the \d+ of \d+ samples"):
            next(cv.split(Y, Y))
        return
    folds, warned = split(cv, Y)
    times = np.zeros(Y.shape[0], dtype=int)
    for train, test in folds:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(Y.shape[0]))
        times[test] += 1
    sizes = [len(test) for _, test in folds]
    assert min(sizes) > 0
    assert max(sizes) - min(sizes) <= 1
    assert (times <= 1).all()
    assert not times[alone].any()
    if not (warned and pin):
        assert times[~alone].all()
    if not (warned and not pin):
        left = total - counts_in_tests(Y, folds)
        assert (left[:, total >= 2] >= 1).all()
        assert (left[:, total == 1] == 1).all() or not pin


@given(
    st.lists(st.integers(0, 6), min_size=6, max_size=60),
    st.integers(2, 5),
    st.sampled_from(SPLITTERS),
    st.booleans(),
)
def test_classes_are_spread_within_one_row(labels, n_splits, splitter, shuffle):
    y = np.array([f"class {label}" for label in labels])
    names, numbers = np.unique(y, return_inverse=True)
    cv = splitter(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    if len(names) < 2 or (np.bincount(numbers)[numbers] > 1).sum() < n_splits:
        with pytest.raises(ValueError, match=r"y holds 1 class|is more than the"):
            next(cv.split(y, y))
        return
    folds, warned = split(cv, y)
    assert not warned
    counts = np.array([np.bincount(numbers[test], minlength=len(names)) for _, test in folds])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    assert np.ptp([len(test) for _, test in folds]) <= 1


def feasible(Y, n_splits):
    """Whether some even placement of the rows keeps every label, by trying them all."""
    n_rows = len(Y)
    total = Y.sum(axis=0)
    sizes = sorted(np.diff(np.arange(n_splits + 1) * n_rows // n_splits))
    for part in itertools.product(range(n_splits), repeat=n_rows):
        if sorted(np.bincount(part, minlength=n_splits)) == sizes:
            tested = np.array([Y[np.array(part) == p].sum(axis=0) for p in range(n_splits)])
            if (tested != total)[:, total > 1].all():
                return True
    return False


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("n_splits", [2, 3])
def test_what_is_possible_is_found_on_small_data(splitter, n_splits):
    rng = np.random.default_rng(n_splits)
    found = []
    for _ in range(40):
        pairs = np.array([rng.permutation(6)[: rng.integers(2, 4)] for _ in range(6)], dtype=object)
        Y = np.array([[row in pair for pair in pairs] for row in range(6)], dtype=int)
        _, warned = split(splitter(n_splits, pin_singletons=False), Y)
        assert warned != feasible(Y, n_splits)
        found.append(warned)
    assert not all(found)
    assert any(found) or n_splits > 2


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_what_gives_way_where_not_everything_is_possible(splitter):
    triangle = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0], [0, 0, 0]])
    with pytest.warns(UserWarning, match="1 samples are not tested"):
        folds = list(splitter(2).split(triangle, triangle))
    assert sum(len(test) for _, test in folds) == 4
    assert (triangle.sum(axis=0) - counts_in_tests(triangle, folds) >= 1).all()
    with pytest.warns(UserWarning, match="1 labels with two or more positives are missing from a"):
        folds = list(splitter(2, pin_singletons=False).split(triangle, triangle))
    assert sum(len(test) for _, test in folds) == 5


def test_levelling_takes_rows_out_of_larger_parts():
    """Six rows of which every two share a label, in three parts: two of each part must go."""
    pairs = list(itertools.combinations(range(6), 2))
    Y = np.array([[row in pair for pair in pairs] for row in range(6)], dtype=int)
    with pytest.warns(UserWarning, match="3 samples are not tested"):
        folds = list(RareLabelKFold(3).split(Y, Y))
    assert [len(test) for _, test in folds] == [1, 1, 1]


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_chained_labels_of_two_positives(splitter):
    """A cycle of an even number of rows, neighbours sharing a label: one way to split it in two."""
    n_rows = 200
    rows = np.arange(n_rows)
    data = np.ones(2 * n_rows), (np.tile(rows, 2), np.append(rows, (rows + 1) % n_rows))
    Y = sparse.csr_array(data)
    for n_splits in (3, 5):
        folds, warned = split(splitter(n_splits), Y)
        assert not warned
        assert counts_in_tests(Y, folds).max() == 1


def test_rows_of_a_rarest_label_are_dealt_within_two():
    rng = np.random.default_rng(1)
    Y = (rng.random((600, 15)) < rng.uniform(0.05, 0.3, size=15)).astype(int)
    frequency = Y.sum(axis=0)
    rarest = np.where(Y > 0, frequency, 10**6).argmin(axis=1)
    rarest[~Y.any(axis=1)] = 15
    folds, _ = split(RareLabelKFold(4), Y)
    counts = np.array([np.bincount(rarest[test], minlength=16) for _, test in folds])
    assert np.ptp(counts, axis=0).max() <= 2


CONTAINERS = {
    "list": lambda Y: Y.tolist(),
    "bool": lambda Y: Y.astype(bool),
    "float16": lambda Y: Y.astype(np.float16),
    "frame": lambda Y: pd.DataFrame(Y, columns=[f"label {j}" for j in range(Y.shape[1])]),
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
    "int64 indices": lambda Y: _with_int64(sparse.csr_array(Y)),
    "explicit zeros": lambda Y: _with_zeros(Y),
    "read-only": lambda Y: _read_only(sparse.csr_array(Y)),
}


def _with_int64(Y):
    Y.indices, Y.indptr = Y.indices.astype(np.int64), Y.indptr.astype(np.int64)
    return Y


def _with_zeros(Y):
    rows, columns = np.indices(Y.shape).reshape(2, -1)
    return sparse.csr_array((Y.ravel(), (rows, columns)), shape=Y.shape)


def _read_only(Y):
    for array in (Y.data, Y.indices, Y.indptr):
        array.flags.writeable = False
    return Y


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_containers_of_an_indicator(splitter, container):
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 8)) < 0.2).astype(int)
    X = np.zeros((60, 2))
    expected = [test.tolist() for _, test in splitter(3).split(X, Y)]
    assert [test.tolist() for _, test in splitter(3).split(X, container(Y))] == expected


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 7, 2**60]),
        np.array([0.0, 1.0, 2.0, 5.0]),
        np.array(["a", "b", "c", "d"]),
        np.array(["a", "b", "c", "d"], dtype=object),
        pd.Series(["a", "b", "c", "d"]),
        pd.Series(["a", "b", "c", "d"], dtype="category"),
        pd.Series([1, 2, 3, 4], dtype="Int64"),
        ["a", "b", "c", "d"],
    ],
    ids=lambda labels: str(getattr(labels, "dtype", "list")),
)
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_dtypes_of_classes(splitter, labels):
    numbers = np.random.default_rng(0).integers(0, 4, size=30)
    y = labels.iloc[numbers] if isinstance(labels, pd.Series) else np.array(labels)[numbers]
    y = y.tolist() if isinstance(labels, list) else y
    expected = [test.tolist() for _, test in splitter(3).split(numbers, numbers)]
    assert [test.tolist() for _, test in splitter(3).split(numbers, y)] == expected


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_seeds(splitter):
    Y = (np.random.default_rng(0).random((80, 9)) < 0.2).astype(int)

    def tests(**options):
        return [test.tolist() for _, test in splitter(4, **options).split(Y, Y)]

    assert tests() == tests()
    assert tests(shuffle=True, random_state=1) == tests(shuffle=True, random_state=1)
    assert tests(shuffle=True, random_state=1) != tests(shuffle=True, random_state=2)
    assert tests(shuffle=True, random_state=1) != tests()


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, "n_splits must be an integer of at least 2, got 1"),
        ({"n_splits": True}, "n_splits must be an integer"),
        ({"n_splits": 2.0}, "n_splits must be an integer"),
        ({"shuffle": "yes"}, "shuffle must be True or False, got 'yes'"),
        ({"pin_singletons": None}, "pin_singletons must be True or False, got None"),
        ({"random_state": 0}, "random_state has no effect without shuffle=True"),
    ],
)
def test_parameters_out_of_range(splitter, options, message):
    with pytest.raises(ValueError, match=message):
        next(splitter(**options).split(np.zeros(20), np.arange(20) % 2))


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "needs y"),
        (np.array([1.0, np.nan] * 5), "Input y contains NaN"),
        (np.array([None, "a"] * 5), "NaN or None"),
        ([["a", "b"], ["a"]] * 5, "list of labels"),
        (np.full((10, 2), 2), "indicator of 0 and 1"),
        (np.zeros((10, 2, 2)), "one or two dimensions|dim"),
        (np.linspace(0, 1, 10), "continuous"),
        (np.zeros(9), "inconsistent numbers of samples"),
        (np.arange(10), "n_splits=5 is more than the 0 of 10 samples"),
        (np.empty((10, 0)), "no columns"),
    ],
)
def test_labels_that_cannot_be_split(splitter, y, message):
    with pytest.raises(ValueError, match=message):
        next(splitter().split(np.zeros((10, 1)), y))


def test_counts_that_exceed_the_memory_are_refused(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    Y = sparse.csr_array((10, 200))
    with pytest.raises(MemoryError, match="counts of 200 labels in 5 parts"):
        next(RareLabelKFold().split(Y, Y))


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_rows_and_labels_that_are_empty(splitter):
    Y = np.zeros((11, 4))
    folds, _ = split(splitter(3), Y)
    assert sorted(len(test) for _, test in folds) == [3, 4, 4]


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_in_scikit_learn(splitter):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(41, 3)), np.append(np.arange(40) % 4, 9)
    assert check_cv(splitter(3)).get_n_splits(X, y) == 3
    assert " ".join(repr(splitter(3)).split()) == (
        f"{splitter.__name__}(n_splits=3, pin_singletons=True, random_state=None, shuffle=False)"
    )
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=splitter(3)).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(GaussianNB(), X, y, cv=splitter(3))
    cv = splitter(3, pin_singletons=False)
    assert cross_val_predict(GaussianNB(), X, y, cv=cv).shape == y.shape
    Y = sparse.csr_array(np.eye(10)[np.arange(41) % 10])
    search = GridSearchCV(PPDSparseClassifier(), {"l1": [0.1, 0.2]}, cv=splitter(2)).fit(X, Y)
    assert search.n_splits_ == 2


@pytest.mark.parametrize(
    "name", ["corel5k", "bibtex", pytest.param("yso_finna_en", marks=pytest.mark.full)]
)
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_real_labels_give_way_to_nothing(data_folder, name, splitter):
    _, Y = load_xc(data_folder / name / "train.txt.xz")
    folds, warned = split(splitter(5, shuffle=True, random_state=0), Y)
    assert not warned
    total = np.bincount(Y.indices, minlength=Y.shape[1])
    counts = np.array([np.bincount(Y[test].indices, minlength=Y.shape[1]) for _, test in folds])
    assert (total - counts > 0)[:, total > 0].all()
    assert counts[:, total == 1].sum() == 0
    n_pinned = (np.diff(Y[:, total == 1].tocsr().indptr) > 0).sum()
    tested = np.concatenate([test for _, test in folds])
    assert len(np.unique(tested)) == len(tested) == Y.shape[0] - n_pinned
    assert np.ptp([len(test) for _, test in folds]) <= 1
    # at random, the positives of a label would differ by more than the root of their number
    spread = np.ptp(counts, axis=0)[total >= 20] / np.sqrt(total[total >= 20])
    assert spread.mean() < 0.6
