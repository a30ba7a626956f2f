"""Whole pipelines in one file, without pickle."""

import re
from collections import UserList

import joblib
import numpy as np
import pandas as pd
import pytest
from _full import rest_in_full
from _pipeline_texts import DOCUMENTS, NAMES, PPDSPARSE
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    MaxAbsScaler,
    MinMaxScaler,
    MultiLabelBinarizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from sklearn_xc import (
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
    load,
    predict_topk,
    save,
    save_problems,
)
from sklearn_xc.persistence import _file

FRAME = pd.DataFrame({"title": DOCUMENTS, "year": np.arange(120.0), "pages": np.ones(120)})
PIPELINES = {
    "tfidf": make_pipeline(TfidfVectorizer(), PPDSPARSE),
    "counts": make_pipeline(
        CountVectorizer(max_features=15, dtype=np.float32),
        TfidfTransformer(),
        SelectKBest(chi2, k=8),
        FunctionTransformer(np.log1p),
        Normalizer(),
        MaxAbsScaler(),
        MemoirSVC(random_state=0, max_iter=3),
    ),
    "union": make_pipeline(
        FeatureUnion(
            [
                ("hashes", HashingVectorizer(n_features=64)),
                ("none", "drop"),
                ("pairs", TfidfVectorizer(ngram_range=(1, 2), stop_words=["and"])),
            ]
        ),
        TruncatedSVD(5, random_state=0),
        StandardScaler(),
        LDGSClassifier(max_iter=20, random_state=0),
    ),
    "columns": make_pipeline(
        ColumnTransformer(
            [("title", TfidfVectorizer(), "title"), ("year", StandardScaler(), ["year"])],
            remainder="passthrough",
        ),
        PPDSPARSE,
    ),
    "search": GridSearchCV(
        make_pipeline(TfidfVectorizer(), PPDSPARSE), {"ppdsparseclassifier__l1": [0.1, 0.01]}, cv=2
    ),
    "wrapper inside": make_pipeline(TfidfVectorizer(), TopKCalibratedClassifier(PPDSPARSE, cv=2)),
    "wrapper outside": TopKCalibratedClassifier(make_pipeline(TfidfVectorizer(), PPDSPARSE), cv=2),
    "nested": Pipeline(
        [
            ("words", make_pipeline(CountVectorizer(vocabulary=["word1", "word0"]), Normalizer())),
            ("skipped", "passthrough"),
            ("last", make_pipeline(PPDSPARSE)),
        ]
    ),
}


@pytest.mark.parametrize("mmap_mode", rest_in_full([None, "r"], "r"))
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_answers_as_before(name, mmap_mode, tmp_path, monkeypatch):
    monkeypatch.setattr(_file, "SMALL", 0)  # map the small arrays as well
    X = FRAME if name == "columns" else DOCUMENTS
    pipeline = PIPELINES[name].fit(X, NAMES)
    save(pipeline, tmp_path / "model.sxc")
    assert [path.name for path in tmp_path.iterdir()] == ["model.sxc"]
    loaded = load(tmp_path / "model.sxc", mmap_mode=mmap_mode)
    labels, scores = predict_topk(loaded, X[:40], 3)
    expected, values = predict_topk(pipeline, X[:40], 3)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(scores, values)
    np.testing.assert_array_equal(loaded.predict(X[:40]), pipeline.predict(X[:40]))
    save(loaded, tmp_path / "again.sxc")  # a loaded one is as good as the first
    np.testing.assert_array_equal(
        load(tmp_path / "again.sxc").predict(X[:40]), pipeline.predict(X[:40])
    )


def test_arrays_of_scikit_learn_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(_file, "SMALL", 0)
    pipeline = PIPELINES["union"].fit(DOCUMENTS, NAMES)
    save(pipeline, tmp_path / "model.sxc")
    components = load(tmp_path / "model.sxc", "r")[1].components_
    assert not components.flags.writeable
    assert not components.flags.owndata
    assert load(tmp_path / "model.sxc")[1].components_.flags.writeable


def test_large_vocabularies_are_quick(tmp_path):
    """A word takes its letters, and no node of JSON."""
    words = {f"w{i}": np.int64(i) for i in range(20_000)}
    vectorizer = CountVectorizer().fit(["one"])
    vectorizer.vocabulary_ = words
    save(vectorizer, tmp_path / "model.sxc")
    assert (tmp_path / "model.sxc").stat().st_size < 400_000
    assert load(tmp_path / "model.sxc").vocabulary_ == words


def test_the_original_is_left_alone(tmp_path):
    pipeline = PIPELINES["tfidf"].fit(DOCUMENTS, NAMES)
    steps, state = list(pipeline.steps), dict(vars(pipeline[0]))
    save(pipeline, tmp_path / "model.sxc", names=[f"other {i}" for i in range(7)])
    assert pipeline.steps == steps
    assert vars(pipeline[0]) == state
    assert pipeline.predict(DOCUMENTS[:1]) == ["label 0"]


@pytest.mark.parametrize("frozen", [False, True])
def test_names_of_a_binarizer_go_with_the_file(frozen, tmp_path):
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = binarizer.fit_transform([[f"topic {i % 5}", f"topic {i % 3}"] for i in range(120)])
    pipeline = make_pipeline(TfidfVectorizer(), PPDSPARSE).fit(DOCUMENTS, Y)
    numbers = predict_topk(pipeline, DOCUMENTS, 2)[0]
    saved = FrozenEstimator(pipeline) if frozen else pipeline
    save(saved, tmp_path / "model.sxc", names=binarizer)
    labels, _ = predict_topk(load(tmp_path / "model.sxc"), DOCUMENTS, 2)
    np.testing.assert_array_equal(labels, binarizer.classes_[numbers])
    save(binarizer, tmp_path / "names.sxc")
    np.testing.assert_array_equal(load(tmp_path / "names.sxc").classes_, binarizer.classes_)


def test_weights_are_rounded_and_cut(tmp_path):
    pipeline = PIPELINES["tfidf"].fit(DOCUMENTS, NAMES)
    save(pipeline, tmp_path / "half.sxc", dtype="float16", threshold=0.01)
    coef = load(tmp_path / "half.sxc")[-1].coef_
    assert (coef.data == coef.data.astype(np.float16)).all()
    assert np.abs(coef.data).min() > 0.01


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (make_pipeline(PowerTransformer(), PPDSPARSE), TypeError, "is a sklearn.*PowerTransf"),
        (PowerTransformer(), TypeError, "PowerTransformer, which a model file cannot hold; it t"),
        (make_pipeline(FunctionTransformer(str.lower), PPDSPARSE), TypeError, "parameter 'func'"),
        (
            make_pipeline(TfidfVectorizer(tokenizer=str.split, token_pattern=None), PPDSPARSE),
            TypeError,
            "parameter 'tokenizer' of TfidfVectorizer",
        ),
    ],
)
def test_what_is_not_on_the_list_is_refused_by_name(estimator, error, message, tmp_path):
    (problem,) = save_problems(estimator)  # before a fit
    assert re.search(message, problem)
    X = FRAME[["year"]] if "Power" in repr(estimator) else DOCUMENTS
    if "func" not in message:
        estimator.fit(X, NAMES)
    else:
        estimator.__sklearn_is_fitted__ = lambda: True
    with pytest.raises(error, match=message):
        save(estimator, tmp_path / "model.sxc")
    assert not list(tmp_path.iterdir())


STEPS = {
    "one hot": (OneHotEncoder(handle_unknown="ignore"), ["title"]),
    "one hot, rare ones": (
        OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist", drop="first"),
        ["title", "year"],
    ),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["title"]),
    "imputer": (SimpleImputer(strategy="median", add_indicator=True), ["holes"]),
    "most frequent": (SimpleImputer(strategy="most_frequent"), ["words and holes"]),
    "min max": (MinMaxScaler(), ["year"]),
    "robust": (RobustScaler(), ["year"]),
    "bins": (KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["year"]),
    "ordinal bins": (KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), ["year"]),
    "variance": (VarianceThreshold(), ["year", "pages"]),
    "binarizer": (Binarizer(threshold=50), ["year"]),
    "pca": (PCA(2, random_state=0), ["year", "pages"]),
}


@pytest.mark.parametrize("mode", [None, "r"])
@pytest.mark.parametrize("name", STEPS)
def test_steps_for_tables(name, mode, tmp_path):
    step, columns = STEPS[name]
    if "quantile_method" not in step.get_params() and "bins" in name:
        pytest.skip("scikit-learn 1.7 and later have the parameter")
    table = FRAME.assign(
        holes=np.where(np.arange(120) % 3, np.nan, np.arange(120.0)),
        **{"words and holes": np.where(np.arange(120) % 3, "word", None)},
    )
    assert save_problems(step) == []
    step = clone(step).fit(table[columns])
    save(step, tmp_path / "model")
    loaded = load(tmp_path / "model", mode)
    some, other = step.transform(table[columns]), loaded.transform(table[columns])
    if sparse.issparse(some):
        assert (some != other).nnz == 0
    else:
        np.testing.assert_array_equal(some, other)
    assert list(step.get_feature_names_out()) == list(loaded.get_feature_names_out())


def test_dicts_and_labels(tmp_path):
    things = [{"colour": "red", "size": 3}, {"colour": "blue"}]
    for step, given in (
        (DictVectorizer(), things),
        (FeatureHasher(8), things),
        (LabelBinarizer(sparse_output=True), ["a", "b", "c"]),
    ):
        expected = step.fit_transform(given)
        save(step, tmp_path / "model")
        assert (load(tmp_path / "model").transform(given) != expected).nnz == 0


def test_columns_of_a_table_with_encoders(tmp_path):
    columns = ColumnTransformer(
        [
            ("title", TfidfVectorizer(), "title"),
            ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
            ("year", make_pipeline(SimpleImputer(), RobustScaler()), slice(1, 2)),
        ],
        remainder="drop",
        transformer_weights={"title": 2.0},
    )
    table = FRAME.assign(kind=np.array(["a", "b", "c"])[np.arange(120) % 3])
    pipeline = make_pipeline(columns, PPDSPARSE)
    assert save_problems(pipeline) == []
    pipeline.fit(table, NAMES)
    save(pipeline, tmp_path / "model")
    for mode in (None, "r"):
        loaded = load(tmp_path / "model", mode)
        np.testing.assert_array_equal(loaded.predict(table), pipeline.predict(table))
    np.testing.assert_array_equal(loaded.fit(table, NAMES).predict(table), pipeline.predict(table))


def test_problems_of_a_search_and_of_parameters():
    words = TfidfVectorizer(encoding="zip", ngram_range=(1, 60))
    search = GridSearchCV(make_pipeline(words, PPDSparseClassifier()), {})
    problems = save_problems(search)
    assert [problem.split(" is ")[0] for problem in problems] == [
        "parameter 'encoding' of TfidfVectorizer",
        "parameter 'ngram_range' of TfidfVectorizer",
    ]
    assert save_problems(PPDSparseClassifier(class_weight={(1, 2): 3.0}))[0].startswith(
        "parameter 'class_weight' of PPDSparseClassifier has the key (1, 2)"
    )
    assert save_problems(PIPELINES["columns"]) == []


def test_bad_arguments(tmp_path):
    with pytest.raises(NotFittedError):
        save(make_pipeline(TfidfVectorizer(), PPDSparseClassifier()), tmp_path / "model.sxc")
    pipeline = PIPELINES["tfidf"].fit(DOCUMENTS, NAMES)
    for names, message in (
        (["a", "b"], "names must be 1-D with a name for each of the 7 labels"),
        (["a"] * 7, "names names two labels 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            save(pipeline, tmp_path / "model.sxc", names=names)
    with pytest.raises(TypeError, match="TfidfVectorizer is none"):
        save(pipeline[0], tmp_path / "model.sxc", names=["a"])
    with pytest.raises(ValueError, match=r"dtype='float16'.*are for linear weights"):
        save(pipeline[0], tmp_path / "model.sxc", dtype="float16")
    assert not list(tmp_path.iterdir())


def test_what_a_machine_decides_is_not_in_a_file(tmp_path):
    """A file names no folder and no number of processes: these are for who loads it."""
    union = FeatureUnion([("words", TfidfVectorizer())], n_jobs=2)
    model = PPDSparseClassifier(scratch=tmp_path, checkpoint=tmp_path / "fit")
    pipeline = Pipeline([("union", union), ("model", model)], memory=str(tmp_path / "cache"))
    with joblib.parallel_config(backend="threading"):  # processes import for seconds (time)
        pipeline.fit(DOCUMENTS, NAMES)
    save(pipeline, tmp_path / "model.sxc")
    assert str(tmp_path).encode() not in (tmp_path / "model.sxc").read_bytes()
    loaded = load(tmp_path / "model.sxc")
    assert loaded.memory is None
    assert loaded[0].n_jobs is None
    assert (loaded[-1].scratch, loaded[-1].checkpoint) == (None, None)
    np.testing.assert_array_equal(loaded.predict(DOCUMENTS), pipeline.predict(DOCUMENTS))


def test_thresholds_over_a_pipeline(tmp_path):
    Y = sparse.csr_array(NAMES[:, None] == np.unique(NAMES))
    model = TopKThresholdClassifier(make_pipeline(TfidfVectorizer(), PPDSPARSE), cv=2)
    model.fit(DOCUMENTS, Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    assert (loaded.predict(DOCUMENTS) != model.predict(DOCUMENTS)).nnz == 0


def test_columns_as_scikit_learn_1_6_keeps_them(tmp_path):
    """In a list of its own, which is one in the file."""
    columns = ColumnTransformer([("year", StandardScaler(), ["year"])], remainder="passthrough")
    columns.fit(FRAME[["year", "pages"]])
    name, step, kept = columns._remainder
    columns._remainder = name, step, UserList(kept)
    save(columns, tmp_path / "model")
    assert load(tmp_path / "model")._remainder == (name, step, kept)
