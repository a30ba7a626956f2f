"""How LDGSClassifier is fitted: its data, the settings of the steps, the model they leave."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..base._classifier import BaseXCClassifier
from ..base._labels import check_labels, is_indicator
from ..base._multiclass import codes_of, held_out_samples, validate_part
from ..inspection._explain import weights_at
from ..topk._feature_major import feature_major
from ..utils._callbacks import FIT_CALLER
from ..utils._convergence import still_rose, warn_not_converged
from ..utils._matrix import as_rows
from ..utils._memory_limit import require_memory
from ..utils._minibatches import sorted_by_class
from ..utils._parallel import single_threaded_blas
from ..utils._rows_seen import RowsSeen
from ._auto import PRIOR, in_form, make_plan, passes, rate_of
from ._candidate_gradients import Positives
from ._features import FeatureSteps, FeatureWeights
from ._layers import Layout, Settings, Weights
from ._prediction import Distances, best_threshold, dense, embedded, precision_at_1
from ._train import Steps
from ._units import Change, Units, held_back

NAMED_TOGETHER = 4  # times the root of the number of classes: what all chunks name for a sample


class Task(NamedTuple):
    """What a call trains on, and how far.

    Attributes
    ----------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    positives : Positives
    sample_weight : ndarray of float32 (n_samples,), or None
    held_out : ndarray of bool (n_samples,)
    start : tuple or None
        From ``_start``.
    whole : bool
        Whether this is a fit, or a part of what `partial_fit` is given.
    seed : int
    """

    X: object
    positives: object
    sample_weight: object
    held_out: np.ndarray
    start: tuple
    whole: bool
    seed: int


def in_runs(positives):
    """Whether samples of a part come in runs of one label, which no step should be made of."""
    ones = np.diff(positives.indptr) == 1
    return sorted_by_class(positives.ids[positives.indptr[:-1][ones]])


class BaseLDGS(BaseXCClassifier):
    """The part of LDGSClassifier that its users do not call."""

    # ------------------------------------------------------------------------------------ data

    def _validate_part(self, X, y, classes, sample_weight, first):
        check_labels(y)
        multilabel = is_indicator(y)
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
            return Positives(np.arange(n_samples + 1, dtype=np.int64), codes_of(Y))
        if Y.shape[1] < 2:
            raise ValueError(
                "y has one column: the losses rank labels against each other, so that at least "
                "two are needed"
            )
        return Positives(Y.indptr.astype(np.int64), Y.indices.astype(np.int32))

    def _held_out(self, positives, rng, sample_weight):
        n_samples = len(positives.indptr) - 1
        if self._encoding.kind != "multilabel":
            return held_out_samples(positives.ids, self.validation_fraction, rng, sample_weight)
        held_out = np.zeros(n_samples, dtype=bool)
        counted = np.arange(n_samples)
        if sample_weight is not None:
            counted = np.flatnonzero(sample_weight > 0)
        n_kept = int(self.validation_fraction * len(counted))
        held_out[counted[rng.permutation(len(counted))[:n_kept]]] = True
        return held_out

    # -------------------------------------------------------------------------------- training

    def _plan_fit(self, X):
        """Choose what is left to the estimator; sets the attributes that say so."""
        plan = make_plan(self, X, len(self.classes_))
        self.hidden_dim_, self.gradient_ = plan.hidden_dim, plan.gradient
        self.learning_rate_, self._form = plan.learning_rate, plan.form
        in_units, linear = plan.in_units, self.similarity == "linear"
        by_column = plan.form == "columns"
        self._units = Units(by_column, by_column and self.fit_intercept) if in_units else None
        if not linear and self.learning_rate == "auto":
            self._units = Units()  # not for X: distances have its unit, and so have steps
        self._seen, self._n_visited = RowsSeen(), 0.0

    def _plan_part(self):
        """The same for one more part: only what a parameter names may have changed."""
        if self.gradient != "auto":
            self.gradient_ = self.gradient
        if self._form == "features" and self.gradient_ != "exact":
            self._form = "rows"
        self.learning_rate_ = rate_of(self, self._form)

    def _prepare(self, task):
        """The steps of a call, and the change of variables of their weights."""
        X = in_form(task.X, self._form)
        rows, weight = as_rows(X), task.sample_weight
        counted = ~task.held_out if weight is None else ~task.held_out & (weight > 0)
        visited = np.flatnonzero(counted)
        self._seen = self._seen.with_rows(rows, weight)
        n_seen = len(visited) if task.whole else round(self._seen.n_rows)
        units = self._units
        if units is not None:
            units = self._units = units.with_rows(rows, visited, weight)
        linear, hidden = self.similarity == "linear", self.hidden_dim_ is not None
        if not linear and units is not None and self.solver == "adagrad":
            self.learning_rate_ = rate_of(self, self._form) * units.length
        n_visits = None if task.whole else self._seen.n_visits
        change = Change(units if linear else None, hidden, n_visits)
        settings = self._settings(rows.shape[1], n_seen)._replace(of_parts=not task.whole)
        self.alpha_ = self.alpha
        strengths = change.strengths(self.alpha) if self.alpha != "auto" else (0.0, 0.0)
        if self.alpha == "auto":
            plain = hidden or units is None or not linear
            self.alpha_ = 0.0 if plain else PRIOR / n_seen
            strengths = self.alpha_, 0.0
        n_chunks = settings.n_chunks
        dim = self.hidden_dim_ if hidden else rows.shape[1]
        layout = Layout(dim, n_chunks, self.similarity, settings.fit_intercept)
        self._require_weights(len(self.classes_), rows.shape[1], layout.n_columns)
        weights = self._initial(task.start, layout, rows.shape[1], task.seed, change)
        mean_weight = None
        if weight is not None and not task.whole:
            mean_weight = self._seen.weight_of_visits / max(1, self._seen.n_visits)
        inside, held = change.rows(rows), None
        if units is not None:
            held = held_back(inside, 1.0 if linear else units.length)
        make = FeatureSteps if self._form == "features" else Steps
        return make(
            inside, task.positives, weight, visited, weights, layout, settings,
            task.seed, self._threads(), searching=task.start is not None and self._searching,
            mean_weight=mean_weight, strengths=strengths, held_back=held,
            shuffled=task.whole or in_runs(task.positives),
        ), change  # fmt: skip

    def _train(self, task, n_before, n_passes, progress):
        steps, change = self._prepare(task)
        visited, kept = steps.visited, np.flatnonzero(task.held_out)

        def model():
            coef, intercept, table = change.outside(*steps.model())
            threshold = np.float32(0)
            if self._encoding.kind == "multilabel":
                judged = kept if len(kept) else visited
                threshold = best_threshold(steps, judged, task.sample_weight)
            return coef, intercept, table, threshold

        curve, scores, stop = [], [], False
        start, span = None, 1.0  # in passes over all samples that there are
        if not task.whole:
            n_rows = max(1, self._seen.n_rows)
            start, span = self._n_visited / n_rows, len(visited) / n_rows
        with single_threaded_blas():  # once, not with every mini-batch
            for number in range(n_before, n_before + n_passes):
                progress.begin()
                try:
                    curve.append(steps.epoch(number, start, span))
                except FloatingPointError as error:
                    raise ValueError(
                        f"{error}: use a smaller learning_rate, or scale the features"
                    ) from error
                if len(kept):
                    scores.append(precision_at_1(steps, kept, task.sample_weight))
                stop = progress.end(
                    model, loss=curve[-1], held_out_precision=scores[-1] if scores else None
                )
                stop = stop or len(scores) - 1 - np.argmax(scores or [0]) >= self.n_iter_no_change
                if stop:
                    break
            steps.finish()
            if task.whole:
                steps.forget_untouched()
            found = model()
        self.n_iter_ = len(curve)
        self._n_visited += float(len(visited) * len(curve))
        self.loss_curve_ = np.array(curve)
        vars(self).pop("validation_scores_", None)
        if len(kept):
            self.validation_scores_ = np.array(scores)
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        w = steps.weights
        self._squares, self._searching = (w.squares_W, w.squares_U), steps.searching
        self._set_model(*found)
        if len(kept) and not stop and still_rose(scores):
            warn_not_converged(
                f"early_stopping: the precision of the samples kept apart still rose in the last "
                f"n_iter_no_change={self.n_iter_no_change} of max_iter={n_passes} passes; increase "
                "max_iter",
                stacklevel=FIT_CALLER + 1,
            )

    def _settings(self, n_features, n_samples):
        n_classes, gradient = len(self.classes_), self.gradient_
        dim = n_features if self.hidden_dim_ is None else self.hidden_dim_
        n_chunks = min(self.n_chunks, dim) if gradient == "decomposed" else 1
        query_size = self.query_size
        if query_size == "auto":
            share = NAMED_TOGETHER / n_chunks if gradient == "decomposed" else 1
            query_size = int(np.ceil(share * np.sqrt(n_classes)))
        n_centroids = self.n_centroids
        if n_centroids is None:
            n_centroids = max(1, round(np.sqrt(n_classes)))
        return Settings(
            loss=self.loss, score=self.similarity, gradient=gradient, n_chunks=n_chunks,
            n_message_passes=self.n_message_passes if gradient == "decomposed" else 0,
            query_size=min(query_size, n_classes), index=self.index,
            n_centroids=min(n_centroids, n_classes), n_probes=self.n_probes, tau=float(self.tau),
            mu=float(self.mu), unretrieved=self.unretrieved,
            fit_intercept=bool(self.fit_intercept), solver=self.solver, warmup=self.warmup,
            batch_size=max(1, min(self.batch_size, n_samples)),
            learning_rate=self.learning_rate_, decay=self.decay,
            max_iter=self._passes(n_samples, n_features), alpha=0.0,
        )  # fmt: skip

    def _passes(self, n_samples, n_features):
        return passes(self, self._form, n_samples, len(self.classes_) * n_features)

    def _require_weights(self, n_classes, n_features, n_columns):
        hidden = self.hidden_dim_ is not None
        n_rows = 2 * n_classes + (2 * n_features if hidden else 0)
        require_memory(
            4 * n_rows * n_columns,
            f"fit: dense weights of {n_classes} classes and {n_columns} columns, twice",
            "use a smaller hidden_dim" if hidden else "set hidden_dim, to some hundred",
        )

    def _initial(self, start, layout, n_features, seed, change):
        """The weights to start from, in the units of the steps."""
        adaptive = self.solver == "adagrad"
        n_classes, dim, squares = len(self.classes_), len(layout.plain), None
        if start is not None:
            coef, intercept, table = change.inside(*start[:3])
            squares = start[3]
            by_row = n_features if self._form in ("hidden", "features") else 0
            if not adaptive or tuple(map(len, squares)) != (n_classes, by_row):
                squares = None
        else:
            coef = np.zeros((n_classes, dim), dtype=np.float32)
            intercept, table = np.zeros(n_classes, dtype=np.float32), None
            if self.hidden_dim_ is not None:
                rng = np.random.default_rng(seed)
                table = rng.standard_normal((n_features, dim), np.float32) / np.sqrt(dim)
        if self._form == "features":
            W = np.array(coef.T, dtype=np.float32, order="C")
            return FeatureWeights(W, np.array(intercept, np.float32), adaptive, squares)
        U = None
        if table is not None:
            U = np.zeros((n_features, layout.n_columns), dtype=np.float32)
            U[:, layout.plain] = table
        return Weights(layout.weights(coef, intercept), U, adaptive, squares)

    # ------------------------------------------------------------------------- the fitted model

    def _set_model(self, coef, intercept, table, threshold):
        # Training goes on without the threshold: a constant in all rows would hide their
        # directions from an index.
        self._threshold = threshold
        intercept = intercept - threshold
        self.input_embeddings_ = table
        if table is not None:
            table.flags.writeable = False
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

    def _require_same_layer(self, start):
        """Refuse to go on from a model with another layer than is wanted now."""
        width = None if start[2] is None else start[2].shape[1]
        wanted = self.hidden_dim_ if self.hidden_dim == "auto" else self.hidden_dim
        if width != wanted:
            raise ValueError(
                f"hidden_dim={self.hidden_dim!r} is not that of the fit before; set "
                "warm_start=False to start anew"
            )

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
        self._add_what_older_models_lack()
        if self._form not in ("hidden", "features", "columns", "rows"):
            raise ValueError("the form of the weights is unknown")
        if not isinstance(self._seen, RowsSeen) or not isinstance(self._n_visited, float):
            raise ValueError("the rows seen are of the wrong kind")
        units = self._units
        if not (units is None or isinstance(units, Units)):
            raise ValueError("the units are of the wrong kind")
        if units is not None and len(units.mean) not in (0, self.n_features_in_):
            raise ValueError("the units do not fit the features")

    def _add_what_older_models_lack(self):
        """Models saved before rows seen were counted go on as if none had been."""
        table = self.input_embeddings_
        added = {
            "_form": "rows" if table is None else "hidden", "_units": None, "_seen": RowsSeen(),
            "_n_visited": 0.0, "hidden_dim_": None if table is None else table.shape[1],
            "gradient_": self.gradient, "learning_rate_": self.learning_rate, "alpha_": self.alpha,
        }  # fmt: skip
        for name, value in added.items():
            vars(self).setdefault(name, value)

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
