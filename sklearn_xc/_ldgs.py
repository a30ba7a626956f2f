"""LDGS: large output layers learned by searching chunks of their columns."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from ._base import BaseXCClassifier, Interval, StrOptions
from ._decomposed import Positives
from ._dense import feature_major
from ._ldgs_prediction import Distances, best_threshold, embedded, precision_at_1
from ._ldgs_steps import Layout, Settings, Steps, Weights
from ._memory import require_memory
from ._multiclass import _codes, held_out_samples, validate_part
from ._parallel import single_threaded_blas
from ._rows import LARGEST_INDEX, as_rows

TRANSFORMED_AT_ONCE = 2**16  # rows


class LDGSClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseXCClassifier):
    """doc"""

    _parameter_constraints: dict = {  # noqa: RUF012
        "loss": [StrOptions({"cross_entropy", "margin", "triplet"})],
        "similarity": [StrOptions({"linear", "sqeuclidean"})],
        "gradient": [StrOptions({"decomposed", "mips", "sampled", "exact"})],
        "n_chunks": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "n_message_passes": [Interval(Integral, 0, 10**6, closed="both")],
        "query_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "index": [StrOptions({"spherical", "hnsw", "exact"})],
        "n_centroids": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
        "n_probes": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "tau": [Interval(Real, 0, 1e12, closed="both")],
        "unretrieved": [StrOptions({"exclude", "zero"})],
        "mu": [Interval(Real, 1e-6, 1e6, closed="both")],
        "hidden_dim": [Interval(Integral, 1, 2**16, closed="both"), None],
        "fit_intercept": ["boolean"],
        "warmup": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="both")],
        "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "solver": [StrOptions({"adagrad", "sgd"})],
        "learning_rate": [Interval(Real, 0, 1e12, closed="right")],
        "decay": [StrOptions({"linear"}), Interval(Real, 0, 1e12, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1e12, closed="both")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        loss="cross_entropy",
        *,
        similarity="linear",
        gradient="decomposed",
        n_chunks=4,
        n_message_passes=0,
        query_size="auto",
        index="spherical",
        n_centroids=None,
        n_probes=2,
        tau=1e-3,
        unretrieved="exclude",
        mu=1.0,
        hidden_dim=None,
        fit_intercept=True,
        warmup="auto",
        batch_size=32,
        solver="adagrad",
        learning_rate=0.5,
        decay="linear",
        max_iter=10,
        alpha=0.0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.loss = loss
        self.similarity = similarity
        self.gradient = gradient
        self.n_chunks = n_chunks
        self.n_message_passes = n_message_passes
        self.query_size = query_size
        self.index = index
        self.n_centroids = n_centroids
        self.n_probes = n_probes
        self.tau = tau
        self.unretrieved = unretrieved
        self.mu = mu
        self.hidden_dim = hidden_dim
        self.fit_intercept = fit_intercept
        self.warmup = warmup
        self.batch_size = batch_size
        self.solver = solver
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.alpha = alpha
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    # ------------------------------------------------------------------------------------- fit

    def fit(self, X, y, sample_weight=None):
        """Fit both layers."""
        with self._all_or_nothing():
            before = self._before() if self.warm_start and self.__sklearn_is_fitted__() else None
            X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
            positives = self._positives(Y)
            start = None
            if before is not None:
                start = self._check_before(*before)
            rng = check_random_state(self.random_state)
            held_out = np.zeros(X.shape[0], dtype=bool)
            if self.early_stopping:
                held_out = self._held_out(positives, rng)
            self._train(
                X, positives, sample_weight, held_out, start, 0, self.max_iter, rng.randint(2**31)
            )
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on training with one pass over more samples."""
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            X, positives, sample_weight = self._validate_part(X, y, classes, sample_weight, first)
            n_before = 0 if first else self.n_iter_
            seed = np.random.default_rng(
                [check_random_state(self.random_state).randint(2**31), n_before]
            ).integers(2**31)
            nobody = np.zeros(X.shape[0], dtype=bool)
            start = None if first else self._start()
            self._train(X, positives, sample_weight, nobody, start, n_before, 1, int(seed))
            self.n_iter_ = n_before + 1
        return self

    def _validate_part(self, X, y, classes, sample_weight, first):
        multilabel = len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1
        if not first and multilabel != (self._encoding.kind == "multilabel"):
            raise ValueError("y must have one class a sample in all calls, or several in all")
        if not multilabel:
            X, codes, sample_weight = validate_part(self, X, y, classes, sample_weight)
            indptr = np.arange(len(codes) + 1, dtype=np.int64)
            return X, Positives(indptr, codes), sample_weight
        encoding, known = vars(self).get("_encoding"), vars(self).get("classes_")
        if first:
            X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
        else:
            n_features = self.n_features_in_
            X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
            if X.shape[1] != n_features or len(self.classes_) != len(known):
                raise ValueError(
                    f"X has {X.shape[1]} features and y {len(self.classes_)} columns, but in the "
                    f"first call they had {n_features} and {len(known)}"
                )
            self._encoding, self.classes_ = encoding, known
        if classes is not None and len(classes) != len(self.classes_):
            raise ValueError(
                f"classes names {len(classes)} labels, but y has {len(self.classes_)} columns"
            )
        return X, self._positives(Y), sample_weight

    def _positives(self, Y):
        n_samples = Y.shape[0]
        if self._encoding.kind != "multilabel":
            return Positives(np.arange(n_samples + 1, dtype=np.int64), _codes(Y))
        if Y.shape[1] < 2:
            raise ValueError(
                "y has one column: the losses rank labels against each other, so that at least "
                "two are needed"
            )
        return Positives(Y.indptr.astype(np.int64), Y.indices.astype(np.int32))

    def _held_out(self, positives, rng):
        n_samples = len(positives.indptr) - 1
        if self._encoding.kind != "multilabel":
            return held_out_samples(positives.ids, self.validation_fraction, rng)
        held_out = np.zeros(n_samples, dtype=bool)
        held_out[rng.permutation(n_samples)[: int(self.validation_fraction * n_samples)]] = True
        return held_out

    def _train(self, X, positives, sample_weight, held_out, start, first, n_passes, seed):
        n_classes, n_features = len(self.classes_), X.shape[1]
        dim = n_features if self.hidden_dim is None else self.hidden_dim
        settings = self._settings(n_classes, dim, X.shape[0])
        layout = Layout(dim, settings.n_chunks, self.similarity, settings.fit_intercept)
        self._require_weights(n_classes, n_features, layout.n_columns)
        weights = self._initial(start, layout, n_features, seed)
        counted = ~held_out if sample_weight is None else ~held_out & (sample_weight > 0)
        visited = np.flatnonzero(counted)
        rows = as_rows(X)
        steps = Steps(
            rows, positives, sample_weight, visited, weights, layout, settings, seed,
            self._threads(),
        )  # fmt: skip
        curve, scores = [], []
        with single_threaded_blas():  # once, not with every mini-batch
            for number in range(first, first + n_passes):
                try:
                    curve.append(steps.epoch(number))
                except FloatingPointError as error:
                    raise ValueError(
                        f"{error}: use a smaller learning_rate, or scale the features"
                    ) from error
                if held_out.any():
                    scores.append(
                        precision_at_1(
                            rows,
                            positives,
                            np.flatnonzero(held_out),
                            weights,
                            layout,
                            self._threads(),
                        )
                    )
                if self.verbose:
                    reached = f", held-out precision@1 {scores[-1]:.4f}" if scores else ""
                    print(f"pass {number + 1}: mean loss {curve[-1]:.5g}{reached}")
                if len(scores) - 1 - int(np.argmax(scores or [0])) >= self.n_iter_no_change:
                    break
            steps.finish()
            coef, intercept = layout.coef(weights.W)
            if self._encoding.kind == "multilabel":
                judged = np.flatnonzero(held_out) if held_out.any() else visited
                intercept = intercept - best_threshold(
                    rows,
                    positives,
                    judged,
                    sample_weight,
                    weights,
                    layout,
                    seed,
                    self._threads(),
                )
        self.n_iter_ = len(curve)
        self.loss_curve_ = np.array(curve)
        vars(self).pop("validation_scores_", None)
        if self.early_stopping and first == 0 and held_out.any():
            self.validation_scores_ = np.array(scores)
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        self._squares = weights.squares_W, weights.squares_U
        self._set_model(coef, intercept, weights.U, layout)

    def _settings(self, n_classes, dim, n_samples):
        n_chunks = min(self.n_chunks, dim) if self.gradient == "decomposed" else 1
        query_size = self.query_size
        if query_size == "auto":
            query_size = int(np.ceil(np.sqrt(n_classes)))
        n_centroids = self.n_centroids
        if n_centroids is None:
            n_centroids = max(1, round(np.sqrt(n_classes)))
        return Settings(
            loss=self.loss, score=self.similarity, gradient=self.gradient, n_chunks=n_chunks,
            n_message_passes=self.n_message_passes if self.gradient == "decomposed" else 0,
            query_size=min(query_size, n_classes), index=self.index,
            n_centroids=min(n_centroids, n_classes), n_probes=self.n_probes, tau=float(self.tau),
            mu=float(self.mu), unretrieved=self.unretrieved,
            fit_intercept=bool(self.fit_intercept), solver=self.solver, warmup=self.warmup,
            batch_size=min(self.batch_size, n_samples), learning_rate=float(self.learning_rate),
            decay=self.decay, max_iter=self.max_iter, alpha=float(self.alpha),
        )  # fmt: skip

    def _require_weights(self, n_classes, n_features, n_columns):
        n_rows = 2 * n_classes + (0 if self.hidden_dim is None else 2 * n_features)
        require_memory(
            4 * n_rows * n_columns,
            f"fit: dense weights of {n_classes} classes and {n_columns} columns, twice",
            "use a smaller hidden_dim (None takes all features as they are)",
        )

    def _initial(self, start, layout, n_features, seed):
        adaptive = self.solver == "adagrad"
        n_classes = len(self.classes_)
        if start is not None:
            coef, intercept, table, squares = start
            U = None
            if table is not None:
                U = np.zeros((n_features, layout.n_columns), dtype=np.float32)
                U[:, layout.plain] = table
            if not adaptive or len(squares[0]) != n_classes:
                squares = None
            return Weights(layout.weights(coef, intercept), U, adaptive, squares)
        rng = np.random.default_rng(seed)
        dim = len(layout.plain)
        W = layout.weights(np.zeros((n_classes, dim), np.float32), np.zeros(n_classes, np.float32))
        if self.hidden_dim is None:
            return Weights(W, None, adaptive)
        U = np.zeros((n_features, layout.n_columns), dtype=np.float32)
        U[:, layout.plain] = rng.standard_normal((n_features, dim), np.float32) / np.sqrt(dim)
        return Weights(W, U, adaptive)

    # ------------------------------------------------------------------------- the fitted model

    def _set_model(self, coef, intercept, U, layout):
        self.input_embeddings_ = None
        if U is not None:
            self.input_embeddings_ = np.ascontiguousarray(U[:, layout.plain])
            self.input_embeddings_.flags.writeable = False
        for array in (coef, intercept):
            if not np.isfinite(array).all():
                raise ValueError(
                    "the weights left the range of float32: use a smaller learning_rate, or "
                    "scale the features"
                )
        if self._encoding.kind == "binary" and self.similarity == "linear":
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        elif self.similarity == "linear":
            coef = feature_major(coef)[:, : len(coef)].T
        self._set_linear_model(coef, intercept.astype(np.float32))

    def _before(self):
        return self.classes_, self.n_features_in_, self._start()

    def _start(self):
        """Label embeddings, intercepts, feature embeddings and sums of squares to go on from."""
        W, b = np.asarray(self.coef_, dtype=np.float32), np.asarray(self.intercept_, np.float32)
        if len(W) < len(self.classes_):
            W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
        dim = W.shape[1] if self.input_embeddings_ is None else self.input_embeddings_.shape[1]
        wanted = self.n_features_in_ if self.hidden_dim is None else self.hidden_dim
        hidden = self.input_embeddings_ is not None
        if dim != wanted or hidden != (self.hidden_dim is not None):
            raise ValueError(
                f"hidden_dim={self.hidden_dim!r} is not that of the fit before; set "
                "warm_start=False to start anew"
            )
        table = self.input_embeddings_
        return W, b, table, tuple(part.copy() for part in self._squares)

    def _check_before(self, classes, n_features, start):
        if not np.array_equal(classes, self.classes_) or n_features != self.n_features_in_:
            raise ValueError(
                "warm_start=True needs the classes and features of the fit before; set "
                "warm_start=False to start anew"
            )
        return start

    def _model(self):
        if self.similarity == "linear":
            return super()._model()
        binary = self._encoding.kind == "binary"
        make = partial(Distances, binary=binary)
        return self._index_cache.get(self.coef_, self.intercept_, make)

    @property
    def _n_features_out(self):
        return self.n_features_in_ if self.hidden_dim is None else self.hidden_dim

    # ------------------------------------------------------------------------------- prediction

    def _rows(self, X):
        rows = super()._rows(X)
        if self.input_embeddings_ is None and self.similarity == "linear":
            return rows
        E = embedded(rows, self.input_embeddings_, self._threads())
        return as_rows(E)

    def transform(self, X):
        """Embeddings of samples."""
        rows = super()._rows(X)
        return embedded(rows, self.input_embeddings_, self._threads())
