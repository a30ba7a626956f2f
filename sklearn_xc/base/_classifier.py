"""Base of all classifiers: validation, labels, prediction, tags."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..persistence import SaveMixin, weights_to_store
from ..persistence._decoder import Origin
from ..persistence._encoder import Encoder
from ..persistence._weights import LoadedWeights
from ..topk._inverted_index import InvertedIndex
from ..topk._weight_store import store_of
from ..utils._callbacks import CallbackSupportMixin, Progress
from ..utils._matrix import as_rows, in_checked_csr, normalise
from ..utils._memory_limit import require_memory
from ..utils._parallel import effective_threads
from ..utils._rows import Rows
from ..utils._scratch import Scratch
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ._explain import check_options, explain_rows, places_of_labels, predicted_places
from ._explanation import Explanations
from ._fit_labels import TakesLabels
from ._fitted import check_labels_and_counts, check_shape
from ._label_counts import LabelReport, counts_of_codes, report_of
from ._linear_model import IndexCache, LinearScores
from ._predict_topk import PredictsTopK, topk_of_scores
from ._topk_predictor import AnswersSingleRows
from ._validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    all_or_nothing,
    as_it_is,
    check_parameters,
    refuse_texts,
)
from ._weight_format import WeightFormat

__all__ = [
    "BaseXCClassifier",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "all_or_nothing",
    "as_it_is",
    "check_parameters",
]


BYTES_OF_A_CLASS = 64  # its label, intercept, support, and its part of reports


class BaseXCClassifier(
    PredictsTopK,
    AnswersSingleRows,
    WeightFormat,
    TakesLabels,
    SaveMixin,
    CallbackSupportMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Base of all classifiers here.

    A subclass declares ``_parameter_constraints``, has the parameter ``n_jobs``, and fits inside
    :meth:`_all_or_nothing` with the data from `_validation.validate_fit`. One with linear weights
    ends with :meth:`_set_linear_model`; one whose scores come from them and something else
    overrides :meth:`_scores_of`.
    """

    _parameter_constraints: dict = {}  # noqa: RUF012  (scikit-learn's convention)
    _multilabel = True  # whether a sample may have several labels
    # Why `merge` refuses models of this kind; None where each class is a problem of its own
    _not_merged_since = "their scores are trained against each other"
    _weighs_samples_by_class = False  # whether class_weight is a factor on sample weights
    _support = None  # training samples of each class, ndarray of int64; None where not known
    _range_of_weights = 0, np.inf  # of the largest sample weight
    _made_anew = ("_index_cache",)  # attributes that a copy or a pickle has no need of
    _held_out_counts = None  # ndarray of int64 (3, n_classes): true, predicted, both

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self._multilabel
        return tags

    # ------------------------------------------------------------------------------- for fit

    def _all_or_nothing(self) -> AbstractContextManager[None]:
        """Return a context which restores all attributes if what stands inside fails."""
        return all_or_nothing(self)

    def _progress_of_part(self) -> Progress:
        """Return lines that `verbose` prints of a call of partial_fit; callbacks see fits only."""
        return Progress(self, self.verbose).start(None, name="part")

    def _require_size(self, n_classes: int, n_features: int) -> None:
        """Refuse by number what cannot fit into memory, before any of it is looked at.

        The numbers are the least that the model will have which a call leaves.
        """
        # Weights are no part of it: those of sparse solvers are not known before the fit. A
        # subclass with dense weights adds them.
        require_memory(
            BYTES_OF_A_CLASS * n_classes,
            f"fit: labels, intercepts and counts of {n_classes} classes",
            "train fewer classes at a time",
        )

    def _set_support(self, support: np.ndarray | None) -> None:
        """Keep the training samples of each class for `label_report_`; None if not known."""
        # Counts of held-out samples are of the model before, and go with it.
        self._support, self._held_out_counts = support, None

    def _count_held_out(self, rows: Rows, codes: np.ndarray) -> None:
        """Record for `label_report_` how the model does on samples it was not trained on.

        `rows` are as :meth:`_model` scores them, `codes` the place of each one's class in
        ``classes_``.
        """
        places = predicted_places(self._model(), self._encoding.kind, rows, self._threads())
        predicted = np.array(places).ravel()
        self._held_out_counts = counts_of_codes(codes, predicted, len(self.classes_))

    def _set_linear_model(
        self,
        coef: Matrix,
        intercept: np.ndarray,
        indexed: bool = True,
        scratch: Scratch | None = None,
    ) -> None:
        """Store coef_ and intercept_ of float32, read-only, and index them.

        The index is built now if `indexed`, and otherwise when it is first used. That of weights
        on disk, which are sparse, lies in the `scratch` that they lie in.
        """
        self.coef_, self.intercept_ = coef, intercept
        self._prepare_index()
        # Made here, with a structure that is right: predictions need not check it at each call.
        store_of(coef).trust()
        if scratch is not None and scratch.on_disk:
            self._index_cache.put(coef, intercept, InvertedIndex(coef, intercept, scratch.lasting))
        elif indexed:
            self._model()

    def _prepare_index(self) -> None:
        """Begin an index of the weights, which cannot be written to from now on."""
        # An edit in place of the weights would leave the index stale: let it fail instead.
        for array in (*store_of(self.coef_).arrays(), self.intercept_):
            array.flags.writeable = False
        self._index_cache = IndexCache()

    def __getstate__(self) -> dict[str, Any]:
        # An index is as large as the weights, and built from them in seconds.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._made_anew}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "coef_" in vars(self):
            self._prepare_index()

    # ------------------------------------------------------------------------- for save and load

    def _state_to_save(self, encoder: Encoder) -> dict[str, Any]:
        """Return all that is not a parameter, by name, with the lists of the weights as `coef_`."""
        state = super()._state_to_save(encoder)
        if self._scores_of().kept_as_lists:
            # The lists hold the intercepts as well; a second copy in a file could contradict them.
            del state["intercept_"]
            state["coef_"] = weights_to_store(
                store_of(self.coef_).checked(),
                self.intercept_,
                self._model(),
                encoder.dtype,
                encoder.threshold,
            )
        return state

    def _set_loaded_state(self, state: dict[str, Any], origin: Origin | None) -> None:
        """Take over the attributes of a file; see `SaveMixin`."""
        # The shape of the weights is held against labels and features first: checks of other
        # attributes, which follow, may then compute with it.
        self._take_loaded_weights(state, origin)
        super()._set_loaded_state(state, origin)

    def _take_loaded_weights(self, state: dict[str, Any], origin: Origin | None) -> None:
        """Take ``coef_`` out of the state that is loaded; all is in memory if `origin` is None."""
        weights = state.pop("coef_", None)
        # There if this model was mapped, and all of its file is read into memory now.
        mapped = vars(self).pop("_loaded", None)
        known = {**vars(self), **state}
        if isinstance(weights, LoadedWeights):
            check_shape(known, weights.index.shape, self._scores_of(known).n_inputs())
            self._index_cache = IndexCache()
            # An intercept that the user has put in its place since stays.
            if mapped is None or self.intercept_ is mapped.intercept:
                self.intercept_ = weights.intercept
            if origin is None:
                self.coef_ = weights.coef()
                self._index_cache.put(self.coef_, weights.intercept, weights.index)
            else:
                self._loaded = weights
        # Weights of an embedding, say, of which an index is made when it is first used.
        elif weights is not None and not self._scores_of(known).kept_as_lists:
            check_shape(known, np.shape(weights), self._scores_of(known).n_inputs())
            state["coef_"], self._index_cache = weights, IndexCache()
        elif weights is None and origin is not None and "coef_" in origin.late():
            # Read and checked when it is first used: `_check_late`.
            self._index_cache = IndexCache()
        # Whatever else is under the name of weights, or nothing: predictions would fail later, in
        # the midst of a kernel's arguments.
        elif weights is not None or (mapped is None and "coef_" not in vars(self)):
            raise ValueError(f"it holds a {type(self).__name__} without weights")

    def _check_loaded(self, mapped: bool) -> None:
        """Raise ValueError if attributes do not fit together; see `SaveMixin`."""
        super()._check_loaded(mapped)
        check_labels_and_counts(self, mapped)

    def _check_late(self, name: str, value: Any) -> None:
        """Raise ValueError if weights that were read late do not fit labels and features."""
        super()._check_late(name, value)
        if name == "coef_":
            check_shape(vars(self), np.shape(value), self._scores_of().n_inputs())

    def _check_state(self) -> None:
        """Check before training goes on that attributes fit together, which may be set by hand."""
        # By the rules for files: to kernels, an array that a user has put in place is as foreign.
        check_shape(vars(self), np.shape(self.coef_), self._scores_of().n_inputs())
        self._check_loaded(mapped=False)

    # ----------------------------------------------------------------------------- prediction

    def __sklearn_is_fitted__(self) -> bool:
        return "_encoding" in vars(self)

    def _scores_of(self, state: dict[str, Any] | None = None) -> LinearScores:
        """Return how scores come from rows, of a model with the attributes `state`.

        By default they are those of this one; of one that is about to be loaded they are given.
        """
        if state is None:
            return LinearScores(self.n_features_in_, self._encoding.kind == "binary")
        return LinearScores(state["n_features_in_"], state["_encoding"].kind == "binary")

    def _model(self) -> Any:
        """Return the object that scores rows: has ``topk``, ``scores`` and ``positives``."""
        # The index that a file was mapped with, unless the user has put other weights in place.
        scores, loaded = self._scores_of(), vars(self).get("_loaded")
        if loaded and "coef_" not in vars(self) and self.intercept_ is loaded.intercept:
            return loaded.index
        if scores.kept_as_lists and self.coef_.shape[0] != self._encoding.n_columns:
            raise ValueError(
                f"coef_ has {self.coef_.shape[0]} rows, but fit's y needs "
                f"{self._encoding.n_columns}"
            )
        make = partial(scores.index, n_threads=self._threads())
        return self._index_cache.get(self.coef_, self.intercept_, make)

    def _rows(self, X: MatrixLike) -> Rows:
        """Return the rows that :meth:`_model` scores."""
        rows = self._feature_rows(X)
        return self._scores_of().inputs(rows, self._threads())

    def _feature_rows(self, X: MatrixLike) -> Rows:
        """Return the rows that the user gave."""
        check_is_fitted(self)
        # Before scikit-learn converts X: conversions follow indices without a check.
        X = in_checked_csr(X, "X")
        try:
            X = validate_data(self, X, accept_sparse="csr", reset=False)
        except ValueError:
            refuse_texts(X)  # scikit-learn advises to reshape them
            raise
        return as_rows(normalise(X))

    def _threads(self) -> int:
        """Return how many threads a kernel may use, by `n_jobs`."""
        return effective_threads(self.n_jobs)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return scores of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of float32, shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]``.

        Raises
        ------
        MemoryError
            If the scores would take more than half of the memory available (see
            `SKLEARN_XC_MEMORY_LIMIT` on the page "Environment variables"); :meth:`predict_topk`
            never does.
        """
        now = as_it_is(self)
        rows = now._rows(X)
        now._require_output(rows, np.float32, "decision_function")
        scores = now._model().scores(rows, now._threads())
        return scores.ravel() if now._encoding.kind == "binary" else scores

    # `Any` stands for a sparse indicator, where y of fit was one: callers know what they fit on,
    # and a checker would have them test at each call which it is.
    def predict(self, X: MatrixLike) -> np.ndarray | Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) dense or CSR
            The class with the highest score; where y was an indicator, the labels with a score
            above zero (possibly none), in the container and dtype of fit's y. If that is CSR,
            ``[model.classes_[row.indices] for row in y]`` lists the labels of each sample.

        Warns
        -----
        UserWarning
            Once for each fit, if nine in ten of a hundred samples or more get no label, while those
            of fit had some. With many rare labels few scores are above zero:
            :meth:`predict_topk` ranks all the same, and :class:`TopKThresholdClassifier` finds
            the threshold that serves.

        Raises
        ------
        MemoryError
            If a dense indicator would take more than half of the memory available (see
            `SKLEARN_XC_MEMORY_LIMIT` on the page "Environment variables"); fit on a sparse y, or
            use :meth:`predict_topk`.
        """
        # One state from here on, whatever another thread fits meanwhile.
        now = as_it_is(self)
        rows = now._rows(X)
        model, encoding, n_threads = now._model(), now._encoding, now._threads()
        if encoding.kind == "binary":
            return now.classes_[(model.scores(rows, n_threads).ravel() > 0).astype(int)]
        if encoding.kind == "multiclass":
            return now.classes_[model.topk(rows, 1, n_threads)[0].ravel()]
        # A CSR of the predicted labels is small; dense it has all labels of all samples.
        if encoding.container is None:
            now._require_output(rows, encoding.dtype, "predict")
        pattern = model.positives(rows, n_threads)
        self._warn_if_nearly_empty(np.diff(pattern.indptr), "score above zero")
        return encoding.indicator(pattern)

    _topk = topk_of_scores

    def _require_output(
        self, rows: Rows, dtype: DTypeLike, method: str, n_columns: int | None = None
    ) -> None:
        """Raise MemoryError for a dense output of all samples and columns that is too large."""
        shape = rows.shape[0], self._encoding.n_columns if n_columns is None else n_columns
        require_memory(
            shape[0] * shape[1] * np.dtype(dtype).itemsize,
            f"{method}: a dense output of shape {shape}",
            "use predict_topk, or fewer samples at a time",
        )

    # ------------------------------------------------------------------------------- inspection

    def explain(
        self,
        X: MatrixLike,
        labels: LabelsLike | None = None,
        k: int | None = 5,
        *,
        feature_names: ArrayLike | None = None,
    ) -> Explanations:
        """Return the features that contribute most to the scores of labels.

        The score of a label is its intercept and the sum of ``w_kj * x_j`` over the features of the
        sample. Only its non-zeros and those of its labels' weights are looked at.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        labels : label, sequence of labels, one sequence of labels a sample, or sparse indicator, \
                default=None
            What to explain. A label, or labels, for all samples; or for each sample its own: an
            array of shape (n_samples, n_labels) such as the labels of :meth:`predict_topk`, a list
            of lists, or a sparse indicator as :meth:`predict` returns it. By default the predicted
            labels; where the model predicts none, the best.
        k : int or None, default=5
            Features to list for a label; the others are summed up. None lists all.
        feature_names : array-like of shape (n_features,), default=None
            By default those of the DataFrame given to fit, or ``x0, x1, ...``.

        Returns
        -------
        explanations : Explanations
            A sequence of :class:`sklearn_xc.inspection.Explanation`, sample by sample, the labels
            of a sample by falling score.

        Raises
        ------
        ValueError
            If a label is not in ``classes_`` or named twice for a sample, or k or feature_names are
            not as described.

        See Also
        --------
        sklearn_xc.explain : The same through a Pipeline, with the names of its features.
        """
        now = as_it_is(self)
        rows = now._feature_rows(X)
        names = getattr(now, "feature_names_in_", None) if feature_names is None else feature_names
        names = check_options(k, names, rows.shape[1])
        if labels is None:
            # Predicted from the inputs of the weights, explained below by the features as given: an
            # embedding stands between them.
            inputs, kind = now._scores_of().inputs(rows, now._threads()), now._encoding.kind
            places = predicted_places(now._model(), kind, inputs, now._threads())
        else:
            places = places_of_labels(labels, now.classes_, rows.shape[0])
        weights = store_of(now.coef_).checked()
        of_label = partial(now._scores_of().weights_of_label, weights, now.intercept_)
        return explain_rows(rows.matrix(), places, now.classes_, of_label, k, names)

    @property
    def label_report_(self) -> LabelReport:
        """Training samples, weights and held-out accuracy of every label, a LabelReport.

        Precision and recall are those on the samples that an estimator with ``early_stopping=True``
        kept from training, of the model that it returned, and otherwise nan:
        :func:`sklearn_xc.inspection.label_report` has them for samples of your own.
        """
        check_is_fitted(self)
        return report_of(
            self.classes_, store_of(self.coef_).checked(), self._support, self._held_out_counts
        )
