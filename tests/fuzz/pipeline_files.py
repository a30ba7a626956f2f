"""Cases of files that hold a whole pipeline: values, names and bytes changed at random."""

import contextlib
import json
import warnings
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
from _forged_models import VALUES
from _model_file import File
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from sklearn_xc import PPDSparseClassifier, load, predict_topk, save

TEXTS = [f"word{i % 7} word{i % 11} and word{i % 13}" for i in range(60)]


@cache
def saved_pipeline():
    """The bytes of a saved pipeline."""
    union = FeatureUnion(
        [
            ("best", make_pipeline(TfidfVectorizer(), SelectKBest(chi2, k=8))),
            ("hashes", make_pipeline(HashingVectorizer(n_features=16), TruncatedSVD(3))),
            (
                "bins",
                make_pipeline(
                    HashingVectorizer(n_features=16),
                    TruncatedSVD(2),
                    KBinsDiscretizer(4, encode="ordinal"),
                    OneHotEncoder(
                        min_frequency=8, drop="first", handle_unknown="infrequent_if_exist"
                    ),
                ),
            ),
        ]
    )
    pipeline = make_pipeline(union, PPDSparseClassifier(random_state=0))
    with TemporaryDirectory() as folder:
        save(pipeline.fit(TEXTS, np.arange(60) % 7), f"{folder}/model")
        with open(f"{folder}/model", "rb") as file:
            return file.read()


def pipeline_files(rng, folder):
    """A file with valid checksums whose values, names or arrays were changed; mapped or not."""
    file = File(saved_pipeline())
    for _ in range(rng.integers(1, 4)):
        (_change_value, _change_name, _change_array)[rng.integers(3)](file, rng)
    path = folder / "model"
    path.write_bytes(file.bytes())
    for mode in (None, "r"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = load(path, mode)
            except ValueError:
                continue
            for _ in range(2):
                with contextlib.suppress(Exception):  # scikit-learn's steps may raise any kind
                    predict_topk(model, TEXTS[:5])


def _change_array(file, rng):
    """Wrong numbers, or another length, in the place of an array."""
    number = int(rng.integers(len(file.arrays)))
    dtype, shape, _ = segment = file.manifest["segments"][number]
    if dtype == "json":
        return
    array = np.frombuffer(file.arrays[number], dtype).reshape(shape).copy()
    if rng.random() < 0.3:
        array = array.ravel()[: rng.integers(array.size + 1)]
    elif array.size and array.dtype.kind in "iuf":
        wild = np.array([0, 1, 2**31 - 1, 200, rng.integers(50)])
        with np.errstate(all="ignore"):
            array.ravel()[rng.integers(array.size)] = rng.choice(wild).astype(array.dtype)
    file.arrays[number] = bytearray(array.tobytes())
    segment[:2] = array.dtype.str, [int(n) for n in array.shape]


def _change_value(file, rng):
    """Another value in the place of a parameter, an attribute or a part of one."""
    places = list(_places(file.manifest["model"]))
    node, key = places[rng.integers(len(places))]
    other, name = places[rng.integers(len(places))]
    value = other[name] if rng.random() < 0.5 else VALUES[rng.integers(len(VALUES))]
    node[key] = json.loads(json.dumps(value))


def _change_name(file, rng):
    """A value under another name."""
    places = [(n, k) for n, k in _places(file.manifest["model"]) if isinstance(n, dict)]
    (node, key), (_, name) = (places[rng.integers(len(places))] for _ in range(2))
    node[name] = node.pop(key)


def _places(node):
    """(node, key) of all values in JSON, but for what a node calls itself."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        if key != "$":
            yield node, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
