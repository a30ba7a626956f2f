"""The systems that run.py compares, each behind the same four steps.

fit(X, Y), save(folder), predict(X) and labels(raw): `predict` returns what the library itself
returns, `labels` turns it into an (n, 5) array of column numbers, best first, off the clock.
Libraries are imported when a system is made: each virtual environment holds only some of them.
"""

import pickle
import warnings
from ctypes import c_double
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks._common import TOP

ROWS = 1000  # that are asked at once where answers have a score for every label


class PPDSparse:
    """Our estimator; one label matrix in, top five out."""

    def __init__(self, threads, folder, **params):
        import sklearn_xc

        self.versions = {"sklearn_xc": sklearn_xc.__version__}
        self.model = sklearn_xc.PPDSparseClassifier(n_jobs=threads, random_state=0, **params)

    def inputs(self, X, Y):
        return X, Y

    def fit(self, X, Y):
        self.model.fit(X, Y)

    def save(self, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(self.model))

    def predict(self, X):
        return self.model.predict_topk(X, k=TOP)[0]

    def labels(self, raw):
        return raw


class OneClass(PPDSparse):
    """Another estimator of ours, on the first label of each row as its class."""

    def __init__(self, threads, folder, name, **params):
        import sklearn_xc

        self.versions = {"sklearn_xc": sklearn_xc.__version__}
        self.model = getattr(sklearn_xc, name)(n_jobs=threads, random_state=0, **params)

    def inputs(self, X, Y):
        from sklearn_xc.datasets import first_label

        y, there = first_label(Y)
        return X[there], y[there]


class OneVsRest(PPDSparse):
    """scikit-learn's OneVsRestClassifier of one of its linear classifiers, the usual first try."""

    def __init__(self, threads, folder, kind="LinearSVC"):
        import sklearn
        from sklearn import linear_model, svm
        from sklearn.multiclass import OneVsRestClassifier

        self.versions = {"scikit-learn": sklearn.__version__}
        binary = getattr(svm if kind == "LinearSVC" else linear_model, kind)(random_state=0)
        self.model = OneVsRestClassifier(binary, n_jobs=threads)

    def inputs(self, X, Y):
        return X, sp.csr_matrix(Y, dtype=np.int32)

    def fit(self, X, Y):
        with warnings.catch_warnings():  # classes without a positive
            warnings.filterwarnings("ignore", message="Label not", category=UserWarning)
            self.model.fit(X, Y)

    def predict(self, X):
        return best_places(self.model.decision_function(X))


class Pecos:
    """PECOS XLinearModel with its defaults: one level (one-vs-all), or a tree (XR-Linear).

    The clock of `fit` includes making the label features and the tree, as ours includes all that
    follows from X and Y. `save` reloads the model for prediction only, in the fastest of its
    layouts, which is several times as fast as predicting with the model as it was trained: the
    tables give both.
    """

    reloads = True

    def __init__(self, threads, folder, tree):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        self.threads, self.tree = threads, tree
        self._indexer, self._features, self._model = Indexer, LabelEmbeddingFactory, XLinearModel
        self.versions = {"libpecos": version("libpecos")}

    def inputs(self, X, Y):
        return X, sp.csc_matrix(Y, dtype=np.float32)

    def fit(self, X, Y):
        chain = None
        if self.tree:
            label_features = self._features.create(Y, X, method="pifa")
            chain = self._indexer.gen(label_features, "hierarchicalkmeans", threads=self.threads)
        self.model = self._model.train(X, Y, C=chain, threads=self.threads)

    def save(self, folder):
        self.model.save(str(folder))
        layout = {"is_predict_only": True, "weight_matrix_type": "HASH_CHUNKED"}
        self.model = self._model.load(str(folder), **layout)

    def predict(self, X):
        return self.model.predict(X, only_topk=TOP, beam_size=10, threads=self.threads)

    def labels(self, raw):
        rows = (
            raw.indices[a:b][np.argsort(-raw.data[a:b], kind="stable")]
            for a, b in zip(raw.indptr, raw.indptr[1:], strict=False)
        )
        return padded(rows)


class NapkinXC:
    """napkinXC: a probabilistic label tree, or binary relevance, with its defaults.

    It trains into a folder and reads it back for prediction.
    """

    def __init__(self, threads, folder, kind):
        import napkinxc.models

        self.versions = {"napkinxc": version("napkinxc")}
        self.model = getattr(napkinxc.models, kind)(str(folder), threads=threads, seed=0)

    def inputs(self, X, Y):
        return X, [Y.indices[a:b].tolist() for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)]

    def fit(self, X, Y):
        self.model.fit(X, Y)

    def save(self, folder):
        self.model.load()

    def predict(self, X):
        return self.model.predict(X, top_k=TOP)

    def labels(self, raw):
        return padded(raw)


class Omikuji:
    """omikuji: Parabel-like label trees, three of them by default; reads text files only.

    The clock of `fit` includes reading the file. It predicts row by row. A line without features
    is refused, so such rows are left out.
    """

    def __init__(self, threads, folder, **params):
        import omikuji

        self.threads, self.text = threads, folder.parent / "train.txt"
        self.module, self.versions = omikuji, {"omikuji": version("omikuji")}
        self.options = omikuji.Model.default_hyper_param()
        for name, value in params.items():
            setattr(self.options, name, value)

    def inputs(self, X, Y):
        from sklearn.datasets import dump_svmlight_file

        filled = np.diff(X.indptr) > 0
        X, Y = X[filled], Y[filled]
        with open(self.text, "wb") as f:
            f.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
            dump_svmlight_file(X, sp.csr_matrix(Y, dtype=np.int32), f, multilabel=True)
        return (str(self.text),)

    def fit(self, path):
        self.model = self.module.Model.train_on_data(path, self.options, n_threads=self.threads)

    def save(self, folder):
        self.text.unlink()
        self.model.save(str(folder))

    def predict(self, X):
        rows = (
            list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in zip(X.indptr, X.indptr[1:], strict=False)
        )
        return [self.model.predict(row, top_k=TOP) for row in rows]

    def labels(self, raw):
        return padded([label for label, _ in row] for row in raw)


class LibMultiLabel(PPDSparse):
    """LibMultiLabel's linear models with its defaults: one-vs-rest, or a tree as Bonsai's.

    Both train with liblinear-multicore and answer with a score for every label, so that rows are
    asked block by block.
    """

    def __init__(self, threads, folder, kind):
        from libmultilabel import linear

        self.module, self.options = linear, f"-m {threads}"
        self.train = getattr(linear, kind)
        self.versions = {name: version(name) for name in ("libmultilabel", "liblinear-multicore")}

    def inputs(self, X, Y):
        return sp.csr_matrix(Y, dtype=np.float64), sp.csr_matrix(X, dtype=np.float64)

    def fit(self, Y, X):
        self.model = self.train(Y, X, options=self.options, verbose=False)

    def predict(self, X):
        X = sp.csr_matrix(X, dtype=np.float64)
        blocks = (X[start : start + ROWS] for start in range(0, X.shape[0], ROWS))
        return np.concatenate([best_places(self.model.predict_values(block)) for block in blocks])


class LibLinear(LibMultiLabel):
    """liblinear-multicore, the labels one after the other, each with all threads; L2-SVM, dual."""

    def __init__(self, threads, folder):
        from liblinear import liblinearutil

        self.module, self.options = liblinearutil, f"-s 1 -m {threads} -q"
        self.versions = {"liblinear-multicore": version("liblinear-multicore")}

    def fit(self, Y, X):
        weights, Y = np.zeros((X.shape[1], Y.shape[1]), np.float32), Y.tocsc()
        problem = self.module.problem(np.ones(X.shape[0]), X)
        parameter = self.module.parameter(self.options)
        for k in np.flatnonzero(np.diff(Y.indptr)):
            y = np.full(X.shape[0], -1.0)
            y[Y.indices[Y.indptr[k] : Y.indptr[k + 1]]] = 1
            problem.y = (c_double * len(y))(*y)
            model = self.module.train(problem, parameter)
            # positive are the rows of the first class that it meets
            of_class = np.ctypeslib.as_array(model.w, (problem.n,))
            weights[:, k] = of_class * model.get_labels()[0]
        self.model = Weights(weights)


class Weights:
    """A column of weights a label."""

    def __init__(self, weights):
        self.weights = weights

    def predict_values(self, X):
        return X @ self.weights


def best_places(scores):
    """The columns of the five largest scores of each row, the largest first."""
    best = np.argpartition(-scores, TOP - 1, axis=1)[:, :TOP]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def padded(rows):
    """Lists of at most five labels as an array, filled up with -1."""
    rows = list(rows)
    labels = np.full((len(rows), TOP), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        labels[i, : len(row)] = row[:TOP]
    return labels


class System(NamedTuple):
    """A row of the tables: its name there, the environment it lives in, how it is made, threads."""

    title: str
    environment: str | None  # of _environment.ENVIRONMENTS; None is this one
    factory: type
    params: dict | None = None
    threads: int = 2


AS_AUTHORS = {"l1": 0.1, "l2": 1}
PASSES = {"alpha": 1e-5, "learning_rate": 10.0, "max_iter": 5}
GIVEN = {  # what the same steps need, where an earlier commit would have chosen others
    "MemoirSVC": {"alpha": 1e-5, "max_iter": 5},
    "LDGSClassifier": PASSES | {"learning_rate": 0.1, "gradient": "exact"},
    "ImplicitSoftmaxRegressor": PASSES | {"solver": "exact"},
    "AugmentReduceClassifier": PASSES | {"bound": "one_vs_each"},
}

SYSTEMS = {
    "ppdsparse": System("PPDSparseClassifier", None, PPDSparse),
    "ppdsparse_1": System("PPDSparseClassifier, one thread", None, PPDSparse, threads=1),
    "ppdsparse_2": System("PPDSparseClassifier (l1=0.1, l2=1)", None, PPDSparse, AS_AUTHORS),
    "pecos_ova": System("PECOS one-vs-all", "peers", Pecos, {"tree": False}),
    "pecos_xr": System("PECOS XR-Linear", "peers", Pecos, {"tree": True}),
    "omikuji": System("omikuji", "peers", Omikuji),
    "omikuji_wide": System(
        "omikuji, collapse_every_n_layers=5", "peers", Omikuji, {"collapse_every_n_layers": 5}
    ),
    "napkinxc_plt": System("napkinXC PLT", "peers", NapkinXC, {"kind": "PLT"}),
    "napkinxc_br": System("napkinXC BR", "peers", NapkinXC, {"kind": "BR"}),
    "libmultilabel_ova": System(
        "LibMultiLabel one-vs-rest", "libmultilabel", LibMultiLabel, {"kind": "train_1vsrest"}
    ),
    "libmultilabel_tree": System(
        "LibMultiLabel tree", "libmultilabel", LibMultiLabel, {"kind": "train_tree"}
    ),
    "liblinear": System("liblinear-multicore", "libmultilabel", LibLinear),
    "ovr_svc": System("OneVsRestClassifier (LinearSVC)", None, OneVsRest),
    **{
        f"class_{name}": System(name, None, OneClass, {"name": name})
        for name in ("PPDSparseClassifier", "MemoirSVC", "LDGSClassifier")
        + ("ImplicitSoftmaxRegressor", "AugmentReduceClassifier")
    },
    **{
        f"given_{name}": System(f"{name}, {params}", None, OneClass, {"name": name} | params)
        for name, params in GIVEN.items()
    },
    "ovr_logistic": System(
        "OneVsRestClassifier (LogisticRegression)", None, OneVsRest, {"kind": "LogisticRegression"}
    ),
    "ovr_sgd": System(
        "OneVsRestClassifier (SGDClassifier)", None, OneVsRest, {"kind": "SGDClassifier"}
    ),
}
