"""How LDGSClassifier is fitted: its data, the settings of the steps, the model they leave."""

from functools import partial

import numpy as np

from ._base import BaseXCClassifier
from ._callbacks import SILENT
from ._decomposed import Positives
from ._dense import feature_major
from ._explain import weights_at
from ._ldgs_prediction import Distances, best_threshold, dense, embedded, precision_at_1
from ._ldgs_steps import Layout, Settings, Steps, Weights
from ._memory import require_memory
from ._multiclass import _codes, held_out_samples, validate_part
from ._parallel import single_threaded_blas
from ._rows import as_rows

NAMED_TOGETHER = 4  # times the root of the number of classes: what all chunks name for a sample


class BaseLDGS(BaseXCClassifier):
    """The part of LDGSClassifier that its users do not call."""

    # ------------------------------------------------------------------------------------ data

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
            n_features, support = self.n_features_in_, self._support
            X, Y, sample_weight = self._validate_fit(X, y, sample_weight)
            if X.shape[1] != n_features or len(self.classes_) != len(known):
                raise ValueError(
                    f"X has {X.shape[1]} features and y {len(self.classes_)} columns, but in the "
                    f"first call they had {n_features} and {len(known)}"
                )
            self._encoding, self.classes_ = encoding, known
            self._support = None if support is None else self._support + support
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

    # -------------------------------------------------------------------------------- training

    def _train(
        self, X, positives, sample_weight, held_out, start, first, n_passes, seed, progress=SILENT
    ):
        n_classes, n_features = len(self.classes_), X.shape[1]
        dim = n_features if self.hidden_dim is None else self.hidden_dim
        settings = self._settings(n_classes, dim, X.shape[0])
        if n_passes is None:  # one more part, and no end in sight to which rates could fall
            n_passes = 1
            settings = settings._replace(decay=0.0 if self.decay == "linear" else self.decay)
        layout = Layout(dim, settings.n_chunks, self.similarity, settings.fit_intercept)
        self._require_weights(n_classes, n_features, layout.n_columns)
        weights = self._initial(start, layout, n_features, seed)
        counted = ~held_out if sample_weight is None else ~held_out & (sample_weight > 0)
        visited = np.flatnonzero(counted)
        rows = as_rows(X)
        steps = Steps(
            rows, positives, sample_weight, visited, weights, layout, settings, seed,
            self._threads(), searching=start is not None and self._searching,
        )  # fmt: skip
        threads, kept = self._threads(), np.flatnonzero(held_out)

        def model():
            steps.finish()
            coef, intercept = layout.coef(weights.W)
            threshold = np.float32(0)
            if self._encoding.kind == "multilabel":
                threshold = best_threshold(
                    rows, positives, kept if len(kept) else visited, sample_weight, weights, layout,
                    seed, threads,
                )  # fmt: skip
            return coef, intercept, threshold

        curve, scores = [], []
        with single_threaded_blas():  # once, not with every mini-batch
            for number in range(first, first + n_passes):
                progress.begin()
                try:
                    curve.append(steps.epoch(number))
                except FloatingPointError as error:
                    raise ValueError(
                        f"{error}: use a smaller learning_rate, or scale the features"
                    ) from error
                if len(kept):
                    scores.append(precision_at_1(rows, positives, kept, weights, layout, threads))
                if self.verbose:
                    reached = f", held-out precision@1 {scores[-1]:.4f}" if scores else ""
                    print(f"pass {number + 1}: mean loss {curve[-1]:.5g}{reached}")
                stop = progress.end(model, weights, layout)
                if stop or len(scores) - 1 - int(np.argmax(scores or [0])) >= self.n_iter_no_change:
                    break
            coef, intercept, threshold = model()
        self.n_iter_ = len(curve)
        self.loss_curve_ = np.array(curve)
        vars(self).pop("validation_scores_", None)
        if self.early_stopping and first == 0 and len(kept):
            self.validation_scores_ = np.array(scores)
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        self._squares, self._searching = (weights.squares_W, weights.squares_U), steps.searching
        self._set_model(coef, intercept, threshold, weights.U, layout)

    def _settings(self, n_classes, dim, n_samples):
        n_chunks = min(self.n_chunks, dim) if self.gradient == "decomposed" else 1
        query_size = self.query_size
        if query_size == "auto":
            share = NAMED_TOGETHER / n_chunks if self.gradient == "decomposed" else 1
            query_size = int(np.ceil(share * np.sqrt(n_classes)))
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

    def _set_model(self, coef, intercept, threshold, U, layout):
        # Training goes on without the threshold: a constant in all rows would hide their
        # directions from an index.
        self._threshold = threshold
        intercept = intercept - threshold
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

    def _prepare_index(self):
        super()._prepare_index()
        vars(self).pop("_search", None)

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_search"}

    def _start(self):
        """Label embeddings, intercepts, feature embeddings and sums of squares to go on from."""
        W = dense(self.coef_)
        b = np.asarray(self.intercept_, dtype=np.float32) + self._threshold
        if len(W) == 1:  # two classes, one score
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

    # ---------------------------------------------------------------------------- save and load

    _not_saved = (*BaseXCClassifier._not_saved, "_search")

    def _is_linear(self):
        return self.similarity == "linear"

    def _n_inputs(self, state):
        table = state.get("input_embeddings_")
        if table is None:
            return state["n_features_in_"]
        if not isinstance(table, np.ndarray) or table.dtype != np.float32 or table.ndim != 2:
            raise ValueError("input_embeddings_ is no matrix of float32")
        if len(table) != state["n_features_in_"]:
            raise ValueError(f"input_embeddings_ has {len(table)} rows")
        return table.shape[1]

    def _check_loaded(self):
        super()._check_loaded()
        sizes = [{0, len(self.classes_)}, {0, self.n_features_in_}]
        for squares, allowed in zip(self._squares, sizes, strict=True):
            if squares.dtype != np.float32 or squares.ndim != 1 or len(squares) not in allowed:
                raise ValueError("the sums of squared gradients do not fit the weights")
        if not isinstance(self._searching, (bool, np.bool_)):
            raise ValueError("_searching is neither true nor false")

    def _place_classes(self, places):
        n_classes = len(self.classes_)
        self._require_weights(n_classes, self.n_features_in_, self.coef_.shape[1])

        def placed(rows):
            grown = np.zeros((n_classes, *rows.shape[1:]), dtype=np.float32)
            grown[places] = rows
            return grown

        W, b, _, (squares_W, squares_U) = self._start()
        if len(squares_W):
            squares_W = placed(squares_W)
        self._squares = squares_W, squares_U
        self._set_linear_model(placed(W), placed(b))

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

    def _weights_at(self, row, features):
        if self.input_embeddings_ is None:
            return super()._weights_at(row, features)
        return self.input_embeddings_[features] @ self._label_embedding(row)

    def _label_embedding(self, row):
        return weights_at(self.coef_, row, np.arange(self.coef_.shape[1]))

    def _weights_of_label(self, place, features, values):
        if self.similarity == "linear":
            return super()._weights_of_label(place, features, values)
        weights, intercept = self._of_distance(place, features, values)
        if self._encoding.kind == "binary":  # the difference of two scores
            others, other = self._of_distance(1 - place, features, values)
            return weights - others, intercept - other
        return weights, intercept

    def _of_distance(self, place, features, values):
        """Minus the squared distance to a label embedding, as weights and an intercept."""
        w = self._label_embedding(place).astype(np.float64)
        if self.input_embeddings_ is None:
            square, weights = values @ values, 2 * w[features]
        else:
            table = self.input_embeddings_[features].astype(np.float64)
            embedding = values @ table
            square, weights = embedding @ embedding, 2 * (table @ w)
        return weights.astype(np.float32), float(self.intercept_[place] - w @ w - square)

    def _rows(self, X):
        rows = super()._rows(X)
        if self.input_embeddings_ is None and self.similarity == "linear":
            return rows
        E = embedded(rows, self.input_embeddings_, self._threads())
        return as_rows(E)
