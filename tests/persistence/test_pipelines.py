"""Whole pipelines in one file, without pickle."""

import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from _full import rest_in_full
from _model_file import File
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MultiLabelBinarizer,
    Normalizer,
    OneHotEncoder,
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
)
from sklearn_xc.persistence import _file

skops = pytest.importorskip("skops.io")

DOCUMENTS = [f"word{i % 7} word{i % 11} and word{i % 13} text" for i in range(120)]
NAMES = np.array([f"label {i % 7}" for i in range(120)])
FRAME = pd.DataFrame({"title": DOCUMENTS, "year": np.arange(120.0), "pages": np.ones(120)})
PPDSPARSE = PPDSparseClassifier(random_state=0)
PIPELINES = {
    "tfidf": make_pipeline(TfidfVectorizer(), PPDSPARSE),
    "counts": make_pipeline(
        CountVectorizer(max_features=15, dtype=np.float32), TfidfTransformer(),
        SelectKBest(chi2, k=8), FunctionTransformer(np.log1p), Normalizer(), MaxAbsScaler(),
        MemoirSVC(random_state=0, max_iter=3),
    ),
    "union": make_pipeline(
        FeatureUnion([
            ("hashes", HashingVectorizer(n_features=64)), ("none", "drop"),
            ("pairs", TfidfVectorizer(ngram_range=(1, 2), stop_words=["and"])),
        ]),
        TruncatedSVD(5, random_state=0), StandardScaler(), LDGSClassifier(random_state=0),
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
    "nested": Pipeline([
        ("words", make_pipeline(CountVectorizer(vocabulary=["word1", "word0"]), Normalizer())),
        ("skipped", "passthrough"), ("last", make_pipeline(PPDSPARSE)),
    ]),
}  # fmt: skip


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
    """skops alone writes each of a million numbers as a node, and NumPy's as a file each."""
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
        (make_pipeline(OneHotEncoder(), PPDSPARSE), TypeError, "is a sklearn.*OneHotEncoder"),
        (OneHotEncoder(), TypeError, "OneHotEncoder, which a model file cannot hold; it takes"),
        (make_pipeline(FunctionTransformer(str.lower), PPDSPARSE), TypeError, "attribute 'func'"),
        (
            make_pipeline(TfidfVectorizer(tokenizer=str.split, token_pattern=None), PPDSPARSE),
            TypeError, "attribute 'tokenizer' of TfidfVectorizer",
        ),
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused_by_name(estimator, error, message, tmp_path):
    X = FRAME[["title"]] if "OneHot" in repr(estimator) else DOCUMENTS
    if "str" not in message and "func" not in message:
        estimator.fit(X, NAMES)
    else:
        estimator.__sklearn_is_fitted__ = lambda: True
    with pytest.raises(error, match=message):
        save(estimator, tmp_path / "model.sxc")
    assert not list(tmp_path.iterdir())


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


def test_without_skops_it_says_how_to_get_it(tmp_path, monkeypatch):
    pipeline = PIPELINES["tfidf"].fit(DOCUMENTS, NAMES)
    save(pipeline, tmp_path / "model.sxc")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="needs skops"):
        load(tmp_path / "model.sxc")
    with pytest.raises(ImportError, match="pip install skops"):
        save(pipeline, tmp_path / "other.sxc")
    pipeline[-1].save(tmp_path / "ours.sxc")  # which needs nothing


# -------------------------------------------------------------------------------- hostile files


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The bytes of a saved pipeline."""
    path = tmp_path_factory.mktemp("pipeline") / "model.sxc"
    steps = TfidfVectorizer(), HashingVectorizer(n_features=8)
    union = FeatureUnion([("words", steps[0]), ("hashes", steps[1])])
    save(make_pipeline(union, PPDSPARSE).fit(DOCUMENTS, NAMES), path)
    return path.read_bytes()


def zipped(entries, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return file.getvalue()


def with_skeleton(data, skeleton):
    """The file with another skeleton, and checksums that are right."""
    file = File(data)
    number = file.manifest["model"]["skeleton"]["number"]
    file.arrays[number] = bytearray(skeleton)
    file.manifest["segments"][number][1] = [len(skeleton)]
    return file.bytes()


def schema_of(data):
    file = File(data)
    skeleton = bytes(file.arrays[file.manifest["model"]["skeleton"]["number"]])
    return zipfile.ZipFile(io.BytesIO(skeleton)).read("schema.json").decode()


def assert_refused(data, path, match):
    path.write_bytes(data)
    for mmap_mode in (None, "r"):
        with pytest.raises(ValueError, match=match):
            load(path, mmap_mode)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"__class__": "FeatureUnion", "__module__": "sklearn.pipeline"',
         '"__class__": "system", "__module__": "os"'),
        ('"__class__": "FeatureUnion"', '"__class__": "Popen"'),
        ('"__loader__": "ListNode"', '"__loader__": "ReduceNode"'),
        ('"__loader__": "JsonNode"', '"__loader__": "FunctionNode"'),
        ('"__loader__": "JsonNode"', '"__loader__": "NdArrayNode"'),
    ],
)  # fmt: skip
def test_a_skeleton_that_names_other_code_is_refused(old, new, data, tmp_path):
    schema = json.dumps(json.loads(schema_of(data)))
    assert old in schema
    skeleton = zipped({"schema.json": schema.replace(old, new)})
    assert_refused(with_skeleton(data, skeleton), tmp_path / "model", "which no model file holds")


def test_a_skeleton_with_other_bytes_is_refused(data, tmp_path):
    schema, path = schema_of(data), tmp_path / "model"
    for skeleton, match in (
        (b"", "skeleton is damaged"),
        (b"PK not a zip", "skeleton is damaged"),
        (zipped({"schema.json": "{"}), "valid model"),
        (zipped({"schema.json": "[" * 100_000}), "valid model"),
        (zipped({"schema.json": json.dumps({"a": 1})}), "valid model"),
        (zipped({"schema.json": schema, "1.npy": b"x"}), "more than a schema"),
        (zipped({"schema.json": schema}, zipfile.ZIP_DEFLATED), "more than a schema"),
    ):
        assert_refused(with_skeleton(data, skeleton), path, match)


def test_every_damaged_byte_is_found(data, tmp_path):
    path = tmp_path / "model"
    for place in np.linspace(0, len(data) - 1, 60).astype(int):
        wrong = bytearray(data)
        wrong[place] ^= 1
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"damaged|not a model|truncated|format"):
            load(path)


def test_parameters_of_steps_are_checked(data, tmp_path):
    """A number of hashes of zero would divide by it in compiled code."""
    schema = json.loads(schema_of(data))

    def put(node):
        if isinstance(node, dict):
            content = node.get("content")
            if isinstance(content, dict) and "n_features" in content:
                content["n_features"]["content"] = "0"
            node = list(node.values())
        for part in node if isinstance(node, list) else ():
            put(part)

    put(schema)
    skeleton = zipped({"schema.json": json.dumps(schema)})
    assert_refused(with_skeleton(data, skeleton), tmp_path / "model", "'n_features' parameter")


def test_methods_cannot_be_replaced(data, tmp_path):
    schema = schema_of(data).replace('"lowercase"', '"transform"')
    skeleton = zipped({"schema.json": schema})
    assert_refused(with_skeleton(data, skeleton), tmp_path / "model", "'transform' is no attribute")


@pytest.mark.parametrize(
    ("node", "match"),
    [
        ({"$": "function", "name": "os.system"}, "no function"),
        ({"$": "function", "name": "numpy.load"}, "no function"),
        ({"$": "function", "name": 3}, "no function"),
        ({"$": "number_type", "name": "ndarray"}, "no type of numbers"),
        ({"$": "vocabulary", "words": ["a"]}, "valid model"),
        ({"$": "steps"}, "valid model"),
        (5, "does not number its words"),
        ({"$": "dict", "items": [["a", 7]]}, "does not number its words"),
    ],
)
def test_forged_parts_are_refused(node, match, data, tmp_path):
    file = File(data)
    (place,) = (
        i for i, part in enumerate(file.manifest["model"]["parts"])
        if part["$"] == "vocabulary"
    )  # fmt: skip
    file.manifest["model"]["parts"][place] = node
    assert_refused(file.bytes(), tmp_path / "model", match)


def test_a_word_twice_is_refused(data, tmp_path):
    file = File(data)
    for number, (dtype, _, _) in enumerate(file.manifest["segments"]):
        if dtype == "json" and b"word1" in file.arrays[number]:
            file.arrays[number] = file.arrays[number].replace(b'"word1"', b'"word2"')
    assert_refused(file.bytes(), tmp_path / "model", "stands twice")


def test_thresholds_over_a_pipeline(tmp_path):
    Y = sparse.csr_array(NAMES[:, None] == np.unique(NAMES))
    model = TopKThresholdClassifier(make_pipeline(TfidfVectorizer(), PPDSPARSE), cv=2)
    model.fit(DOCUMENTS, Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    assert (loaded.predict(DOCUMENTS) != model.predict(DOCUMENTS)).nnz == 0
