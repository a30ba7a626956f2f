"""train_test_split for sparse labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from _indicators import dense, indicators
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.model_selection import (
    IterativeStratifiedKFold,
    RareLabelKFold,
    cross_val_topk,
    train_test_split,
)

pytestmark = pytest.mark.kernel


@given(indicators(), st.floats(0.05, 0.95), st.booleans(), st.booleans())
def test_train_test_split_guarantees(Y, test_size, shuffle, pin):
    n_rows = Y.shape[0]
    n_test = int(np.ceil(test_size * n_rows))
    total = dense(Y).sum(axis=0)
    n_pinned = (dense(Y)[:, total == 1].any(axis=1) & pin).sum()
    options = {"test_size": test_size, "shuffle": shuffle, "pin_singletons": pin}
    if n_test == n_rows or n_test > n_rows - n_pinned:
        with pytest.raises(ValueError, match=r"leave a part .* empty|only \d+ can be"):
            train_test_split(np.arange(n_rows), Y, **options)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test, Y_train, Y_test = train_test_split(np.arange(n_rows), Y, **options)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(n_rows))
    assert np.array_equal(dense(Y_train), dense(Y)[train])
    assert np.array_equal(dense(Y_test), dense(Y)[test])
    if not (caught and pin):
        assert len(test) == n_test
    if not (caught and not pin):
        kept = dense(Y_train).any(axis=0)
        assert kept[total >= 2].all()
        assert kept[total == 1].all() or not pin


def test_train_test_split_takes_any_number_of_arrays():
    y = np.array(["a", "b"] * 10)
    frame = pd.DataFrame({"text": [f"row {i}" for i in range(20)]})
    arrays = [frame, sparse.coo_array(np.eye(20)), [f"row {i}" for i in range(20)], y]
    parts = train_test_split(*arrays, test_size=4, random_state=0)
    assert [type(part).__name__ for part in parts[:6]] == (
        ["DataFrame"] * 2 + ["csr_array"] * 2 + ["list"] * 2
    )
    assert parts[0]["text"].tolist() == parts[4]
    assert parts[3].nonzero()[1].tolist() == [int(text.split()[1]) for text in parts[5]]
    assert sorted(parts[7]) == ["a", "a", "b", "b"]
    first = train_test_split(np.arange(20), test_size=4, stratify=y, shuffle=False)
    assert [np.array_equal(part, np.sort(part)) for part in first] == [True, True]
    assert sorted(y[first[1]]) == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("options", "n_test"),
    [
        ({}, 5),
        ({"test_size": 0.33}, 7),
        ({"train_size": 0.33}, 14),
        ({"train_size": 12}, 8),
        ({"test_size": 0.5, "train_size": 0.5}, 10),
    ],
)
def test_train_test_split_sizes(options, n_test):
    assert len(train_test_split(np.arange(20) % 4, **options)[1]) == n_test


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ([], {}, "at least one array"),
        ([np.arange(4), np.arange(5)], {}, "inconsistent numbers of samples"),
        ([[0, 1] * 4], {"test_size": 1.5}, "test_size must be a share between 0 and 1 or"),
        ([[0, 1] * 4], {"test_size": 8}, "a number of samples from 1 to 7, got 8"),
        ([[0, 1] * 4], {"train_size": "half"}, "train_size must be"),
        ([[0, 1] * 4], {"test_size": 2, "train_size": 2}, "are 4 of 8 samples"),
        ([[0, 1] * 4], {"test_size": 0.99}, "leave a part of the 8 samples empty"),
        ([[0, 0, 1, 2]], {"test_size": 3}, "only 2 can be: the other 2 hold the only positive"),
        ([[0, 1] * 4], {"shuffle": False, "random_state": 1}, "random_state has no effect"),
        ([[0, 1] * 4], {"shuffle": 1}, "shuffle must be True or False"),
    ],
)
def test_train_test_split_refuses(arrays, options, message):
    with pytest.raises(ValueError, match=message):
        train_test_split(*arrays, **options)


def test_train_test_split_that_is_impossible():
    Y = np.eye(4)[[0, 0, 1, 1]]
    with pytest.warns(UserWarning, match="1 samples are not tested"):
        parts = train_test_split(Y, test_size=3, random_state=0)
    assert len(parts[1]) == 2
    with pytest.warns(UserWarning, match="1 labels .* missing from a training part"):
        parts = train_test_split(Y, test_size=3, random_state=0, pin_singletons=False)
    assert len(parts[1]) == 3


def test_what_is_withheld_is_returned():
    y = np.array(["a"] * 10 + ["b"] * 10 + ["c", "d"])
    X = np.arange(22)
    *_, withheld = train_test_split(X, y, random_state=0, return_withheld=True)
    assert withheld.tolist() == [20, 21]
    *_, withheld = train_test_split(
        X, y, random_state=0, return_withheld=True, pin_singletons=False
    )
    assert withheld.tolist() == []
    assert RareLabelKFold(3).withheld(X, y).tolist() == [20, 21]
    with pytest.raises(ValueError, match="return_withheld must be True or False"):
        train_test_split(X, y, return_withheld=3)


def test_groups_are_refused():
    y = np.arange(20) % 4
    for splitter in (RareLabelKFold(3), IterativeStratifiedKFold(3)):
        with pytest.raises(ValueError, match=r"does not keep groups together: use .*GroupKFold"):
            list(splitter.split(y, y, groups=y))


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows,
        sparse.csr_array,
        pd.DataFrame,
        lambda rows: [str(row) for row in rows.tolist()],
        lambda rows: pd.Series([str(row) for row in rows.tolist()]),
    ],
)
def test_rows_on_both_sides_are_warned_of(make):
    rng = np.random.default_rng(0)
    some = rng.normal(size=(200, 5))
    twice, y = np.concatenate([some, some[:30]]), np.arange(230) % 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_test_split(make(some), y[:200], random_state=0)
        train_test_split(make(np.concatenate([some, some[:3]])), y[:203], random_state=0)
        train_test_split(np.zeros(200), y[:200], random_state=0)
    with pytest.warns(UserWarning, match=r"of 58 test samples \(\d\d%\) equal a training sample"):
        train_test_split(make(twice), y, random_state=0)


def test_folds_and_tables_of_texts_are_looked_through_for_duplicates():
    texts = [str(i % 50) for i in range(200)]
    table = pd.DataFrame({"text": texts, "n": np.arange(200) % 50})
    for rows in (table, table[["text"]]):
        with pytest.warns(UserWarning, match="equal a training sample"):
            train_test_split(rows, np.arange(200) % 4, random_state=0)
    X = np.random.default_rng(0).random((50, 6)).repeat(4, axis=0)
    with pytest.warns(UserWarning, match="equal a training sample"):
        cross_val_topk(PPDSparseClassifier(random_state=0), X, np.arange(200) % 4, k=1, cv=3)


def test_a_table_alone_is_taken_for_y():
    table = pd.DataFrame({"title": ["a", "b"] * 4, "category": ["x", "y"] * 4})
    with pytest.raises(ValueError, match=r"the last array is y: give X and y, or stratify=y"):
        train_test_split(table)
    train, test = train_test_split(table, stratify=table["category"], test_size=2, random_state=0)
    assert (len(train), len(test)) == (6, 2)
