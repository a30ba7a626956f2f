"""Weighted k nearest neighbours, and texts of labels, for many classes or labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state

from ..base._classifier import BaseXCClassifier
from ..base._label_texts import places_of_lines, read_texts, require_lines
from ..base._labels import LabelEncoding, codes_of
from ..base._named_classes import encoding_of, read_classes, sorted_classes
from ..base._validation import check_parameters, validate_fit
from ..persistence import SaveMixin
from ..persistence._decoder import Origin
from ..utils._label_places import check_names
from ..utils._memory_limit import require_memory
from ..utils._records import savable
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._auto import GRID, LeaveOneOut, chosen_settings
from ._growth import NeighborsGrowth
from ._input import indicator_of, without_rows
from ._parameters import CONSTRAINTS, check_loaded
from ._predictions import NeighborsPredictions
from ._row_labels import RowLabels
from ._row_parts import RowParts, unit_rows
from ._scorer import LabelScorer, VoteSettings
from ._texts import LabelTexts

BYTES_OF_AN_ENTRY = 16  # of X, at most: its list, and the entries that lists are made from


@savable
class TopKNeighborsClassifier(
    NeighborsGrowth, NeighborsPredictions, SaveMixin, ClassifierMixin, BaseEstimator
):
    """Labels of the nearest training samples, and labels whose texts are like the sample.

    All samples are divided by their lengths; the similarity s of two is their inner product. The
    score of label l is a weighted vote [1]_::

        f_l ** -q * (sum of s_j ** p over the k nearest samples j that have l  +  w * t_l ** p)

    where f_l is the number of training samples with l and t_l the similarity of its best text. A
    sample of similarity zero or below gives nothing. Nothing is trained: samples can be appended
    (:meth:`partial_fit`) and labels without a single sample be found by their texts.

    k, p, q and w are chosen by leave-one-out on up to 3,000 training samples, by nDCG@5; copies of
    a sample count as one there, since they would find each other.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        k, how many of the nearest samples count; all where there are fewer.
    power : float or "auto", default="auto"
        p, from 0 (all neighbours count alike) to 64 (only the very nearest count).
    frequency_power : float or "auto", default="auto"
        q, by which labels with many samples are held back, from -4 to 4.
    text_weight : float or "auto", default="auto"
        w, how many samples the text of a label counts for, of the same similarity.
    index : {"exact", "hnsw"}, default="exact"
        How neighbours are found. "exact" reads sparse samples through inverted lists and multiplies
        dense ones; "hnsw" finds dense samples, such as embeddings of sentences, by a graph
        (:class:`~sklearn_xc.mips.HNSWIndex`), which may miss some and is faster from 10^5 samples
        on. Sparse samples are refused: their lists are as fast, and exact.
    n_jobs : int or None, default=None
        Threads over the samples of a prediction, as in joblib; never changes the result.
    random_state : int, RandomState instance or None, default=None
        Draws the samples that are left out, and levels of the graph.
    label_names : array-like of shape (n_classes,), default=None
        Names of the columns of an indicator, where y is no DataFrame.
    graded : bool, default=False
        Whether an indicator may hold grades between 0 and 1, by which the votes of a sample are
        multiplied.

    Attributes
    ----------
    n_neighbors_ : int
    power_, frequency_power_, text_weight_ : float
        As chosen.
    classes_ : ndarray, shape (n_classes,)
    n_samples_fit_ : int
        Training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        If X was a DataFrame with names for all columns.

    See Also
    --------
    PPDSparseClassifier : Learns weights; ahead where labels have many samples.
    sklearn.neighbors.KNeighborsClassifier : For few classes, and other distances.

    Notes
    -----
    Exact search reads the lists of a sample's features [2]_, but for features that most samples
    have: these are looked up only for samples that may still be among the nearest. An entry of a
    sparse X takes 8 to 12 bytes, one of a dense X 4, and a label of a sample 4.

    :meth:`predict_proba` of one class a sample are the scores, divided by their sum. Of several
    labels a sample it is the share of all votes that went to samples with the label, before the
    frequencies; :meth:`predict` gives those with at least half. They are no calibrated
    probabilities: see :class:`TopKCalibratedClassifier`.

    References
    ----------
    .. [1] S. A. Dudani. The distance-weighted k-nearest-neighbor rule. IEEE Transactions on
       Systems, Man, and Cybernetics 6(4), 1976.
    .. [2] H. Turtle and J. Flood. Query evaluation: strategies and optimizations. Information
       Processing & Management 31(6), 1995.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn_xc import TopKNeighborsClassifier
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> labels, texts = ["sort", "sort", "sum", "sum"], ["sort", "sum", "inverse of a matrix"]
    >>> words = TfidfVectorizer().fit(passages + texts)
    >>> model = TopKNeighborsClassifier(random_state=0)
    >>> model = model.fit(
    ...     words.transform(passages), labels, label_features=words.transform(texts),
    ...     classes=["sort", "sum", "inv"],
    ... )
    >>> question = words.transform(["how to sort?", "invert this matrix"])
    >>> model.predict(question).tolist()
    ['sort', 'inv']
    """

    _parameter_constraints = CONSTRAINTS
    _multilabel = True
    _range_of_weights = 0, np.inf
    _weighs_samples_by_class = False
    _not_saved = (*SaveMixin._not_saved, "_scorer")
    _has_linear_weights = False

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        power: float | str = "auto",
        frequency_power: float | str = "auto",
        text_weight: float | str = "auto",
        *,
        index: str = "exact",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        label_names: ArrayLike | None = None,
        graded: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.power = power
        self.frequency_power = frequency_power
        self.text_weight = text_weight
        self.index = index
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.label_names = label_names
        self.graded = graded

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_scorer"}

    def __sklearn_is_fitted__(self) -> bool:
        return "_row_parts" in vars(self)

    # ------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: MatrixLike | None,
        y: LabelsLike = None,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Keep the training samples and the texts of labels, and choose the settings.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features), or None
            None for texts of labels only, as a matcher of texts: y and sample_weight are then
            None as well.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples each counts for in votes and frequencies; one of weight zero gives no
            vote.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels in the columns of X, one row a label; a row of zeros is none. Of
            several matrices, each with one text a label, the text that is most alike counts. The
            rows are those of the columns of an indicator, of `classes` where that is given, and
            otherwise of the sorted classes in y.
        classes : array-like of shape (n_classes,), default=None
            With y of one class a sample: all classes, also those that no sample has. With X=None:
            names of the classes, of which :meth:`predict` then gives one a sample.

        Returns
        -------
        self : TopKNeighborsClassifier

        Raises
        ------
        ValueError
            If a parameter or array is not as described, y holds a class that `classes` lacks,
            label_features has other columns than X or another number of rows than there are
            labels, or ``index="hnsw"`` is requested for sparse samples.
        MemoryError
            If the samples would exceed the limit on memory.
        """
        with self._all_or_nothing():
            given = {name: getattr(self, name) for name in VoteSettings._fields}
            if X is None:
                self._fit_texts(y, sample_weight, label_features, classes, given)
            else:
                self._fit(X, y, sample_weight, label_features, classes, given)
            self._model()
        return self

    def _fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None,
        label_features: MatrixLike | None,
        classes: ArrayLike | None,
        given: dict[str, Any],
    ) -> None:
        """Fit on samples, with settings given or "auto"."""
        rows, Y, weight = validate_fit(self, X, y, sample_weight, classes)
        if self._encoding.kind != "multilabel":
            Y = indicator_of(codes_of(Y), len(self.classes_))
        self._require_rows(rows)
        texts = None
        if label_features is not None:
            texts = self._texts_of(label_features, rows.shape[1], rows.dense, classes)
        seed = self._start(rows.shape[1], rows.dense)
        unit = self._append(rows, Y, weight)
        self._texts = texts
        # Texts do not hold the samples, and copies are left out: no sample votes for itself.
        trial = None
        if "auto" in given.values():
            largest = given["n_neighbors"]
            largest = max(GRID["n_neighbors"]) if largest == "auto" else largest
            trial = LeaveOneOut.of(
                unit,
                self._row_parts,
                self._row_labels,
                self._frequencies,
                texts,
                largest,
                seed,
                self._threads(),
            )
        self._set_settings(chosen_settings(given, trial))

    def _fit_texts(
        self,
        y: LabelsLike,
        sample_weight: ArrayLike | None,
        label_features: MatrixLike | None,
        classes: ArrayLike | None,
        given: dict[str, Any],
    ) -> None:
        """Fit without samples, as a matcher of label texts."""
        check_parameters(self)
        if label_features is None:
            raise ValueError(
                "X is None: give the texts of the labels as label_features, or samples"
            )
        if y is not None or sample_weight is not None:
            raise ValueError(
                "X is None, but y or sample_weight is given: they are of the samples of X"
            )
        rows, line_of, n_lines = read_texts(label_features, None)
        # Without names of classes a text may be like several labels: an indicator is predicted.
        if classes is not None:
            named = read_classes(classes)
            require_lines(n_lines, len(named), "classes names")
            found = sorted_classes(named)
            self._set_encoding(encoding_of(found))
            line_of = np.searchsorted(found, named)[line_of]
        else:
            names = np.arange(n_lines) if self.label_names is None else np.asarray(self.label_names)
            check_names(names, n_lines, "label_names")
            self._set_encoding(
                LabelEncoding("multilabel", names, np.dtype(np.int64), sparse.csr_array)
            )
        for name in ("feature_names_in_", "_share_with_labels"):
            vars(self).pop(name, None)
        self.n_features_in_ = rows.shape[1]
        self._require_rows(rows)
        self._start(rows.shape[1], rows.dense)
        nothing = sparse.csr_array((0, n_lines), dtype=np.uint8)
        self._row_labels = RowLabels.of(nothing, None)
        self._frequencies = np.zeros(n_lines)
        self._texts = LabelTexts.of(unit_rows(rows), line_of, n_lines)
        self._set_settings(chosen_settings(given, None))

    def _start(self, n_features: int, dense: bool) -> int:
        """Begin with no samples; returns the seed of all that is drawn."""
        # A scorer of the fit before would answer for the samples of this one.
        vars(self).pop("_scorer", None)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        graph = seed if self.index == "hnsw" else None
        self._row_parts = RowParts([], dense, n_features, graph)
        self._row_labels = self._frequencies = self._texts = None
        return seed

    def _append(self, rows: Rows, Y: sparse.csr_array, weight: np.ndarray | None) -> Rows:
        """Append rows with their labels, and return them of unit length."""
        unit = self._row_parts.in_form(rows)
        # A row without features is never a neighbour, and one without labels counts for none.
        if weight is not None and (weight == 0).any():
            unit, Y = without_rows(unit, Y, weight > 0)
        labels = RowLabels.of(Y, weight)
        more = labels.frequencies()
        if self._row_labels is None:
            self._row_labels, self._frequencies = labels, more
        else:
            before = np.pad(self._frequencies, (0, len(more) - len(self._frequencies)))
            self._row_labels, self._frequencies = self._row_labels.extended(labels), before + more
        self._row_parts = self._row_parts.extended(unit)
        return unit

    def _texts_of(
        self, label_features: MatrixLike, n_features: int, dense: bool, classes: ArrayLike | None
    ) -> LabelTexts:
        """Return the texts that a call gives, at the places of their labels."""
        rows, line_of, n_lines = read_texts(label_features, n_features, dense)
        named = None if self._encoding.kind == "multilabel" else classes
        places = places_of_lines(n_lines, self.classes_, named)
        return LabelTexts.of(unit_rows(rows), places[line_of], len(self.classes_))

    def _set_settings(self, settings: VoteSettings) -> None:
        """Set the settings as attributes with a trailing underscore."""
        self.n_neighbors_ = int(settings.n_neighbors)
        self.power_, self.text_weight_ = float(settings.power), float(settings.text_weight)
        self.frequency_power_ = float(settings.frequency_power)

    def _settings(self) -> VoteSettings:
        """Return the settings of the fit."""
        return VoteSettings(*(getattr(self, f"{name}_") for name in VoteSettings._fields))

    def _choices(self) -> dict[str, Any]:
        """Return the settings of the fit, for copies."""
        return self._settings()._asdict()

    def _require_rows(self, rows: Rows) -> None:
        """Refuse samples of the wrong form for the index, or too many for the memory."""
        # Inverted lists are as fast as a graph where entries are few, and exact. Fewer dimensions
        # are no way out: of an SVD with 256 of them nDCG@5 on cooking was 49, of the sparse rows
        # 67.
        if self.index == "hnsw" and not rows.dense:
            raise ValueError(
                "index='hnsw' is for dense samples, but X is sparse: use index='exact', whose "
                "lists are exact and as fast, or give a dense X"
            )
        require_memory(
            BYTES_OF_AN_ENTRY * len(rows.data),
            f"fit: {rows.shape[0]} training samples with {len(rows.data)} entries",
            "keep fewer samples, or PPDSparseClassifier, which keeps none",
        )

    def _set_support(self, support: object) -> None:
        """Take note of nothing: frequencies are counted with the labels of samples."""

    # ------------------------------------------------------------------------------- the model

    def _model(self) -> LabelScorer:
        """Return the scorer, made when first needed."""
        # A prediction works on a copy of the attributes of one moment, which ends with it. Copies
        # of a mapped model share what they have read, so the scorer lies there; others have it from
        # the start.
        kept = self._origin[1] if "_origin" in vars(self) else vars(self)
        if "_scorer" not in kept:
            kept["_scorer"] = LabelScorer(
                self._row_parts, self._row_labels, self._frequencies, self._texts, self._settings()
            )
        return kept["_scorer"]

    def _set_loaded_state(self, state: dict[str, Any], origin: Origin | None) -> None:
        super()._set_loaded_state(state, origin)
        if origin is None:
            self._model()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.__sklearn_is_fitted__():
            self._model()

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        check_loaded(self, mapped)

    _all_or_nothing = BaseXCClassifier._all_or_nothing
    _require_size = BaseXCClassifier._require_size
    _feature_rows = BaseXCClassifier._feature_rows
    _threads = BaseXCClassifier._threads
    _require_output = BaseXCClassifier._require_output
