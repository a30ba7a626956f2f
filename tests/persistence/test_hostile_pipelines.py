"""Files of pipelines that were changed: each is refused, or can be used."""

import numpy as np
import pytest
from _model_file import File
from _pipeline_texts import DOCUMENTS, NAMES, PPDSPARSE
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
)

from sklearn_xc import (
    load,
    save,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The bytes of a saved pipeline."""
    path = tmp_path_factory.mktemp("pipeline") / "model.sxc"
    steps = TfidfVectorizer(), HashingVectorizer(n_features=8)
    union = FeatureUnion([("words", steps[0]), ("hashes", steps[1])])
    save(make_pipeline(union, PPDSPARSE).fit(DOCUMENTS, NAMES), path)
    return path.read_bytes()


def assert_refused(data, path, match):
    path.write_bytes(data)
    for mmap_mode in (None, "r"):
        with pytest.raises(ValueError, match=match):
            load(path, mmap_mode)


def test_every_damaged_byte_is_found(data, tmp_path):
    path = tmp_path / "model"
    for place in np.linspace(0, len(data) - 1, 60).astype(int):
        wrong = bytearray(data)
        wrong[place] ^= 1
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"damaged|not a model|truncated|format"):
            load(path)


def steps_of(node, name):
    """The nodes of the steps of a class."""
    if isinstance(node, dict):
        if node.get("$") == "step" and node["class"] == name:
            yield node
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from steps_of(part, name)


def changed(data, cls, key, value, kind="parameters"):
    """The file with another value of a step's parameter or attribute."""
    file = File(data)
    found = list(steps_of(file.manifest["model"], cls))
    assert found
    for node in found:
        node[kind][key] = value
    return file.bytes()


@pytest.mark.parametrize(
    ("cls", "name", "value", "match"),
    [
        ("Pipeline", "memory", "folder", "'memory' is no parameter"),  # whose pickles would run
        ("FeatureUnion", "n_jobs", 2000, "'n_jobs' is no parameter"),
        ("TfidfVectorizer", "input", "filename", "has to be 'content'"),  # reads files
        ("TfidfVectorizer", "encoding", "zip", "has to be 'utf-8'"),
        ("TfidfVectorizer", "tokenizer", {"$": "function", "name": "numpy.sin"}, "has to be None"),
        ("TfidfVectorizer", "ngram_range", [1, 10**6], "whole numbers from 1 to 50"),
        ("TfidfVectorizer", "analyzer", "filename", "has to be 'word'"),
        ("TfidfVectorizer", "lowercase", {"$": "function", "name": "numpy.sin"}, "True or False"),
        ("TfidfVectorizer", "transform", 3, "'transform' is no parameter"),
        ("TfidfVectorizer", "stop_words", {"$": "set", "values": [3]}, "a set holds other things"),
        ("HashingVectorizer", "n_features", 0, "'n_features' parameter"),  # divides by it
        ("Pipeline", "steps", [["a", 3]], "a list of"),
    ],
)
def test_parameters_of_a_step_that_no_file_may_have(cls, name, value, match, data, tmp_path):
    assert_refused(changed(data, cls, name, value), tmp_path / "model", match)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("transform", 3, "'transform' is no attribute"),
        ("_validate_params", 3, "'_validate_params' is no attribute"),
        ("vocabulary_", 5, "numbers its words"),
        ("vocabulary_", {"$": "dict", "items": [["a", 7]]}, "numbers its words"),
        ("vocabulary_", {"$": "vocabulary", "words": ["a"]}, "valid model"),
        ("vocabulary_", {"$": "vocabulary"}, "has the keys"),
        ("_tfidf", {"$": "number_type", "name": "ndarray"}, "no type of numbers"),
        ("_tfidf", {"$": "number_type", "name": "float64"}, "has to be a TfidfTransformer"),
        ("_tfidf", {"$": "function", "name": "os.system"}, "no function"),
        ("_tfidf", {"$": "function", "name": "numpy.load"}, "no function"),
        ("_tfidf", {"$": "function", "name": 3}, "no function"),
        ("_tfidf", {"$": "step"}, "has the keys"),
        ("_tfidf", {"$": "array", "number": 0, "x": 1}, "has the keys"),
        (
            "_tfidf",
            {"$": "step", "class": "Popen", "parameters": {}, "attributes": {}, "version": "1"},
            "no step of scikit-learn",
        ),
    ],
)
def test_attributes_of_a_step_that_no_file_may_have(name, value, match, data, tmp_path):
    forged = changed(data, "TfidfVectorizer", name, value, "attributes")
    assert_refused(forged, tmp_path / "model", match)


def test_functions_of_a_file_take_no_arguments(tmp_path):
    """``where=False`` would leave memory as it was, whoever wrote there before."""
    model = make_pipeline(FunctionTransformer(np.sqrt), PPDSPARSE).fit(np.eye(7), np.arange(7))
    save(model, tmp_path / "model")
    kwargs = {"$": "dict", "items": [["where", False]]}
    forged = changed((tmp_path / "model").read_bytes(), "FunctionTransformer", "kw_args", kwargs)
    assert_refused(forged, tmp_path / "model", "'kw_args' of a FunctionTransformer")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("_n_features_outs", [9, 9], "other columns than its categories"),
        ("_drop_idx_after_grouping", {"$": "tuple", "values": [-1, None]}, "drops category -1"),
        ("categories_", [], "has not one list of categories"),
        ("_infrequent_enabled", True, "KeyError"),
    ],
)
def test_an_encoder_that_points_outside_is_refused(name, value, match, tmp_path):
    """Its numbers of columns would be followed by SciPy's compiled code."""
    table = np.array([["a", 3], ["b", 5], ["a", 7]] * 20, dtype=object)
    save(
        make_pipeline(OneHotEncoder(), PPDSPARSE).fit(table, np.arange(60) % 7), tmp_path / "model"
    )
    forged = changed((tmp_path / "model").read_bytes(), "OneHotEncoder", name, value, "attributes")
    assert_refused(forged, tmp_path / "model", match)


def test_categories_that_do_not_ascend_are_refused(tmp_path):
    """A bisection in them may end behind the last."""
    table = np.array([[1.0], [2.0], [3.0]] * 20)
    save(
        make_pipeline(OneHotEncoder(), PPDSPARSE).fit(table, np.arange(60) % 7), tmp_path / "model"
    )
    file = File((tmp_path / "model").read_bytes())
    for number, (dtype, shape, _) in enumerate(file.manifest["segments"]):
        if dtype == "<f8" and shape == [3]:
            file.arrays[number] = bytearray(np.array([3.0, 2.0, 1.0]).tobytes())
    assert_refused(file.bytes(), tmp_path / "model", "do not ascend")


def test_nothing_that_loads_is_quadratic(data, tmp_path):
    """Values of one hash, and an array that thousands of nodes make something of."""
    file = File(data)
    items = [[i * (2**61 - 1), 0] for i in range(2000)]
    (step, *_) = steps_of(file.manifest["model"], "TfidfVectorizer")
    step["attributes"]["fixed_vocabulary_"] = {"$": "dict", "items": items}
    assert_refused(file.bytes(), tmp_path / "model", r"no text and no number below 2\*\*53")
    many = CountVectorizer().fit([" ".join(f"word{i}" for i in range(5000))])
    save(many, tmp_path / "model")
    file = File((tmp_path / "model").read_bytes())
    words = file.manifest["model"]["attributes"]["vocabulary_"]
    file.manifest["model"]["attributes"]["fixed_vocabulary_"] = [words] * 5000
    assert_refused(file.bytes(), tmp_path / "model", "more than the file has room for")


def test_another_version_of_scikit_learn_is_warned_of(data, tmp_path):
    file = File(data)
    for node in steps_of(file.manifest["model"], "TfidfVectorizer"):
        node["version"] = "1.0"
    (tmp_path / "model").write_bytes(file.bytes())
    with pytest.warns(InconsistentVersionWarning, match="TfidfVectorizer from version 1.0"):
        load(tmp_path / "model")


def test_a_word_twice_is_refused(data, tmp_path):
    file = File(data)
    for number, (dtype, _, _) in enumerate(file.manifest["segments"]):
        if dtype == "json" and b"word1" in file.arrays[number]:
            file.arrays[number] = file.arrays[number].replace(b'"word1"', b'"word2"')
    assert_refused(file.bytes(), tmp_path / "model", "stands twice")
