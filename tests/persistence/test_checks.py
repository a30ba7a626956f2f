"""Every class that a file can name checks what it is given; what was refused once stays refused."""

import os
import stat

import numpy as np
import pytest
from _forged_models import MODELS, VALUES, X, Y, places_of, put, saved_models, use
from _full import rest_in_full
from _model_file import File
from sklearn.utils._param_validation import StrOptions

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKStackingClassifier,
    load,
)
from sklearn_xc.datasets import make_xc_classification

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def files():
    """Name -> bytes of a saved model."""
    return saved_models()


@pytest.mark.parametrize("mode", rest_in_full([None, "r"], "r"))
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_other_values_in_the_place_of_attributes(files, tmp_path, pytestconfig, name, mode):
    """A model is refused or can be used: nothing but an exception may come of any value."""
    path = tmp_path / "model"
    n_refused, rng = 0, np.random.default_rng(0)
    n_values = 3 if pytestconfig.getoption("--full") else 1
    places = sorted(places_of(File(files[name]).attributes))
    for place in places:
        for value in rng.choice(len(VALUES), size=n_values, replace=False):
            file = File(files[name])
            put(file.attributes, place, VALUES[value])
            path.write_bytes(file.bytes())
            try:
                model = load(path, mode)
            except ValueError:
                n_refused += 1
                continue
            use(model)
    assert n_refused >= n_values * len(places) / 3


@pytest.mark.parametrize("mode", rest_in_full([None, "r"], "r"))
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_other_lengths_and_contents(files, tmp_path, pytestconfig, name, mode):
    """Some are refused; a model with the others can be used."""
    path, n_refused = tmp_path / "model", 0
    for number, (dtype, shape, _) in enumerate(File(files[name]).manifest["segments"]):
        if dtype == "json":
            continue
        changes = ["short", "large", "flat"]
        if not pytestconfig.getoption("--full"):
            changes = [changes[number % 3]]
        for change in changes:
            file = File(files[name])
            array = np.frombuffer(file.arrays[number], dtype).reshape(shape)
            if change == "short":
                array = array.ravel()[: array.size // 2]
            elif change == "large":
                array = np.full_like(array, 2**30 if array.dtype.itemsize > 2 else 100)
            else:
                array = array.reshape(-1, 1)
            file.arrays[number] = bytearray(array.tobytes())
            file.manifest["segments"][number][:2] = array.dtype.str, list(array.shape)
            path.write_bytes(file.bytes())
            try:
                model = load(path, mode)
            except ValueError:
                n_refused += 1
                continue
            # a stack's fit reads no array of before, and takes most of the time
            use(model, fit=not isinstance(model, TopKStackingClassifier))
    assert n_refused > 0


def test_a_mapped_model_is_refused_as_often_as_it_is_used(files, tmp_path):
    file = File(files["memoir"])
    number = file.attributes["_state"]["fields"]["saved"]["fields"]["classes"]["number"]
    array = np.frombuffer(file.arrays[number], "<i4")
    file.arrays[number] = bytearray(np.full_like(array, 2**30).tobytes())
    (tmp_path / "model").write_bytes(file.bytes())
    model = load(tmp_path / "model", "r")
    before = set(vars(model))
    for _ in range(3):
        with pytest.raises(ValueError, match="classes holds numbers outside"):
            model.partial_fit(X, Y)
        assert set(vars(model)) == before
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("mode", [None, "r"])
def test_nested_values_take_no_more_memory_than_the_file(files, tmp_path, mode):
    """Twelve arrays, each ten times in the next one: as values, a million million of them."""
    file = File(files["flat"])
    for depth in range(12):
        inner = {"$": "objects", "values": len(file.arrays) - 1, "shape": [10]}
        text = b"[1]" if depth == 0 else repr([inner] * 10).replace("'", '"').encode()
        file.arrays.append(bytearray(text))
        file.manifest["segments"].append(["json", [len(text)], ""])
    last = {"$": "objects", "values": len(file.arrays) - 1, "shape": [10]}
    file.attributes["loss_curve_"] = last
    (tmp_path / "model").write_bytes(file.bytes())
    with pytest.raises(ValueError, match="does not hold a valid model"):
        load(tmp_path / "model", mode)
    file.attributes["loss_curve_"] = deep = []
    for _ in range(200):
        deep.append([])
        deep = deep[0]
    (tmp_path / "model").write_bytes(file.bytes())
    with pytest.raises(ValueError, match="nested too deeply"):
        load(tmp_path / "model", mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no special files here")
def test_save_replaces_regular_files_only_and_keeps_their_mode(files, tmp_path):
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    path = tmp_path / "model"
    model.save(path)
    for mode in 0o600, 0o640, 0o444:
        path.chmod(mode)
        model.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in "pipe", "link":
        with pytest.raises(OSError, match="no regular file"):
            model.save(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "model", "pipe"]


def options_of(model):
    """Parameters of a model with the names that each may be set to."""
    for name, constraints in model._parameter_constraints.items():
        for constraint in constraints:
            if isinstance(constraint, StrOptions):
                yield from ((name, option) for option in sorted(constraint.options))


@pytest.mark.parametrize(
    ("estimator", "name", "option"),
    [
        (estimator, name, option)
        for estimator in (
            AugmentReduceClassifier,
            ImplicitSoftmaxRegressor,
            LDGSClassifier,
            MemoirSVC,
            PPDSparseClassifier,
        )
        for name, option in options_of(estimator())
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_training_goes_on_from_a_file_with_every_option(
    estimator, name, option, tmp_path, pytestconfig
):
    X, y = make_xc_classification(120, 40, 6, random_state=0)
    model = estimator(random_state=0).set_params(**{"max_iter": 3, name: option})
    try:
        model.fit(X, y)
    except ValueError as error:  # it goes with other parameters only
        pytest.skip(str(error))
    except ImportError as error:
        pytest.skip(str(error))
    model.save(tmp_path / "model")
    for mode in [None, "r"] if pytestconfig.getoption("--full") else ["r"]:
        found = load(tmp_path / "model", mode)
        np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
        by_counts = name == "class_weight" and estimator is not MemoirSVC  # of all samples only
        refused = by_counts or "calibration" in name or "solver" in name
        if hasattr(found, "partial_fit") and not refused:
            found.partial_fit(X, y)
        found.set_params(warm_start=True).fit(X, y)
