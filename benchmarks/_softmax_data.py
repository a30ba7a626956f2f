"""Rows of one class, evaluation, kept results."""

import ctypes
import gc
import time
from importlib.metadata import version
from typing import NamedTuple

import _common
import _runner
import numpy as np
from scipy import sparse

SEED = 0
EVALUATED = 6000  # test rows, at random: files stand in the order of their sources
BINS = 15
PACKAGES = ("numpy", "scipy", "scikit-learn")


class Rows(NamedTuple):
    """Training and test rows with the number of their class, -1 for one never trained on."""

    X: sparse.csr_matrix
    y: np.ndarray
    X_test: sparse.csr_matrix
    y_test: np.ndarray

    @property
    def n_classes(self):
        return int(self.y.max()) + 1


def rows_of(X, y, X_test, y_test):
    """Rows with their labels replaced by numbers."""
    labels, codes = np.unique(y, return_inverse=True)
    places = np.minimum(np.searchsorted(labels, y_test), len(labels) - 1)
    test_codes = np.where(labels[places] == y_test, places, -1)
    return Rows(X, codes.astype(np.int32), X_test, test_codes.astype(np.int32))


def load(name, form="tfidf"):
    """A data set, reduced to the first label of each row.

    `form` is "tfidf" (unit rows of TF-IDF; pixels as they are), "raw" (as in the file), or "unit"
    (raw rows divided by their length).
    """
    if name == "docstrings":
        return docstrings()
    from sklearn.preprocessing import normalize

    from sklearn_xc.datasets import first_label

    split = _common.load(name) if form == "tfidf" else _common.Split(*_common.read_raw(name))
    y, labelled = first_label(split.Y)
    y_test, labelled_test = first_label(split.Y_test)
    X, X_test = split.X[labelled], split.X_test[labelled_test]
    if form == "unit":
        X, X_test = normalize(X), normalize(X_test)
    return rows_of(X, y[labelled], X_test, y_test[labelled_test])


def docstrings(ngram_range=(1, 2), min_df=2):
    """The passages of examples/programs/quickstart.py, by default as words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from sklearn_xc.datasets import load_docstrings

    docs = load_docstrings()
    words = TfidfVectorizer(
        ngram_range=ngram_range, min_df=min_df, sublinear_tf=True, dtype=np.float32
    )
    X = words.fit_transform(docs.data_train)
    return rows_of(X, docs.target_train, words.transform(docs.data_test), docs.target_test)


def release():
    """Give back to the system what loading left over, so that it hides no memory of a fit."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def subset(rows, n_classes):
    """The rows of the classes that have most of them."""
    if n_classes >= rows.n_classes:
        return rows
    classes = np.argsort(-np.bincount(rows.y), kind="stable")[:n_classes]
    train, test = np.isin(rows.y, classes), np.isin(rows.y_test, classes)
    return rows_of(rows.X[train], rows.y[train], rows.X_test[test], rows.y_test[test])


def evaluate(model, rows, n_rows=EVALUATED):
    """Log-likelihood over rows whose class was trained on, accuracy over all, calibration error.

    Models without probabilities have accuracies only.
    """
    chosen = np.random.default_rng(SEED).permutation(len(rows.y_test))[:n_rows]
    with_proba = hasattr(model, "predict_proba")
    totals = {"log_likelihood": 0.0, "accuracy@1": 0, "accuracy@5": 0}
    confidence, hits, known = [], [], 0
    for part in np.array_split(chosen, max(1, len(chosen) // 500)):
        X, y = rows.X_test[part], rows.y_test[part]
        scores = scores_of(model, X, with_proba)
        places = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        hit = model.classes_[places] == y[:, None]
        totals["accuracy@1"] += hit[:, 0].sum()
        totals["accuracy@5"] += hit.any(axis=1).sum()
        if with_proba:
            seen = np.isin(y, model.classes_)
            own = np.searchsorted(model.classes_, y[seen])
            totals["log_likelihood"] += scores[seen, own].sum(dtype=np.float64)
            known += seen.sum()
            confidence.append(np.exp(scores[np.arange(len(y)), places[:, 0]]))
            hits.append(hit[:, 0])
    result = {key: float(totals[key] / len(chosen)) for key in ("accuracy@1", "accuracy@5")}
    if with_proba:
        result["log_likelihood"] = float(totals["log_likelihood"] / known)
        result["calibration"] = calibration_error(np.concatenate(confidence), np.concatenate(hits))
    return result


def scores_of(model, X, with_proba):
    """Log-probabilities, or decisions where there are none."""
    if not with_proba:
        return model.decision_function(X)
    if hasattr(model, "solver") or hasattr(model, "bound"):
        return model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


def calibration_error(confidence, hits, n_bins=BINS):
    """Expected calibration error of the most probable class, bins of equal width."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [abs((confidence - hits)[bins == b].sum()) for b in range(n_bins)]
    return float(sum(gaps) / len(hits))


# --------------------------------------------------------------------------- results and pages


def save(script, key, **figures):
    """Keep what was measured, with machine, commit and time."""
    when = time.strftime("%Y-%m-%d")
    origin = {"machine": _common.machine(), "commit": _common.commit(), "when": when}
    origin["versions"] = {name: version(name) for name in PACKAGES}
    _runner.keep(page_of(script), script, key, figures | {"origin": origin})


def read(script):
    """All that was kept: {key: figures}."""
    return _runner.kept(page_of(script)).get(script, {})


def page_of(script):
    """The benchmark whose page shows the figures of a script or of one of its parts."""
    return script.partition("_")[0] if script.startswith("softmax") else script


def head(title, script, results):
    """The first lines of a page: where its figures come from."""
    origins = [figures["origin"] for figures in results.values()]
    versions = {key: v for origin in origins for key, v in origin["versions"].items()}
    lines = [
        f"# {title}",
        "",
        f"Generated by `python benchmarks/{script}.py`; `--help` lists the parts, `--report`",
        "writes the page anew from the figures kept.",
        "",
        "* Machine: " + "; ".join(sorted({o["machine"] for o in origins})),
        "* Versions: " + ", ".join(f"{key} {v}" for key, v in sorted(versions.items())),
        "* Measured: " + ", ".join(sorted({f"{o['when']} at {o['commit']}" for o in origins})),
    ]
    return "\n\n".join(["\n".join(lines), *_runner.note(page_of(script))])


def decimals(value, n=3):
    return "-" if value is None else f"{value:.{n}f}"
