"""PPDSparse: one-vs-rest linear classifiers that are sparse in primal and dual."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._base import BaseXCClassifier, Interval, StrOptions
from ._kernels._matrix import Matrix
from ._kernels._ppdsparse import LANES, solve_classes
from ._memory import require_memory
from ._parallel import run_blocks
from ._rows import as_rows, columns_of

LOWEST_SCORE = np.float32(-1e18)  # of classes without positives: finite, and below any other
MAX_BLOCKS = 512  # more would only add overhead; a block is at least LANES classes


class PPDSparseClassifier(BaseXCClassifier):
    _parameter_constraints = {  # noqa: RUF012
        "l1": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_select": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "sparsify": [StrOptions({"random"}), None],
        "delta": [Interval(Real, 0, None, closed="neither")],
        "feature_threshold": [Interval(Real, 0, None, closed="left")],
        "prune": [Interval(Real, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        l1=0.05,
        l2=0.5,
        *,
        loss="squared_hinge",
        fit_intercept=True,
        max_iter=100,
        tol=0.03,
        n_select="auto",
        sparsify=None,
        delta=0.5,
        feature_threshold=0.0,
        prune=0.01,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.l1 = l1
        self.l2 = l2
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_select = n_select
        self.sparsify = sparsify
        self.delta = delta
        self.feature_threshold = feature_threshold
        self.prune = prune
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, X, y, sample_weight=None):
        with self._all_or_nothing():
            previous = vars(self).get("dual_coef_") if self.warm_start else None
            X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
            if sample_weight is None:
                sample_weight = np.ones(X.shape[0], dtype=np.float32)
            if previous is not None and previous.shape != Y.shape[::-1]:
                raise ValueError(
                    f"warm_start: the earlier fit had {previous.shape[1]} samples and "
                    f"{previous.shape[0]} columns of labels, X and y have {Y.shape[0]} and "
                    f"{Y.shape[1]}; give the same data, or fit a new estimator"
                )
            result = _fit_ppdsparse(
                X,
                Y,
                sample_weight,
                self._class_weights(Y, sample_weight),
                settings=self._settings(),
                feature_threshold=self.feature_threshold,
                dual=previous,
                keep_dual=self.warm_start,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            self.n_iter_ = result["n_iter"]
            self.dual_gap_ = result["gap"]
            self.n_active_ = result["n_active"]
            if self.warm_start:
                self.dual_coef_ = result["dual"]
            self._set_linear_model(result["coef"], result["intercept"])
        late = int((self.dual_gap_ > self.tol).sum())
        if late:
            warnings.warn(
                f"max_iter={self.max_iter} rounds did not bring the duality gap of {late} of "
                f"{len(self.dual_gap_)} classes below tol={self.tol:g} (largest: "
                f"{self.dual_gap_.max():.3g}); raise max_iter or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _settings(self):
        """The kernel's `Settings`."""
        return {
            "l1": self.l1,
            "l2": self.l2,
            "hinge": self.loss == "hinge",
            "intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "n_select": 0 if self.n_select == "auto" else self.n_select,
            "sparsify": self.sparsify == "random",
            "delta": self.delta,
            "prune": self.prune,
            "seed": check_random_state(self.random_state).randint(2**31),
        }

    def _class_weights(self, Y, sample_weight):
        """Weights of the negatives and positives of each column of Y, (n_columns, 2)."""
        binary = self._encoding.kind == "binary"
        weights = np.ones((Y.shape[1], 2))
        if self.class_weight is None:
            return weights.astype(np.float32)
        if self.class_weight == "balanced":
            positives = Y.T @ sample_weight.astype(np.float64)
            counts = np.append(sample_weight.sum() - positives, positives) if binary else positives
            mean = counts.sum() / len(counts)
            per_class = mean / np.where(counts > 0, counts, mean)
        else:
            per_class = np.ones(len(self.classes_))
            position = {label: i for i, label in enumerate(self.classes_.tolist())}
            for label, weight in self.class_weight.items():
                if label not in position:
                    raise ValueError(f"class_weight names {label!r}, which is not a class of y")
                if not (isinstance(weight, Real) and 0 < weight < np.inf):
                    raise ValueError(
                        f"class_weight must be above zero and finite, got {weight!r} for {label!r}"
                    )
                per_class[position[label]] = weight
        if binary:
            return per_class.reshape(1, 2).astype(np.float32)
        weights[:, 1] = per_class
        return weights.astype(np.float32)


def _fit_ppdsparse(
    X,
    Y,
    sample_weight,
    class_weight,
    *,
    settings,
    feature_threshold,
    dual,
    keep_dual,
    n_jobs,
    verbose,
):
    """Solve all classes, block by block.

    Returns
    -------
    dict with coef, intercept, n_iter, gap, n_active, dual (see the attributes of the estimator)
    """
    n_samples, n_features = X.shape
    n_columns = Y.shape[1]
    require_memory(
        n_features * LANES * 12, f"fit: weights of {LANES} classes of {n_features} features", ""
    )
    rows = as_rows(X)
    Y = Y.tocsc()
    Y.sort_indices()
    positives = (Y.indptr.astype(np.int64), Y.indices.astype(np.int32))
    arrays = {
        "squared_norms": _squared_norms(rows) + np.float32(settings["intercept"]),
        "maxima": _largest_magnitudes(rows),
    }
    coarse = _above(rows, feature_threshold) if feature_threshold > 0 else None
    blocks = _blocks_of_classes(np.asarray(Y.T @ sample_weight))
    if sum(map(len, blocks)) == 0 :
        raise ValueError("no class of y has a positive sample with a weight above zero")
    stop = np.zeros(1, dtype=np.int32)
    try:
        parts = run_blocks(
            _solve_block,
            blocks,
            settings,
            rows,
            None if rows.dense else columns_of(rows),
            coarse,
            None if coarse is None else columns_of(coarse),
            arrays["squared_norms"],
            sample_weight,
            class_weight,
            arrays["maxima"],
            *positives,
            () if dual is None else (dual.indptr, dual.indices, dual.data),
            keep_dual,
            stop,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    except BaseException:
        stop[0] = 1  # threads that are still at work give up
        raise
    return _assemble(parts, n_columns, n_features, n_samples)


def _solve_block(labels, settings, rows, columns, coarse_rows, coarse_columns, *arrays):
    X = _matrix(rows, columns)
    coarse = X if coarse_rows is None else _matrix(coarse_rows, coarse_columns)
    *arrays, dual, keep_dual, stop = arrays
    return solve_classes(settings, X, coarse, *arrays, labels, dual, keep_dual, stop)


def _matrix(rows, columns):
    n_features = rows.shape[1]
    return Matrix(rows.indptr, rows.indices, rows.data, rows.dense, n_features, *(columns or ()))


def _squared_norms(rows):
    values = rows.data.astype(np.float64) ** 2
    return np.add.reduceat(np.append(values, 0), rows.indptr[:-1]).astype(np.float32) * (
        np.diff(rows.indptr) > 0
    )


def _largest_magnitudes(rows):
    largest = np.zeros(rows.shape[1], dtype=np.float32)
    magnitudes = np.abs(rows.data)
    if rows.dense:
        return magnitudes.reshape(rows.shape).max(axis=0)
    np.maximum.at(largest, rows.indices, magnitudes)
    return largest


def _above(rows, threshold):
    """The rows without their entries of magnitude up to `threshold` (section 5.3)."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)
        return as_rows(sparse.csr_array(np.where(np.abs(X) > threshold, X, np.float32(0))))
    keep = np.abs(rows.data) > threshold
    indptr = np.append(0, np.cumsum(keep))[rows.indptr]
    return rows._replace(indptr=indptr, indices=rows.indices[keep], data=rows.data[keep])


def _blocks_of_classes(counts):
    """Classes with positives in the order of their frequency, in blocks of about equal work.

    Neighbours in that order converge alike.  The blocks depend on the data alone.
    """
    order = np.argsort(-counts, kind="stable")
    order = order[: int((counts > 0).sum())].astype(np.int32)
    work = np.cumsum(counts[order] + counts.sum() / max(1, len(order)))
    n_blocks = max(1, min(MAX_BLOCKS, len(order) // LANES))
    block = np.minimum((work - work[:1]) * n_blocks // work[-1:], n_blocks - 1).astype(int)
    cuts = np.flatnonzero(np.diff(block)) + 1
    return np.split(order, cuts)


def _assemble(parts, n_columns, n_features, n_samples):
    labels, n_weights, intercept, n_iter, gap, n_active, weights, n_dual, duals = zip(
        *parts, strict=True
    )
    labels = np.concatenate(labels)
    result = {
        "intercept": np.full(n_columns, LOWEST_SCORE, dtype=np.float32),
        "gap": np.zeros(n_columns),
        "n_active": np.zeros(n_columns, dtype=np.int64),
        "n_iter": int(np.concatenate(n_iter).max()),
    }
    for name, values in ("intercept", intercept), ("gap", gap), ("n_active", n_active):
        result[name][labels] = np.concatenate(values)
    for name, counts, entries, width in (
        ("coef", n_weights, weights, n_features),
        ("dual", n_dual, duals, n_samples),
    ):
        indices, data = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        of_class = np.repeat(labels, np.concatenate(counts))
        result[name] = sparse.coo_array(
            (data, (of_class, indices)), shape=(n_columns, width)
        ).tocsr()
        result[name].sort_indices()
    return result
