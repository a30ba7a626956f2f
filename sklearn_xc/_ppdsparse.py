"""PPDSparse: one-vs-rest linear classifiers that are sparse in primal and dual."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._base import BaseXCClassifier, Interval, StrOptions
from ._kernels._matrix import Matrix
from ._kernels._ppdsparse import N_LANES, solve_classes
from ._memory import require_memory
from ._parallel import blocks_of_classes, run_blocks
from ._rows import LARGEST_INDEX, above, as_rows, columns_of, fast_order, largest_magnitudes
from ._weights import weights_of_classes

LOWEST_SCORE = np.float32(-1e18)  # of classes without positives: finite, and below any other
LARGEST_WEIGHT = 1e12  # of a class: float32 must hold its product with sample_weight
LARGEST_NORM = 1e24  # ||x||^2, so that ||x||^2 / l2 stays within float32
N_PARTS = 8  # arguments of a Matrix


class PPDSparseClassifier(BaseXCClassifier):
    _parameter_constraints = {  # noqa: RUF012
        # the kernels compute in float32: beyond these bounds a square would overflow
        "l1": [Interval(Real, 0, 1e12, closed="both")],
        "l2": [Interval(Real, 1e-12, 1e12, closed="both")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_select": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "sparsification": [StrOptions({"random"}), None],
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
        sparsification=None,
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
        self.sparsification = sparsification
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
            vars(self).pop("dual_coef_", None)
            if self.warm_start:
                self.dual_coef_ = result["dual"]
            self._set_linear_model(result["coef"], result["intercept"])
        late = int((~(self.dual_gap_ <= self.tol)).sum())
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
            "max_iter": min(self.max_iter, LARGEST_INDEX),
            "n_select": 0 if self.n_select == "auto" else min(self.n_select, LARGEST_INDEX),
            "sparsify": self.sparsification == "random",
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
                if not (isinstance(weight, Real) and 0 < weight <= LARGEST_WEIGHT):
                    raise ValueError(
                        f"class_weight must be above zero and up to {LARGEST_WEIGHT:g}, "
                        f"got {weight!r} for {label!r}"
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
    n_features = X.shape[1]
    n_columns = Y.shape[1]
    require_memory(
        n_features * N_LANES * 12,
        f"fit: weights of {N_LANES} classes of {n_features} features",
        "use fewer features (a hashing or a feature selection step before)",
    )
    rows = as_rows(X)
    order = fast_order(rows, settings["seed"])
    rows, Y, sample_weight = order.rows(rows), Y[order.samples], sample_weight[order.samples]
    Y = Y.tocsc()
    Y.sort_indices()
    positives = (Y.indptr.astype(np.int64), Y.indices.astype(np.int32))
    squared_norms = _squared_norms(rows) + np.float32(settings["intercept"])
    coarse = above(rows, feature_threshold) if feature_threshold > 0 else None
    blocks = blocks_of_classes(np.asarray(Y.T @ sample_weight), N_LANES)
    if not blocks:
        raise ValueError("no class of y has a positive sample with a weight above zero")
    if dual is not None:
        dual = dual[:, order.samples]
        dual.sort_indices()
    stop = np.zeros(1, dtype=np.int32)
    try:
        parts = run_blocks(
            _solve_block,
            blocks,
            settings,
            keep_dual,
            stop,
            # every array is an argument of its own, so that a Dask cluster gets it only once
            *_parts(rows),
            *_parts(coarse),
            squared_norms,
            sample_weight,
            class_weight,
            largest_magnitudes(rows),
            *positives,
            *((None,) * 3 if dual is None else _dual_arrays(dual)),
            n_jobs=n_jobs,
            verbose=verbose,
        )
    except BaseException:
        stop[0] = 1  # threads that are still at work give up
        raise
    return _assemble(parts, order, n_columns)


def _solve_block(labels, settings, keep_dual, stop, *arrays):
    X = Matrix(*arrays[:N_PARTS])
    coarse = X if arrays[N_PARTS] is None else Matrix(*arrays[N_PARTS : 2 * N_PARTS])
    problem, dual = arrays[2 * N_PARTS : -3], arrays[-3:]
    dual = () if dual[0] is None else dual
    return solve_classes(settings, X, coarse, *problem, labels, dual, keep_dual, stop)


def _parts(rows):
    """The arguments of a `Matrix`: the rows and, where they are sparse, the columns."""
    if rows is None:
        return (None,) * N_PARTS
    columns = (None, None, None) if rows.dense else columns_of(rows)
    return rows.indptr, rows.indices, rows.data, rows.dense, rows.shape[1], *columns


def _squared_norms(rows):
    values = rows.data.astype(np.float64) ** 2
    norms = np.add.reduceat(np.append(values, 0), rows.indptr[:-1])
    norms[np.diff(rows.indptr) == 0] = 0
    if norms.max() > LARGEST_NORM:
        raise ValueError(
            f"X has a row of squared length {norms.max():.3g}; the solver computes in float32 and "
            f"takes up to {LARGEST_NORM:g}: scale the features"
        )
    return norms.astype(np.float32)


def _dual_arrays(dual):
    return (
        dual.indptr.astype(np.int64),
        dual.indices.astype(np.int32),
        dual.data.astype(np.float32),
    )


def _assemble(parts, order, n_columns):
    """Put the classes of all blocks in their places, features and samples in the caller's order."""
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
    result["coef"] = weights_of_classes(labels, n_weights, weights, n_columns, order.features)
    result["dual"] = weights_of_classes(labels, n_dual, duals, n_columns, order.samples)
    return result
