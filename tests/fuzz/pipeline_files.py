"""Cases of files that hold a whole pipeline: parts, skeleton and bytes changed at random."""

import contextlib
import io
import json
import warnings
import zipfile
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
from _forged_models import VALUES
from _model_file import File
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_xc import PPDSparseClassifier, load, predict_topk, save

TEXTS = [f"word{i % 7} word{i % 11} and word{i % 13}" for i in range(60)]
SCHEMA = "schema.json"


@cache
def saved_pipeline():
    """The bytes of a saved pipeline."""
    union = FeatureUnion([
        ("best", make_pipeline(TfidfVectorizer(), SelectKBest(chi2, k=8))),
        ("hashes", make_pipeline(HashingVectorizer(n_features=16), TruncatedSVD(3))),
    ])  # fmt: skip
    pipeline = make_pipeline(union, PPDSparseClassifier(random_state=0))
    with TemporaryDirectory() as folder:
        save(pipeline.fit(TEXTS, np.arange(60) % 7), f"{folder}/model")
        with open(f"{folder}/model", "rb") as file:
            return file.read()


def pipeline_files(rng, folder):
    """A file with valid checksums whose parts or skeleton were changed; mapped or not."""
    file = File(saved_pipeline())
    for _ in range(rng.integers(1, 4)):
        (_change_schema, _change_part, _change_array)[rng.integers(3)](file, rng)
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


def _change_part(file, rng):
    """Another value, or another part, in the place of a part."""
    parts = file.manifest["model"]["parts"]
    i, j = rng.integers(len(parts), size=2)
    parts[i] = parts[j] if rng.random() < 0.5 else VALUES[rng.integers(len(VALUES))]


def _change_schema(file, rng):
    """Another value somewhere in what skops reads."""
    number = file.manifest["model"]["skeleton"]["number"]
    with contextlib.suppress(zipfile.BadZipFile, KeyError):  # an earlier change damaged it
        with zipfile.ZipFile(io.BytesIO(bytes(file.arrays[number]))) as archive:
            schema = json.loads(archive.read(SCHEMA))
        nodes = list(_nodes(schema))
        one, other = (nodes[rng.integers(len(nodes))] for _ in range(2))
        values = ["0", "-1", '"text"', "null", "1e9", json.loads(json.dumps(other["content"]))]
        one["content"] = values[rng.integers(len(values))]
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr(SCHEMA, json.dumps(schema))
        file.arrays[number] = bytearray(made.getvalue())
        file.manifest["segments"][number][1] = [len(made.getvalue())]


def _nodes(value):
    if isinstance(value, dict):
        if "content" in value:
            yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _nodes(part)
