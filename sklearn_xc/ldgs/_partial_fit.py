"""LDGS in parts: `partial_fit` of LDGSClassifier, and classes that come later."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state

from ..base._label_texts import texts_of
from ..base._labels import check_labels, is_indicator
from ..base._multiclass import TrainsInParts, with_texts
from ..base._validation import grades_of, validate_fit
from ..topk._weight_store import store_of
from ..training._minibatches import in_parts
from ..training._waiting import Waiting, beginning_of, with_beginning
from ..utils._callbacks import SILENT, Progress
from ..utils._given_labels import in_order_of
from ..utils._matrix import as_rows
from ..utils._random import stream
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ._auto import LDGSCall
from ._candidate_gradients import Positives
from ._data import LabelledSamples, chosen, in_runs, of_weight, positives_of, require_graded_loss
from ._layers import require_weights
from ._train import (
    LDGSOutcome,
    LDGSProblem,
    first_state,
    fit_ldgs,
    having_seen,
    plan_of_part,
    without_far_rows,
)


class LDGSInParts(TrainsInParts):
    """Mixin of `partial_fit`, for one class a sample or several."""

    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | Sequence[MatrixLike] | None = None,
    ) -> Self:
        """Go on training with one pass over more samples, whose classes may be new.

        Many small parts do what few large ones do: weights, the ridge and the passes by which rates
        fall are relative to all samples seen, not to the call, and lasting steps are on whole
        mini-batches of `batch_size` samples. The samples left over take a step for as much of a
        mini-batch as they are, wait in the model (in copies and files too), and begin the next
        call, which takes that step back. The first samples are kept: until there are a hundred,
        each call trains on all of them from the start, and up to 800 each by which their number has
        grown by a quarter.

        With ``decay="linear"`` there is no last pass to which rates could fall: after t whole
        passes they are the first over ``sqrt(1 + t)``. What "auto" chose at the first call stays;
        the units of X follow all samples seen, and with several labels a sample the threshold of
        `predict` the last two thousand. Samples are visited in the order given, unless neighbours
        share their class far more often than by chance.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
            An indicator has the same columns in all calls.
        classes : array-like of shape (n_classes,), default=None
            Required at the first call with one class a sample, where no fit came before: the
            classes to begin with. Later, all classes from this call on: those of before, and any
            new ones; then y may hold no others. Without it, a label that no call before has named
            becomes a class, whose weights start as those of a fit do.
        sample_weight : array-like of shape (n_samples,), default=None
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels, as in `fit`: further samples of this call, after the others, also
            where samples choose the threshold of `predict`. They are of the columns of an
            indicator, of `classes` in its order, or of all classes after the call, sorted.

        Returns
        -------
        self : LDGSClassifier

        Raises
        ------
        ValueError
            If ``classes`` is missing at the first call, later leaves out a class of before or does
            not name a label of y, or if X or an indicator does not fit the calls before.
        """
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            X, positives, sample_weight = self._validated_part(
                X, y, classes, sample_weight, label_features
            )
            samples, n_before = of_weight(X, positives, sample_weight), 0 if first else self.n_iter_
            samples, first, known = with_beginning(self._beginning, self._tables, samples, first)
            self._train_on_part(samples, first, n_before)
            self._beginning = beginning_of(self._tables, known, first)
        return self

    def _validated_part(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: Any,
        sample_weight: ArrayLike | None,
        label_features: MatrixLike | Sequence[MatrixLike] | None,
    ) -> LabelledSamples:
        """Check parameters and data of a `partial_fit`, and take in new classes."""
        check_labels(y, grades_of(self))
        first, multilabel = not self.__sklearn_is_fitted__(), is_indicator(y)
        if not first and multilabel != (self._encoding.kind == "multilabel"):
            raise ValueError("y must have one class a sample in all calls, or several in all")
        if not multilabel and self.graded:
            raise ValueError("graded=True is for an indicator y, but y has one class a sample")
        if multilabel:
            X, Y, weight = self._part_of_indicator(X, y, classes, sample_weight, first)
            texts = texts_of(self, label_features, X.shape[1], not sparse.issparse(X))
            X, Y, weight = with_texts(self, X, Y, weight, texts)
            return X, positives_of(Y, self._encoding), weight
        given = X, y, classes, sample_weight, label_features
        X, codes, weight = self._validate_part(*given)
        indptr = np.arange(len(codes) + 1, dtype=np.int64)
        return X, Positives(indptr, codes), weight

    def _part_of_indicator(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: Any,
        sample_weight: ArrayLike | None,
        first: bool,
    ) -> tuple[Matrix, sparse.csr_array, np.ndarray | None]:
        """Check a part with an indicator; its columns are the classes, the same in all calls."""
        if not first:
            self._check_state()
            # `validate_fit` sets these as for a new fit: they are put back when the part fits
            # them.
            encoding, n_features = self._encoding, self.n_features_in_
            support, beginning = self._support, self._beginning
            # A DataFrame may have its columns in another order.
            y = in_order_of(y, encoding.classes_)
        require_graded_loss(self)
        rows, Y, weight = validate_fit(self, X, y, sample_weight)
        X = rows.matrix()
        if not first:
            n_columns = len(encoding.classes_)
            if X.shape[1] != n_features or len(self.classes_) != n_columns:
                raise ValueError(
                    f"X has {X.shape[1]} features and y {len(self.classes_)} columns, but in the "
                    f"first call they had {n_features} and {n_columns}"
                )
            self._set_encoding(encoding)
            self._support = None if support is None else self._support + support
            self._beginning = beginning
        if classes is not None and len(classes) != len(self.classes_):
            raise ValueError(
                f"classes names {len(classes)} labels, but y has {len(self.classes_)} columns"
            )
        return X, Y, weight

    def _train_on_part(self, samples: LabelledSamples, first: bool, n_before: int) -> None:
        """Make one pass over more samples and the leftover ones (see `training/_waiting.py`).

        `first` says to train from the start, `n_before` counts the calls before.
        """
        waiting, n_new = None if first else self._take_back(), samples[0].shape[0]
        # A cold start whose only steps were on leftover samples begins again, with these and the
        # new ones.
        cold = first or (waiting is not None and waiting.cold)
        if waiting is not None:
            samples = waiting.followed_by(*samples)
        samples = samples[0], Positives(*samples[1]), samples[2]
        n_samples = samples[0].shape[0]
        if cold:
            n_new = n_samples
            plan, state = first_state(self, as_rows(samples[0]), len(self.classes_))
        else:
            plan = plan_of_part(self, self.hidden_dim_, self.gradient_, self._state.form)
            state = replace(self._state, form=plan.form)
        # Before units are measured: a corrupt sample must not decide them.
        rows = without_far_rows(state, as_rows(samples[0]), samples[2], known=not cold)
        samples = rows.matrix(), *samples[1:]
        # Leftover samples of the call before have been counted already.
        new = np.arange(n_samples - n_new, n_samples)
        state = having_seen(state, self._problem(samples, new))
        columns = self._keep_columns(rows.features, rows.shape[1], cold, rows.dense)
        if columns is not None:
            samples = rows.as_sparse().narrowed(columns).matrix(), *samples[1:]
        seed = check_random_state(self.random_state).randint(2**31)
        rng = stream(seed, "order of a part", n_before) if in_runs(samples[1]) else None
        whole, rest = in_parts(n_samples, self.batch_size, rng)
        progress = self._progress_of_part()

        def train(some: np.ndarray, progress: Progress) -> LDGSOutcome:
            """Return a pass over some of the samples."""
            # A stream by the number of samples visited so far, whatever calls they came in.
            number = stream(seed, "part", int(state.n_visited)).integers(2**31)
            call = LDGSCall(self, plan, 1, int(number), self._threads())
            start = None if cold else self._start_weights()
            return fit_ldgs(self._problem(samples, some), call, state, start, n_before, progress)

        if len(whole):
            outcome = train(whole, progress)
            self._keep(outcome)
            plan, state, cold, progress = outcome.plan, outcome.state, False, SILENT
        # Lasting weights, to which the next call goes back from the steps on leftover samples.
        before = () if cold else self._tables()
        self._waiting = None
        if len(rest):
            # All that a cold start knows is of its only steps, which are repeated by the next call.
            self._keep(train(rest, progress), lasting=cold, reported=len(whole) > 0)
            X, positives, weight = chosen(samples, rest)
            X = self._in_all_columns(X)
            self._waiting = Waiting(X, positives, weight, cold, before, self._tables())
        self.n_iter_ = n_before + 1

    def _problem(self, samples: LabelledSamples, some: np.ndarray) -> LDGSProblem:
        """Return the problem of some of the samples of a part."""
        X, positives, weight = chosen(samples, some)
        return LDGSProblem.of(self, as_rows(X), positives, weight)

    def _tables(self) -> list[np.ndarray]:
        """Return label embeddings, intercepts and, if there is one, the table of features."""
        intercept = np.asarray(self.intercept_ + np.float32(self._state.threshold))
        tables, table = [self._kept_embeddings(), intercept], self._kept_table()
        return tables if table is None else [*tables, table]

    def _kept_embeddings(self) -> np.ndarray:
        """Return the label embeddings, without a layer of the columns that are kept; dense."""
        if self._kept_table() is None:
            return self._kept_weights()
        return store_of(self.coef_).checked().dense()

    def _put_back(
        self, coef: np.ndarray, intercept: np.ndarray, table: np.ndarray | None = None
    ) -> None:
        """Become the model of these tables, with the threshold of now."""
        self.coef_ = self._as_coef(coef) if table is None else coef
        self.intercept_ = intercept - np.float32(self._state.threshold)
        self.input_embeddings_ = table

    def _place_classes(self, places: np.ndarray) -> None:
        """Bring weights and sums of the classes before to their places among those of now."""
        n_classes = len(self.classes_)
        width = self._n_kept if self.hidden_dim_ is None else self.hidden_dim_
        require_weights(self.hidden_dim_, n_classes, self._n_kept, width)

        def placed(rows: np.ndarray) -> np.ndarray:
            """Return rows of the classes before among zeros for the new ones."""
            grown = np.zeros((n_classes, *rows.shape[1:]), dtype=np.float32)
            grown[places] = rows
            return grown

        # Leftover steps are of the classes before: undone first, then placed like the weights.
        waiting = self._take_back()
        W, b, table, (squares_W, squares_U) = self._start_weights()
        if len(squares_W):
            squares_W = placed(squares_W)
        self._state = replace(self._state, squares=(squares_W, squares_U))
        set_weights = self._set_kept_model if table is None else self._set_linear_model
        set_weights(placed(W), placed(b) - np.float32(self._state.threshold))
        if waiting is not None:
            self._waiting = waiting.placed(places, self._tables())
