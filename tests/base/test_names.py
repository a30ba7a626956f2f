"""Names are looked at wherever a table comes in; numbers of 64 bits stay what they are."""

from datetime import date
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    PPDSparseClassifierCV,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
    load,
    topk_predictor,
)
from sklearn_xc.inspection import label_report
from sklearn_xc.metrics import (
    example_f1,
    macro_f1,
    micro_f1,
    ndcg_at_k,
    precision_at_k,
    propensities,
)

RNG = np.random.default_rng(0)
SHARES = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
Y = pd.DataFrame((RNG.random((600, 6)) < SHARES).astype(int), columns=list("abcdef"))
X = Y.to_numpy() @ RNG.normal(size=(6, 30)) + 1.5 * RNG.normal(size=(600, 30))
TURNED = list("fedcba")


@pytest.fixture(scope="module")
def model():
    return PPDSparseClassifier(random_state=0).fit(X[:300], Y[:300])


# ------------------------------------------------------------------------ columns of labels


def test_scores_and_reports_go_by_name(model):
    held, turned = Y[300:], Y[TURNED][300:]
    assert model.score(X[300:], turned) == model.score(X[300:], held) > 0.2
    for k in (None, 2):
        some, other = (label_report(model, X[300:], y, k) for y in (held, turned))
        np.testing.assert_array_equal(some.n_hits, other.n_hits)
    some, other = (label_report(model, X[300:], y) for y in (held[["a", "b"]], held.assign(z=1)))
    assert some.n_true.tolist() == [*held[["a", "b"]].sum(), 0, 0, 0, 0]
    assert other.n_true.tolist() == held.sum().tolist()
    with pytest.raises(ValueError, match="y has no column 'f', which the model was fitted on"):
        model.score(X[300:], held[list("abcde")])
    with pytest.raises(ValueError, match="y has the column 'z', which the model was not fitted on"):
        model.score(X[300:], held.assign(z=0))


@pytest.mark.parametrize("wrapper", [TopKCalibratedClassifier, TopKThresholdClassifier])
def test_wrappers_of_a_fitted_model_go_by_name(model, wrapper):
    some, other = (
        wrapper(FrozenEstimator(model)).fit(X[300:450], y[300:450]) for y in (Y, Y[TURNED])
    )
    np.testing.assert_array_equal(some.predict_proba(X[450:]), other.predict_proba(X[450:])) if (
        wrapper is TopKCalibratedClassifier
    ) else np.testing.assert_array_equal(some.best_threshold_, other.best_threshold_)
    assert some.score(X[450:], Y[450:]) == some.score(X[450:], Y[TURNED][450:])
    with pytest.raises(ValueError, match="y has no column 'f'"):
        wrapper(FrozenEstimator(model)).fit(X[300:450], Y[300:450].rename(columns={"f": "g"}))


def test_metrics_go_by_name(model):
    best, _ = model.predict_topk(X[300:], k=2)
    right = precision_at_k(Y[300:], best, k=2)
    for y, classes in ((Y[TURNED], None), (Y, model.classes_), (Y[TURNED], model.classes_)):
        assert precision_at_k(y[300:], best, k=2, classes=classes) == right
    assert macro_f1(Y, Y[TURNED]) == 1
    np.testing.assert_array_equal(
        propensities(Y[TURNED], classes=list("abcdef")), propensities(Y, classes=list("abcdef"))
    )


def test_names_that_are_none_are_refused_by_fit():
    table = pd.DataFrame({"tag": ["a", "b", None, "a"] * 10})
    dummies = pd.get_dummies(table.tag, dummy_na=True).astype(int)
    rows = dummies.to_numpy() + 0.0
    wide = pd.crosstab(np.arange(40), [np.arange(40) % 2, table.tag.fillna("c")])
    twice = dummies.fillna(0).set_axis(["a", "a", "b"], axis=1)
    times = dummies.set_axis(pd.to_datetime(["2020-01-01", None, "2020-01-02"]), axis=1)
    for y, message in (
        (dummies, r"missing .NaN or None.*get_dummies"),
        (wide, "tuples for names.*MultiIndex"),
        (twice, "the columns of y names two labels 'a'"),
        (times, "missing .NaT"),
        (dummies.set_axis(["a", None, "b"], axis=1), "missing .NaN or None"),
        (dummies.set_axis([1.0, np.nan, 2.0], axis=1), "missing .NaN"),
    ):
        for estimator in (PPDSparseClassifier(), LDGSClassifier()):
            with pytest.raises(ValueError, match=message):
                estimator.fit(rows if len(rows) == len(y) else X[: len(y)], y)
    with pytest.raises(ValueError, match="label_names have a name that is missing"):
        PPDSparseClassifier(label_names=["a", None, "b"]).fit(rows, dummies.to_numpy())


def test_dates_as_names_are_saved(tmp_path):
    named = Y.set_axis(pd.date_range("2020-01-01", periods=6), axis=1)
    model = PPDSparseClassifier(random_state=0).fit(X, named)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").classes_, model.classes_)


def test_a_table_of_arrow_has_names():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: Y[name].to_numpy() for name in Y})
    model = PPDSparseClassifier(random_state=0).fit(X, table)
    assert model.classes_.tolist() == list("abcdef")


def test_an_index_as_label_names_is_saved(tmp_path):
    for names in (Y.columns, pd.Series(Y.columns)):
        model = PPDSparseClassifier(random_state=0, label_names=names).fit(X, Y.to_numpy())
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").label_names.tolist() == list("abcdef")


def test_added_labels_join_the_parameter(tmp_path):
    model = PPDSparseClassifier(random_state=0, label_names=list("abcd"))
    model.fit(X, Y[list("abcd")].to_numpy()).add_labels(X, Y[["e", "f"]])
    assert list(model.label_names) == list("abcdef")
    again = PPDSparseClassifier(**model.get_params()).fit(X, Y.to_numpy())
    assert again.classes_.tolist() == list("abcdef")


# ------------------------------------------------------------------------ columns of features


def test_a_predictor_looks_at_the_names_of_features():
    y = np.arange(300) % 4
    rows = pd.DataFrame(RNG.normal(size=(4, 5))[y], columns=list("vwxyz"))
    answer = topk_predictor(PPDSparseClassifier().fit(rows, y), k=1)
    np.testing.assert_array_equal(answer(rows)[0].ravel(), answer(rows.to_numpy())[0].ravel())
    with pytest.raises(ValueError, match="feature names should match"):
        answer(rows[list("zyxwv")])


# ------------------------------------------------------------------------ numbers of 64 bits

IDS = 7 * 10**18 + np.array([11, 5000, 9999])
CODES = np.arange(90) % 3
ONE_OF_THREE = np.eye(3)[CODES]
ESTIMATORS = [
    PPDSparseClassifier(random_state=0),
    MemoirSVC(random_state=0, max_iter=20),
    LDGSClassifier(random_state=0, max_iter=20),
    AugmentReduceClassifier(random_state=0, max_iter=2),
    ImplicitSoftmaxRegressor(random_state=0, max_iter=2, learning_rate=1.0),
]


def kinds_of_integers():
    yield pd.Series(IDS[CODES], dtype="Int64")
    yield pd.Series(IDS[CODES], dtype="UInt64")
    yield pd.DataFrame({"y": pd.Series(IDS[CODES], dtype="Int64")})
    yield pd.array(IDS[CODES], dtype="Int64")
    try:
        import pyarrow as pa

        yield pd.Series(IDS[CODES], dtype="int64[pyarrow]")
        yield pa.array(IDS[CODES])
        yield pa.chunked_array([IDS[CODES]])
    except ImportError:
        pass
    try:
        import polars as pl

        yield pl.Series(IDS[CODES])
    except ImportError:
        pass


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("y", list(kinds_of_integers()), ids=lambda y: type(y).__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_identifiers_stay_whole(estimator, y):
    model = estimator.fit(ONE_OF_THREE, y)
    assert model.classes_.dtype.kind in "iu"
    assert model.classes_.astype(object).tolist() == IDS.tolist()
    assert model.score(ONE_OF_THREE, y) == model.score(ONE_OF_THREE, IDS[CODES])
    assert model.score(ONE_OF_THREE, pd.Series(IDS[CODES] + 1, dtype="Int64")) == 0
    if hasattr(model, "partial_fit"):
        model.partial_fit(ONE_OF_THREE, y)
        assert len(model.classes_) == 3
        first = type(model)(**model.get_params()).partial_fit(ONE_OF_THREE, y, classes=y)
        assert first.classes_.astype(object).tolist() == IDS.tolist()


def test_added_identifiers_stay_whole():
    ids, codes = 10**17 + np.array([1, 2, 3, 4]), np.arange(80) % 4
    rows, y = np.eye(4)[codes], pd.Series(ids[codes], dtype="Int64")
    model = PPDSparseClassifier().fit(rows[codes < 3], ids[codes][codes < 3])
    assert model.add_labels(rows, y).classes_.tolist() == ids.tolist()
    frozen = TopKCalibratedClassifier(FrozenEstimator(model)).fit(rows, y)
    assert frozen.score(rows, y) == 1


def test_truths_stay_truths():
    model = PPDSparseClassifier().fit(np.eye(4), pd.Series([True, False] * 2, dtype="boolean"))
    assert model.classes_.dtype == bool


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", pd.NA, "b"], dtype=object), "NaN or None"),
        (np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"), "contains NaN"),
        (pd.Series(["a", None, "b"], dtype="string"), "contains NaN"),
        (np.array([[1, 0], [0, 2]]), r"pairs of row and label that are given twice add up"),
    ],
)
def test_labels_that_are_none_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        PPDSparseClassifier().fit(np.eye(len(y)), y)


def test_other_tables(tmp_path):
    pl = pytest.importorskip("polars")
    for y, message in (
        (pl.Series([["a"], ["b"], ["a"]]), "a list of labels for each sample"),
        (pl.Series(["a", None, "b"]), "contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            PPDSparseClassifier().fit(np.eye(3), y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a", None], "classes holds NaN or None"),
        ("ab", "must be a sequence of labels"),
        ([1, "a"], "y|kind|numbers|strings|sorted"),
        ([["a", "b"]], "must be a sequence"),
    ],
)
def test_classes_that_are_none_are_refused(classes, message):
    with pytest.raises(ValueError, match=message):
        MemoirSVC().partial_fit(np.eye(2), ["a", "b"], classes=classes)
    MemoirSVC().partial_fit(np.eye(2), ["a", "b"], classes={"b", "a"})


def test_short_indicators():
    """SciPy has no sparse matrices of float16."""
    model = PPDSparseClassifier(random_state=0).fit(X, Y.to_numpy().astype(np.float16))
    assert model.predict(X).dtype == np.float32


@pytest.mark.parametrize(
    "texts",
    [
        ["a b", "b c"],
        np.array(["a b", "b c"]),
        pd.Series(["a b", "b c"]),
        np.array([["a"], ["b"]]),
        pd.DataFrame({"price": [1.0, 2.0], "title": ["a b", "b c"]}),
    ],
)
def test_texts_in_the_place_of_rows(texts):
    for estimator in ESTIMATORS:
        with pytest.raises(ValueError, match=r"X holds texts, such as .*put a vectorizer before"):
            estimator.fit(texts, [0, 1])


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float32", "int64[pyarrow]"])
def test_indicators_of_nullable_columns_are_scored_by_their_names(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X = rng.random((60, 10))
    Y = pd.DataFrame((X[:, :4] > 0.5).astype(int), columns=list("dbca"))
    model = PPDSparseClassifier(random_state=0).fit(X, Y.astype(dtype))
    assert model.classes_.tolist() == list("dbca")
    other = Y[list("abcd")].astype(dtype)
    assert model.score(X, other) == model.score(X, Y)
    wrapped = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0)).fit(X, Y)
    assert wrapped.score(X, Y.astype(dtype)) == wrapped.score(X, other) == wrapped.score(X, Y)
    found = model.predict_topk(X, k=2)[0]
    assert ndcg_at_k(other, found, k=2) == ndcg_at_k(Y, found, k=2)
    predicted = model.predict(X)
    for metric in (macro_f1, micro_f1, example_f1):
        assert metric(other, predicted, classes=model) == metric(Y, predicted)


@pytest.mark.parametrize("largest", [3, 2**60, 2**63 + 3])
def test_whole_numbers_in_an_object_array_are_numbers(largest):
    rows, codes = np.eye(4)[np.arange(40) % 4], np.arange(40) % 4
    y = np.array([largest - int(code) for code in codes], dtype=object)
    for given in (y, pd.Series(y, dtype=object), y.tolist()):
        model = PPDSparseClassifier(random_state=0).fit(rows, given)
        assert model.classes_.dtype.kind in "iu"
        assert model.score(rows, given) == 1


def test_neighbors_go_by_the_names_of_columns():
    rng = np.random.default_rng(0)
    X = rng.random((120, 8))
    Y = pd.DataFrame((X[:, :4] > 0.6).astype(int), columns=list("wzyx"))
    other = Y[list("xyzw")]
    model = TopKNeighborsClassifier().fit(X, Y)
    assert model.score(X, other) == model.score(X, Y) > 0.5
    again = TopKNeighborsClassifier().fit(X, Y).partial_fit(X, Y)
    turned = TopKNeighborsClassifier().fit(X, Y).partial_fit(X, other)
    np.testing.assert_array_equal(turned.predict_topk(X)[0], again.predict_topk(X)[0])
    grown = TopKNeighborsClassifier().fit(X, Y).partial_fit(X, other.assign(new=1))
    assert grown.classes_.tolist() == ["w", "z", "y", "x", "new"]
    assert grown.score(X, Y.assign(new=1)[["new", *"xyzw"]]) == grown.score(X, Y.assign(new=1))
    with pytest.raises(ValueError, match="y has no column 'w'"):
        model.partial_fit(X, Y.drop(columns="w"))
    plain = TopKNeighborsClassifier().fit(X, Y.to_numpy()).partial_fit(X, Y)
    assert plain.classes_.tolist() == [0, 1, 2, 3]


def indicators_of_any_dtype():
    table = pd.DataFrame(np.eye(4, dtype=int)[np.arange(60) % 4], columns=list("dbca"))
    yield table.astype({"d": bool, "b": float}), "columns that differ"
    yield table.astype(object), "objects"
    yield table.astype("category"), "categories"
    yield table.astype("Int64"), "nullable"
    yield table.to_numpy().astype(object), "array of objects"
    yield table.to_numpy().astype(np.float16), "float16"
    yield tuple(map(tuple, table.to_numpy().tolist())), "tuples"


@pytest.mark.parametrize("y", [pytest.param(y, id=name) for y, name in indicators_of_any_dtype()])
def test_indicators_that_fit_takes_are_scored(y):
    X = np.eye(4)[np.arange(60) % 4]
    for model in (PPDSparseClassifierCV(cv=2), TopKStackingClassifier(random_state=0)):
        model = model.fit(X, y)
        assert model.score(X, y) == 1
        assert precision_at_k(y, model.predict_topk(X, k=1)[0], k=1, classes=model) == 1


@pytest.mark.parametrize(
    "y", [np.array([["a", "b"]] * 9, dtype=object), pd.DataFrame([["a", 1]] * 9)]
)
def test_texts_in_the_place_of_an_indicator_are_named(y):
    for model in (PPDSparseClassifier(), TopKCalibratedClassifier(), TopKStackingClassifier()):
        with pytest.raises(ValueError, match="must be an indicator of 0 and 1, but holds a"):
            model.fit(np.eye(9), y)


@pytest.mark.parametrize(
    "labels",
    [
        [date(2020, 1, day) for day in (1, 2, 3)],
        [UUID(int=number) for number in range(3)],
        [Decimal(number) / 2 for number in range(3)],
        [b"ant", b"bee", b"cow"],
        [pd.Timestamp(2020, 1, day) for day in (1, 2, 3)],
        [False, True],
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_labels_that_scikit_learn_does_not_know_are_scored(labels):
    codes = np.arange(40) % len(labels)
    y = np.fromiter((labels[code] for code in codes), object, 40)
    X = np.eye(3)[codes] + 0.01 * np.arange(40)[:, None]
    for estimator in LDGSClassifier(random_state=0), TopKNeighborsClassifier():
        model = estimator.fit(X, y)
        for given in y, y.tolist(), pd.Series(y):
            assert model.score(X, given) == np.mean(model.predict(X) == y)
        half = np.where(np.arange(40) < 20, y, y[::-1])
        assert model.score(X, half) == np.mean(model.predict(X) == half)
        with pytest.raises(ValueError, match="None: every sample needs a label"):
            model.score(X, [*y[1:], None])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.score(X, y[1:])
