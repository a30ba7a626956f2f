"""Small models of every estimator as files, wrong values for what is in them, and their use."""

import contextlib
import functools
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LabelTextClassifier,
    LDGSClassifier,
    LDGSWordEmbedding,
    MemoirSVC,
    PPDSparseClassifier,
    TopKAbstainClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.feature_extraction import StemmedAnalyzer

RNG = np.random.default_rng(0)
X = sparse.random_array((60, 20), density=0.3, rng=RNG, dtype=np.float32)
X = sparse.csr_array(sparse.hstack([X, np.ones((60, 1))]))
Y = np.arange(60) % 7
LABELS = sparse.csr_array(np.eye(7, dtype=np.int8)[Y])
DOCUMENTS = [[f"w{i * j % 12}" for j in range(20)] for i in range(30)]
TEXTS = [" ".join(words) for words in DOCUMENTS], np.arange(30) % 7
MODELS = {
    "sparse": PPDSparseClassifier(calibration="isotonic", warm_start=True, random_state=0),
    "sigmoid": PPDSparseClassifier(calibration="sigmoid", random_state=0),
    "memoir": MemoirSVC(max_iter=2, random_state=0),
    "hidden": LDGSClassifier(hidden_dim=3, max_iter=2, random_state=0),
    "distances": LDGSClassifier(similarity="sqeuclidean", hidden_dim=3, max_iter=2, random_state=0),
    "flat": LDGSClassifier(max_iter=2, random_state=0),
    "sampled": AugmentReduceClassifier(
        bound="augment_reduce", warm_start=True, max_iter=2, random_state=0
    ),
    "implicit": ImplicitSoftmaxRegressor(
        solver="implicit", warm_start=True, max_iter=2, learning_rate=1.0, random_state=0
    ),
    "stream": AugmentReduceClassifier(max_iter=2, random_state=0),
    "stream_of_labels": LDGSClassifier(max_iter=2, random_state=0),
    "words": LDGSWordEmbedding(dim=4, subsample=0, max_iter=1, min_count=1, random_state=0),
    "neighbors": TopKNeighborsClassifier(n_neighbors=9, graded=True, random_state=0),
    "dense_neighbors": TopKNeighborsClassifier(index="hnsw", random_state=0),
    "label_texts": LabelTextClassifier(
        TopKNeighborsClassifier(9, 2.0, 0.0, 1.0),
        TfidfVectorizer(analyzer=StemmedAnalyzer()),
        label_texts={0: "w0 w1", 3: ["w2", "w3"]},
    ),
    "stack": TopKStackingClassifier(
        [("near", TopKNeighborsClassifier(9, 2.0, 0.0, 1.0))], "linear", random_state=0
    ),
    "boosted_stack": TopKStackingClassifier(
        [("near", TopKNeighborsClassifier(9, 2.0, 0.0, 1.0))], "boosting", random_state=0
    ),
    "temperature": TopKCalibratedClassifier(
        PPDSparseClassifier(random_state=0), method="temperature", cv=2
    ),
    "top_label": TopKAbstainClassifier(
        PPDSparseClassifier(calibration="top_label", calibration_cv=2, random_state=0),
        target=0.1,
        cv=2,
    ),
    "thresholds": TopKThresholdClassifier(
        PPDSparseClassifier(random_state=0), scope="per_label", cv=2
    ),
}


def fitted(name):
    """A model of `MODELS`, fitted."""
    labelled = X, LABELS
    others = {"words": (DOCUMENTS,), "thresholds": labelled, "stream_of_labels": labelled}
    others["neighbors"] = X, LABELS * np.float32(0.5), np.linspace(0.5, 1, 60), X[:7]
    others["stack"] = others["boosted_stack"] = X, LABELS, None, X[:7]
    others["dense_neighbors"] = X.toarray(), Y, None, X[:7]
    others["label_texts"] = TEXTS
    given = others.get(name, (X, Y))
    model = clone(MODELS[name]).fit(*given)
    if name in ("stream", "stream_of_labels"):  # with rows that wait
        model.partial_fit(*(part[:20] for part in given), sample_weight=np.ones(20))
    return model


@functools.cache
def saved_models():
    """Name -> bytes of the file of a fitted model."""
    found = {}
    with TemporaryDirectory() as folder:
        for name in MODELS:
            fitted(name).save(f"{folder}/{name}")
            with open(f"{folder}/{name}", "rb") as file:
                found[name] = file.read()
    return found


def use(model, fit=True):
    """Whatever a user may call; errors must be of the kinds that say something."""
    words = isinstance(model, LDGSWordEmbedding)
    texts = isinstance(model, LabelTextClassifier)
    rows, labels = TEXTS if texts else (X, Y)
    told = ValueError, TypeError, AttributeError, KeyError, MemoryError
    if texts:  # whose vectorizer is scikit-learn's, and looks words up in whatever arrays it has
        told += (IndexError,)
    calls = {
        "predict": (rows,),
        "predict_topk": (rows,),
        "predict_proba": (rows,),
        "decision_function": (rows,),
        "partial_fit": (rows, labels),
        "transform": (DOCUMENTS if words else rows,),
        "score": (DOCUMENTS,) if words else (rows, labels),
        "fit": (DOCUMENTS,) if words else (rows, labels),
        "most_similar": ("w1",),
    }
    if not fit:
        del calls["fit"]
    for name, arguments in calls.items():
        with contextlib.suppress(*told):
            getattr(model, name)(*arguments)


VALUES = [
    None,
    True,
    "text",
    -1,
    2**62,
    0.5,
    {"$": "float", "value": "nan"},
    [],
    [1, 2],
    {"$": "tuple", "values": []},
    {"$": "dict", "items": []},
    {"$": "container", "value": "csr_array"},
]


def places_of(node, before=()):
    """Paths to attributes and to fields of records."""
    for name, value in node.items():
        yield (*before, name)
        if isinstance(value, dict) and value.get("$") == "record":
            yield from places_of(value["fields"], (*before, name, "fields"))


def put(node, place, value):
    for name in place[:-1]:
        node = node[name]
    node[place[-1]] = value
