"""Files that were truncated, damaged, edited or made to do harm; checksums renewed where it counts.

No content of a file may lead a kernel out of bounds: this module also runs on the builds with
bounds checks and with the address sanitizer.
"""

import json
import struct
from unittest import mock

import numpy as np
import pytest
from _model_file import File, padded, sealed
from scipy import sparse

from sklearn_xc import (
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    load,
)
from sklearn_xc.topk import _layout

pytestmark = pytest.mark.kernel

MODES = [None, "r"]
N_CLASSES, N_FEATURES = 70, 90
RNG = np.random.default_rng(0)
X = RNG.random((140, N_FEATURES), dtype=np.float32)
X[RNG.random(X.shape) > 0.05] = 0
X[:, 0] = 1  # a feature that most classes use
X = sparse.csr_array(X)
Y = np.array([f"class {i}" for i in range(N_CLASSES)])[np.arange(140) % N_CLASSES]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Name -> bytes of a saved model."""
    folder = tmp_path_factory.mktemp("models")
    models = {
        "sparse": PPDSparseClassifier(
            random_state=0, warm_start=True, class_weight={"class 1": 2.0}
        ),
        "iterates": MemoirSVC(max_iter=1, random_state=np.random.RandomState(0)),
        "dense": ImplicitSoftmaxRegressor(max_iter=1, learning_rate=1.0, random_state=0),
        "embeddings": LDGSClassifier(hidden_dim=4, max_iter=1, random_state=0),
        "distances": LDGSClassifier(
            similarity="sqeuclidean", hidden_dim=4, max_iter=1, random_state=0
        ),
    }
    found = {}
    for name, model in models.items():
        with mock.patch.multiple(_layout, FEW_CLASSES=0, LEAST_GAIN=0):  # an order of these few
            model.fit(X, Y).save(folder / name)
        found[name] = (folder / name).read_bytes()
    return found


def assert_refused(tmp_path, data, match, mode):
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        load(tmp_path / "model", mode)
    assert str(tmp_path / "model") in str(caught.value)


def test_files_can_be_put_together_again(files):
    for data in files.values():
        assert len(File(data).bytes()) == len(data)
        assert File(File(data).bytes()).manifest == File(data).manifest


# ------------------------------------------------------------------------------ damage by accident


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "data", [b"", b"\x89", b"PK\x03\x04" * 100, b"\x80\x04\x95" * 100, b"\x89SKXC\n\x1a" * 50]
)
def test_other_files(tmp_path, data, mode):
    match = "truncated" if data == b"\x89" else "is not a model saved by sklearn-xc"
    assert_refused(tmp_path, data, match, mode)


@pytest.mark.parametrize("mode", MODES)
def test_truncated_and_continued_files(tmp_path, files, mode):
    data = files["sparse"]
    for size in [1, 8, 63, 64, 65, 200, len(data) // 2, len(data) - 64, len(data) - 1]:
        assert_refused(tmp_path, data[:size], "was truncated", mode)
    assert_refused(tmp_path, data + b"\0", "damaged", mode)


def test_every_byte_is_verified(tmp_path, files):
    """A change of any byte at all is noticed: all of the front, and many of the others."""
    data = files["dense"]
    front = struct.unpack_from("<Q", data, 16)[0]
    places = [*range(64), *range(64, front, 7), *RNG.integers(front, len(data), 300)]
    places += [len(data) - 1]  # padding counts as well
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << (place % 8)
        assert_refused(tmp_path, changed, "damaged|truncated|not a model|format", None)


def test_mapped_files_are_verified_where_they_are_read(tmp_path, files):
    data = files["sparse"]
    front = struct.unpack_from("<Q", data, 16)[0]
    for place in [*range(0, front, 11), *RNG.integers(front, len(data), 60)]:
        changed = bytearray(data)
        changed[place] ^= 1 << (place % 8)
        (tmp_path / "model").write_bytes(changed)
        with pytest.raises(ValueError, match=r"damaged|truncated|not a model|format"):
            load(tmp_path / "model", "r").__getstate__()


@pytest.mark.parametrize("mode", MODES)
def test_newer_formats(tmp_path, files, mode):
    file = File(files["sparse"])
    file.version = 5, 0
    assert_refused(tmp_path, file.bytes(), "has format 5.0, .* install a newer one", mode)
    file.version = 4, 7  # a newer minor version that holds nothing new can be read
    (tmp_path / "model").write_bytes(file.bytes())
    assert load(tmp_path / "model", mode).classes_.shape == (N_CLASSES,)
    file.attributes["new_"] = {"$": "quaternion", "value": 1}
    assert_refused(tmp_path, file.bytes(), "'quaternion' are unknown .* in format 4.7, newer", mode)


# -------------------------------------------------------------------------------- files with intent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "segment",
    [
        ["|O", [3]],
        ["<f8", [-1]],
        ["<f8", [2**62]],
        ["<f8", [2**40, 2**40]],
        ["<U0", [2**50]],
        ["<f8", [1.5]],
        ["<f8", [True]],
        ["<f8", [1] * 9],
        ["V8", [1]],
        ["<f8,<f8", [1]],
        [3, [1]],
        ["<c16", [1]],
        ["<f8", 3],
        ["<f8"],
        None,
        "text",
        ["(2,)<f8", [1]],
        ["<f8", [10**30]],
    ],
)
def test_arrays_that_cannot_be(tmp_path, files, segment, mode):
    file = File(files["sparse"])
    table = file.manifest["segments"]
    table[3] = (
        segment + table[3][2:] if isinstance(segment, list) and len(segment) == 2 else segment
    )
    text = json.dumps(file.manifest).encode()
    assert_refused(
        tmp_path, sealed(text, b"".join(padded(bytes(a)) for a in file.arrays)), "damaged", mode
    )


MANIFESTS = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"[" * 100_000,
    b'{"segments": []}',
    b'{"segments": [], "model": 3}',
    b'{"segments": {}, "model": null}',
    b'{"segments": 3}',
    b"\xff\xfe",
    b'{"segments": [], "model": {"$": "__init__"}}',
    b'{"segments": [], "model": {"$": ["a"]}}',
    b'{"segments": [], "model": {"$": "record", "class": "os.system", "fields": {}}}',
    b'{"segments": [], "model": {"$": "float", "value": "nan"}}',
    b'{"segments": [], "model": {}}',
    b'{"segments": [], "model": {"$": "array", "number": 0}}',
    b'{"segments": [], "model": {"$": "scalar", "of": {"number": -1}}}',
    b'{"segments": [], "model": ' + b'{"$":"tuple","values":[' * 2000 + b"]}" * 2000 + b"}",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_manifests_that_are_none(tmp_path, number, mode):
    assert_refused(
        tmp_path, sealed(MANIFESTS[number], b""), "damaged|does not hold a valid model", mode
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "Popen",
        "sklearn_xc.PPDSparseClassifier",
        "BaseXCClassifier",
        "LabelEncoding",
        "load",
        "predict_topk",
        "__builtins__",
        "../PPDSparseClassifier",
        "",
        None,
        [],
        {"$": "estimator"},
        3,
    ],
)
def test_only_estimators_of_the_table_are_made(tmp_path, files, name, mode):
    file = File(files["sparse"])
    file.manifest["model"]["class"] = name
    assert_refused(tmp_path, file.bytes(), "does not hold a valid model", mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name",
    ["predict", "__class__", "__dict__", "_index_cache", "_origin", "l1", "a b", "save", "_rows"],
)
def test_attributes_never_stand_before_methods(tmp_path, files, name, mode):
    file = File(files["sparse"])
    file.attributes[name] = 3
    assert_refused(tmp_path, file.bytes(), "is no attribute of a fitted PPDSparseClassifier", mode)


@pytest.mark.parametrize("mode", MODES)
def test_unknown_parameters(tmp_path, files, mode):
    file = File(files["sparse"])
    file.manifest["model"]["parameters"]["self"] = 3
    assert_refused(tmp_path, file.bytes(), r"has no parameters \['self'\]", mode)


def edits():
    """Name of a file, match, edit."""

    def put(name, place, value):
        return lambda file: file.array(name).__setitem__(place, value)

    def shape(*numbers):
        return lambda file: file.attributes["coef_"].update(shape=list(numbers))

    def attribute(name, value):
        return lambda file: file.attributes.update({name: value})

    def drop(name):
        return lambda file: file.attributes.pop(name)

    def retype(name, dtype):
        return lambda file: file.replace(name, file.array(name).astype(dtype))

    def shorter(name):
        return lambda file: file.replace(name, file.array(name)[:-1].copy())

    number = {"$": "array", "number": 0}
    for name in ("sparse", "iterates"):
        yield name, "ascend", put("indptr", 0, 1)
        yield name, "ascend", put("indptr", 3, 10**9)
        yield name, "ascend", put("indptr", 3, -5)
        yield name, "classes", put("indptr", -1, 10**12)
        for part in ("indptr", "classes", "weights", "full_stop", "intercept", "by_intercept"):
            yield name, part if part != "indptr" else "indptr", shorter(part)
            yield name, "dtype", retype(part, "<f8")
        yield name, "order does not hold each", shorter("order")
        yield name, "order has the dtype", retype("order", "<f8")
        for value in (1, -1, N_CLASSES, 2**31 - 1, -(2**31)):
            yield name, "order does not hold each", put("order", slice(0, 2), value)
        for value in (-1, N_CLASSES + 1, -(2**31), 2**31 - 1):
            yield name, "full_stop holds numbers", put("full_stop", 0, value)
        yield name, "full_weights has the shape", put("full_stop", 0, 0)
        yield name, "full_weights has the shape", put("full_stop", slice(None), N_CLASSES)
    for name in ("sparse", "iterates", "dense"):
        for value in (-1, N_CLASSES, 2**31 - 1):
            yield name, "by_intercept holds numbers", put("by_intercept", 5, value)
        yield name, "weights of shape", shape(N_CLASSES)
        yield name, "weights of shape", shape(-1, N_FEATURES)
        yield name, "weights of shape", shape(2**40, N_FEATURES)
        yield name, "shape|dtype", shape(N_CLASSES + 1, N_FEATURES)
        yield name, "shape|dtype", shape(N_CLASSES, N_FEATURES - 1)
        yield name, "weights of shape|contradict", attribute("n_features_in_", 10**6)
        yield name, "contradict", attribute("n_features_in_", 3.5)
        yield (
            name,
            "contradict",
            lambda f: f.attributes["classes_"].update(number=f.number("indptr")),
        )
        yield name, "kind", attribute("_encoding", 3)
        yield name, "without weights", drop("coef_")
        yield name, "without weights", attribute("coef_", number)
        yield name, "KeyError", drop("_encoding")
        yield name, "KeyError", drop("n_features_in_")
        yield name, "full_weights", lambda f: f.replace("full_weights", np.zeros((3, 5), "<f4"))
        yield name, "full_weights", lambda f: f.replace("full_weights", np.zeros(3, "<f4"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", range(len(list(edits()))))
def test_arrays_that_do_not_fit_together(tmp_path, files, number, mode):
    name, match, edit = list(edits())[number]
    file = File(files[name])
    edit(file)
    assert_refused(tmp_path, file.bytes(), match, mode)


BEYOND = [(value, "<i4") for value in (-1, N_CLASSES, 2**31 - 1, -(2**31))]
BEYOND += [(value, "<u2") for value in (N_CLASSES, 2**16 - 1)]


@pytest.mark.parametrize(("value", "dtype"), BEYOND)
@pytest.mark.parametrize("name", ["sparse", "iterates"])
def test_classes_out_of_range(tmp_path, files, name, value, dtype, monkeypatch):
    """Noticed on loading, or when a mapped model reads them."""
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 0)
    file = File(files[name])
    file.replace("classes", np.full_like(file.array("classes"), value, dtype=dtype))
    assert_refused(tmp_path, file.bytes(), "classes holds numbers outside", None)
    loaded = load(tmp_path / "model", "r")
    for method in (loaded.predict, loaded.predict_topk, loaded.decision_function):
        with pytest.raises(ValueError, match="damaged model file: the array classes holds numbers"):
            method(X)
    with pytest.raises(ValueError, match="classes holds numbers outside"):
        _ = loaded.coef_


@pytest.mark.parametrize("name", ["sparse", "dense"])
def test_files_that_change_while_they_are_mapped(tmp_path, files, name, monkeypatch):
    """Another program writes into the file: errors or other numbers, and no crash."""
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 0)
    path = tmp_path / "model"
    path.write_bytes(files[name])
    loaded = load(path, "r")
    front = struct.unpack_from("<Q", files[name], 16)[0]
    expected = loaded.predict_topk(X)[0].shape
    for fill in (0xFF, 0x7F, 0x00):
        with open(path, "r+b") as file:
            file.seek(front)
            file.write(bytes([fill]) * (len(files[name]) - front))
        try:
            shape = loaded.predict_topk(X)[0].shape
        except ValueError as error:
            noticed = "damaged model file" in str(error) or "not finite" in str(error)
            shape = expected if noticed else None
        assert shape == expected
        with pytest.raises(ValueError, match=r"damaged|valid"):
            loaded.set_params(warm_start=True).fit(X, Y)


def iterates(file):
    """The numbers of the arrays of MEMOIR's lists."""
    fields = file.attributes["_state"]["fields"]["saved"]["fields"]
    return [fields[name]["number"] for name in ("indptr", "classes", "values", "sums")]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("mode", MODES)
def test_iterates_out_of_bounds(tmp_path, files, part, mode):
    """Arrays that only training reads are checked before it."""
    for damage in ("values", "length"):
        file = File(files["iterates"])
        number = iterates(file)[part]
        dtype, shape, _ = file.manifest["segments"][number]
        if damage == "length":
            file.arrays[number] = file.arrays[number][: -np.dtype(dtype).itemsize]
            shape[0] -= 1
        elif part < 2:
            np.frombuffer(file.arrays[number], dtype)[2:] = 10**6
        else:
            continue
        if mode is None:
            assert_refused(tmp_path, file.bytes(), "valid model", None)
        else:
            (tmp_path / "model").write_bytes(file.bytes())
            loaded = load(tmp_path / "model", "r")
            loaded.predict(X)
            with pytest.raises(ValueError, match=r"starts|classes|values"):
                loaded.partial_fit(X, Y)


@pytest.mark.parametrize("mode", MODES)
def test_dual_variables_out_of_bounds(tmp_path, files, mode):
    for name, value in [("indices", 10**6), ("indices", -1), ("indices", 3), ("indptr", 10**6)]:
        file = File(files["sparse"])
        number = file.attributes["dual_coef_"][name]
        np.frombuffer(file.arrays[number], file.manifest["segments"][number][0])[1:] = value
        (tmp_path / "model").write_bytes(file.bytes())
        with pytest.raises(ValueError, match=r"valid model|ndice|ndex pointer|indptr|twice"):
            load(tmp_path / "model", mode).fit(X, Y)


@pytest.mark.parametrize("mode", MODES)
def test_random_states_out_of_bounds(tmp_path, files, mode):
    """NumPy would read where the place says."""
    for place in (625, -1, 10**9, "a"):
        file = File(files["iterates"])
        state = file.manifest["model"]["parameters"]["random_state"]["state"]["values"]
        state[2] = place
        assert_refused(tmp_path, file.bytes(), "valid model", mode)


@pytest.mark.parametrize("mode", MODES)
def test_texts_that_are_none(tmp_path, files, mode):
    file = File(files["sparse"])
    file.arrays[file.number("classes_")][:] = b"\xff" * len(file.arrays[file.number("classes_")])
    assert_refused(tmp_path, file.bytes(), "no characters", mode)


@pytest.mark.parametrize("name", ["sparse", "iterates", "dense", "embeddings", "distances"])
def test_random_edits_with_right_checksums(tmp_path, files, name, monkeypatch, pytestconfig):
    """Whatever numbers an array or the manifest holds: an error, or a model that can be used."""
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 256)
    rng = np.random.default_rng(1)
    path, used = tmp_path / "model", 0
    n_trials = 80 if pytestconfig.getoption("--full") else 30
    for trial in range(n_trials):
        file = File(files[name])
        if trial % 3 == 0:
            text = bytearray(json.dumps(file.manifest).encode())
            text[rng.integers(len(text))] = rng.integers(32, 127)
            data = sealed(bytes(text), b"".join(padded(bytes(a)) for a in file.arrays))
        else:
            for array in rng.choice(len(file.arrays), size=2):
                if file.arrays[array]:
                    place = rng.integers(len(file.arrays[array]))
                    file.arrays[array][place : place + 4] = rng.bytes(4)
            data = file.bytes()
        path.write_bytes(data)
        for mode in MODES:
            try:
                model = load(path, mode)
            except ValueError:
                continue
            used += use(model)
    assert used > n_trials / 8  # many edits only change weights


def use(model):
    """Run all that reads the arrays; whether it went through."""
    try:
        model.predict_topk(X, k=3)
        model.predict(X)
        model.decision_function(X)
        _ = model.coef_
        if hasattr(model, "partial_fit"):
            model.partial_fit(X, Y)
        else:
            model.fit(X, Y)
    except Exception:  # any error of Python; a crash would end the test
        return 0
    return 1
