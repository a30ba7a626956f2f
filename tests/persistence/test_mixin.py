"""Saving and loading: every estimator, every label type, options, mapped files, old formats."""

import copy
import pickle
import resource
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from _saved_models import (
    ESTIMATORS,
    INDICATOR,
    MODES,
    NAMES,
    Y_TEXT,
    X,
    assert_same_arrays,
    assert_same_predictions,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sklearn_xc
from sklearn_xc import (
    PPDSparseClassifier,
    load,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_model_comes_back(models, name, mode, tmp_path):
    model = models[name]
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert_same_predictions(model, loaded)
    assert_same_predictions(model, loaded, X[:1])
    assert_same_predictions(model, loaded, X.toarray())
    assert_same_predictions(model, loaded, X[:1] * 0)
    for attribute, value in vars(model).items():
        if isinstance(value, np.ndarray) or sparse.issparse(value):
            assert_same_arrays(value, getattr(loaded, attribute))
        elif attribute.endswith("_") and not isinstance(value, dict):
            assert getattr(loaded, attribute) == value
            assert type(getattr(loaded, attribute)) is type(value)
    assert loaded.classes_ is loaded._encoding.classes_  # stored once
    assert_same_predictions(model, loaded)  # after coef_ of a mapped model was made


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["memoir", "augment_reduce", "implicit_softmax"])
def test_training_goes_on(models, name, mode, tmp_path):
    models[name].save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode).partial_fit(X[::-1], Y_TEXT[::-1])
    expected = copy.deepcopy(models[name]).partial_fit(X[::-1], Y_TEXT[::-1])
    assert_same_predictions(expected, loaded)
    assert_same_arrays(expected.coef_, loaded.coef_)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_warm_start_goes_on(models, name, mode, tmp_path):
    models[name].save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode).set_params(warm_start=True).fit(X, Y_TEXT)
    expected = copy.deepcopy(models[name]).set_params(warm_start=True).fit(X, Y_TEXT)
    assert_same_predictions(expected, loaded)


LABELS = {
    "texts": np.array(["ä", "b", "\U0001f600"]),
    "object texts": np.array(["ä", "b", "a long one\0"], dtype=object),
    "objects": np.array([3, 1.0, True + 1], dtype=object),
    "bytes": np.array([b"a", b"b", b"cc"]),
    "int8": np.array([-1, 0, 5], dtype=np.int8),
    "uint64": np.array([1, 2, 2**63 + 5], dtype=np.uint64),
    "big-endian": np.array([4, 5, 6], dtype=">i4"),
    "floats": np.array([1.0, 2.0, -7.0]),
    "float32": np.array([1, 2, 3], dtype=np.float32),
    "booleans": np.array([True, False]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LABELS)
def test_labels_of_any_dtype(name, mode, tmp_path):
    labels = LABELS[name]
    try:
        model = PPDSparseClassifier(random_state=0).fit(
            X, labels[np.arange(len(Y_TEXT)) % len(labels)]
        )
    except (ValueError, TypeError):
        pytest.skip("scikit-learn refuses them")
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode)
    assert_same_arrays(model.classes_, loaded.classes_)
    assert [type(x) for x in loaded.classes_] == [type(x) for x in model.classes_]
    assert loaded._encoding.dtype == model._encoding.dtype
    assert_same_predictions(model, loaded)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_container_and_dtype_of_indicators(container, tmp_path):
    Y = container(INDICATOR.toarray().astype(np.float32))
    PPDSparseClassifier(0.1, 1.0, random_state=0).fit(X, Y).save(tmp_path / "model")
    for mode in MODES:
        found = load(tmp_path / "model", mode).predict(X)
        assert type(found) is type(Y)
        assert found.dtype == Y.dtype


def test_names_of_columns_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.toarray(), columns=[f"word {i}" for i in range(X.shape[1])])
    model = PPDSparseClassifier(0.1, 1.0, random_state=0).fit(
        frame, pandas.DataFrame(INDICATOR.toarray())
    )
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same_arrays(model.feature_names_in_, loaded.feature_names_in_)
    assert_same_predictions(model, loaded, frame)


# ------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {"class 1": 2.0, "class 2": np.float64(3)}},
        {"l1": np.float32(0.5), "max_iter": np.int64(7), "fit_intercept": np.True_},
        {"feature_threshold": 0.0, "n_jobs": None, "verbose": False},
    ],
)
def test_parameters_keep_their_types(models, parameters, tmp_path):
    model = copy.deepcopy(models["ppdsparse"]).set_params(**parameters)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    for name, value in parameters.items():
        assert type(getattr(loaded, name)) is type(value)


def test_random_state_goes_on_where_it_was(models, tmp_path):
    state = np.random.RandomState(3)
    state.normal(size=3)  # one is left over
    model = copy.deepcopy(models["memoir"]).set_params(random_state=state)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model").random_state
    assert np.array_equal(loaded.normal(size=700), model.random_state.normal(size=700))


@pytest.mark.parametrize("value", [len, np.random.default_rng(0), {1, 2}, 1j, np.complex64(1)])
def test_other_parameters_are_refused_by_name(models, value, tmp_path):
    model = copy.deepcopy(models["ppdsparse"]).set_params(class_weight=value)
    with pytest.raises(TypeError, match="parameter 'class_weight' of PPDSparseClassifier"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_other_attributes_are_refused_by_name(models, tmp_path):
    model = copy.deepcopy(models["ppdsparse"])
    model.note_ = object()
    with pytest.raises(TypeError, match="attribute 'note_' of PPDSparseClassifier"):
        model.save(tmp_path / "model")


def test_subclasses_of_others_are_refused(models, tmp_path):
    class PPDSparseClassifier(sklearn_xc.PPDSparseClassifier):
        pass

    model = PPDSparseClassifier().fit(X, Y_TEXT)
    with pytest.raises(TypeError, match="is not an estimator of sklearn_xc"):
        model.save(tmp_path / "model")


# ------------------------------------------------------------------------------- where it is saved


def test_unfitted_estimators_are_refused(tmp_path):
    for model in ESTIMATORS.values():
        with pytest.raises(NotFittedError):
            clone(model).save(tmp_path / "model")


def test_places_that_do_not_work(models, tmp_path):
    model = models["binary"]
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        model.save(tmp_path / "nowhere" / "model")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        model.save(tmp_path / "file" / "model")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_no_space_leaves_the_old_file(models, tmp_path):
    models["binary"].save(tmp_path / "model")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"large.*model"):
            models["memoir"].save(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert_same_predictions(models["binary"], load(tmp_path / "model"))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_followed(models, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    models["binary"].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert_same_predictions(models["binary"], load(tmp_path / "model"))


def test_paths_may_be_texts(models, tmp_path):
    models["binary"].save(str(tmp_path / "model"))
    assert_same_predictions(models["binary"], load(str(tmp_path / "model"), mmap_mode="r"))


# ------------------------------------------------------------------------------------ other ways


@pytest.mark.parametrize("name", NAMES)
def test_pickle_and_joblib(models, name, tmp_path):
    assert_same_predictions(models[name], pickle.loads(pickle.dumps(models[name])))
    joblib.dump(models[name], tmp_path / "model")
    assert_same_predictions(models[name], joblib.load(tmp_path / "model"))
    assert_same_predictions(models[name], joblib.load(tmp_path / "model", mmap_mode="r"))


@pytest.mark.parametrize("name", NAMES)
def test_skops(models, name):
    skops = pytest.importorskip("skops.io")
    text = skops.dumps(models[name])
    untrusted = skops.get_untrusted_types(data=text)
    # as doc/guide/saving.rst says
    assert all(name.startswith(("numpy.", "scipy.sparse.", "sklearn_xc.")) for name in untrusted)
    assert type(models[name]).__name__ in [name.split(".")[-1] for name in untrusted]
    with pytest.raises(skops.exceptions.UntrustedTypesFoundException):
        skops.loads(text)
    assert_same_predictions(models[name], skops.loads(text, trusted=untrusted))


# ------------------------------------------------------------------------------------ old formats

FOLDER = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sxc")), ids=lambda path: path.name)
def test_files_of_earlier_versions(path, mode):
    """tests/models/make.py wrote each with the version of the format that its name tells."""
    expected = np.load(path.with_suffix(".npz"))
    loaded = load(path, mode)
    labels, scores = loaded.predict_topk(expected["X"], k=2)
    assert np.array_equal(labels.astype(str), expected["labels"])
    # rounded to float16 when they were stored, in one of them
    np.testing.assert_allclose(scores, expected["scores"], atol=2e-3)
    loaded.predict(expected["X"])
    if hasattr(loaded, "partial_fit"):
        loaded.partial_fit(expected["X"][:2], loaded.classes_[:2])
