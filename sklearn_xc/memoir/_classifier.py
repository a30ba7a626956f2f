"""MEMOIR: multiclass support vector machines trained with an inexact margin."""

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state

from ..base._classifier import BaseXCClassifier
from ..base._multiclass import TrainsInParts
from ..base._used_columns import KeepsUsedColumns
from ..base._validation import search_params, validate_warm_start
from ..calibration._mixin import CalibratedMixin
from ..training._class_weight import weights_of_labels
from ..training._epochs import warn_if_still_rising
from ..training._minibatches import sorted_by_class
from ..utils._callbacks import Progress, with_callbacks
from ..utils._matrix import as_rows
from ..utils._random import stream
from ..utils._records import savable
from ..utils._typing import LabelsLike, Matrix, MatrixLike, RandomState
from ._auto import PUBLISHED, bias_of, passes_of, settings_of
from ._data import MemoirData, with_class_weight
from ._fitted import check_loaded
from ._growing_weights import GrowingWeights, Iterates, of_length_one, outside
from ._parameters import CONSTRAINTS, SEARCH_PARAMS
from ._state import MemoirState
from ._train import MemoirOutcome, MemoirProblem, fit_memoir, require_lists_of_features
from ._violator_search import SearchSettings


@savable
class MemoirSVC(KeepsUsedColumns, CalibratedMixin, TrainsInParts, BaseXCClassifier):
    """Multiclass support vector machine whose training queries an index, not every class (MEMOIR).

    Minimises, over one weight vector w_k for each class::

        alpha / 2 * sum_k ||w_k||^2 + sum_i s_i max(0, 1 - m_i / rho) / sum_i s_i,
        m_i = <w_y, x_i> - max over k != y of <w_k, x_i>,   y = y_i

    (eq. 10 of [1]_; Crammer and Singer's hinge loss), or with ``alpha * sum_k ||w_k||_1`` instead
    of the squares. Batches of samples are visited in turn; where the margin m_i of a sample is
    below rho, its own class takes a step towards it and the most violating class, the best other
    one, a step away from it. That class is what costs: it is looked for among all, or among those
    that an index for inner products retrieves (`search`), which makes the margin inexact. Weights
    are sparse.

    Multiclass only. For samples with several labels see
    :func:`~sklearn_xc.datasets.repeat_per_label` and :func:`~sklearn_xc.datasets.first_label`.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l2" shrinks all weights and projects them on the ball of radius ``1 / sqrt(alpha)`` after
        each batch (Algorithm 1). "l1" brings the weights of the classes that a batch reads
        nearer to zero (Algorithm 2, eq. 13), by ``alpha * eta * K / (number of these classes)``,
        or by less where this would cut more than 0.3 of the largest norm of all weights so far. For
        sparse weights set ``average=False`` with it: an average has the weights of all iterates.
    alpha : "auto" or float, default="auto"
        Strength of the penalty, up to 1e12. "auto" is 0.3 for "l2" and 0.03 for "l1", times the
        mean of ``||x||^2`` and its root, over the weight of all samples (their number without
        `sample_weight`); reported as ``alpha_``. With `partial_fit` it follows the different
        samples seen so far, and counts half for new ones: of a stream half has come at the mean.
        Published: 1 and 1e-6, with ``reduction="sum"``. The threshold of the paper's eq. 13
        belongs to ``alpha * ||W||_1``, as here; its eq. 11 has half of that.
    rho : float, default=1.0
        The margin wanted.
    search : {"auto", "exact", "hnsw", "lsh"}, default="auto"
        How the most violating class is found: "exact" by following the lists of all classes with
        weights for the features of the sample; "hnsw" and "lsh" among ten or more classes that
        :class:`~sklearn_xc.mips.HNSWIndex` or :class:`~sklearn_xc.mips.SimpleLSHIndex` retrieves,
        with those that have moved since it was refreshed, by the weights of the moment. Until a
        quarter of the classes have moved both search exactly. Of dense X a graph may lag: classes
        that have turned far from it are compared by a matrix product, and it is built anew when
        these have cost as much. "auto" compares counted operations: "exact" nearly always for
        sparse X and without hnswlib; of dense X "hnsw" from about 21 000 classes of 128 dimensions
        and 11 000 of 256 on. Up to 2048 classes ("lsh": 28) exact search runs. See ``search_``.
    search_params : dict or None, default=None
        Settings of an index; None, or an entry left out, is its default:

        - "min_recall", 0.9: share of the best ten classes that it should retrieve, from 0 to 1. It
          searches as wide as this takes, and where it still falls short it says so and hands over
          to "exact". Published: 0, whatever it finds.
        - "n_bits", 64: length of the codes of "lsh", a multiple of 64 up to 1024. Published: 64.
        - "sketch_dim", 512: sparse X of more features than this is indexed through a random linear
          sketch of this many dimensions; the classes found are scored with all features. Fewer of
          them need more candidates for the same recall.
    batch_size : "auto" or int, default="auto"
        Samples of a batch; "auto" is ``100 * sqrt(K)``, as published, or a tenth of all samples if
        these are fewer (with ``reduction="sum"`` all of them). Batches of a pass have equal size.
        Between batches weights shrink, or are truncated; steps are taken sample by sample.
    reduction : {"mean", "sum"}, default="mean"
        Whether a sample's step is the batch's rate divided by its number of samples, which
        minimises the stated objective, or the rate itself, as printed in Algorithms 1 and 2: that
        is the objective with ``alpha / batch_size`` and rates times `batch_size`, except for the
        radius of the ball.
    max_iter : "auto" or int, default="auto"
        Passes over the samples. "auto" is 10, or of fewer than 2000 samples as many as visit 20 000
        (1000 steps of 20 samples): small data needs more of them; with `early_stopping` it is 100
        at most. T batches of the paper are ``T * batch_size / n_samples`` passes. There is no
        tolerance: on sparse text the objective falls for hundreds of passes while accuracy is
        best after ten, which are part of the regularisation; see `early_stopping`.
    eta0 : "auto" or float, default="auto"
        The rate of batch t is ``eta0 / (1 + eta_step * t)``. "auto" makes the first step of a
        sample ``rho / mean ||x||^2`` long: with it the step reaches a margin of rho about.
    eta_step : "auto" or float, default="auto"
        "auto" is ``alpha * eta0``, for which the rate tends to ``1 / (alpha * t)`` (Theorem 2).
    fit_intercept : bool, default=True
        Whether x has one more feature, the same for all samples and as large as their root mean
        square length, whose weights give the intercepts. Dense X whose columns are in very
        different units, the largest more than 30 times the median deviation, is then trained on
        with its columns shifted and scaled to one size, in which the penalty counts; ``coef_`` is
        for X as it is. The paper has neither.
    sampling : {"uniform", "balanced"}, default="uniform"
        Whether a pass visits every sample once, in random order, or draws as many samples, of each
        class equally often, as the authors' program does.
    average : bool, default=True
        Whether ``coef_`` is the average of the weights that the samples found (Theorem 2, with
        batches of one) or the last.
    normalize_scores : bool, default=False
        Whether the rows of ``coef_`` are brought to length 1 in the end, so that scores are
        proportional to cosines, as the authors' program predicts. Columns are then as they are.
    early_stopping : bool, default=False
        Whether to keep samples apart and stop when their macro-averaged F1 no longer rises. Where
        `max_iter` comes first there is a ConvergenceWarning.
    validation_fraction : float, default=0.1
        Share of samples kept apart; each class keeps at least one for training.
    n_iter_no_change : int, default=5
        Passes without a higher F1 after which training stops.
    class_weight : {"balanced", "propensity"}, dict {label: weight} or None, default=None
        Factor on the loss of each sample of a class. "balanced" makes it inversely proportional to
        the frequency of the class, 1 for one of average frequency; "propensity" is the inverse of
        :func:`sklearn_xc.metrics.propensities`.
    n_jobs : int or None, default=None
        Threads of the index and of prediction; None is 1 unless :func:`joblib.parallel_config`
        says otherwise, -1 all cores. Steps follow one another by definition and use one thread.
        The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the order of the samples, those kept apart and the index.
    verbose : int, default=0
        A line for each pass: how many there are, the mean loss, the time taken and the time left.
    warm_start : bool, default=False
        Start the next fit, on the same classes and features, from the last iterate of this one.
    calibration : {"auto", "sigmoid", "isotonic", "temperature", "top_label"}, default=None
        How scores become probabilities, by a few numbers shared by all classes; only with it there
        is `predict_proba`, and predictions stay as they are. "auto" is "top_label", which looks at
        the best class alone, and "sigmoid" for two classes; :class:`TopKCalibratedClassifier`
        describes all of them.
    calibration_cv : int, float, splitter or iterable of splits, default=5
        Which scores the calibration is fitted on: those of copies trained without the sample. An
        int is the number of folds of :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float
        up to 0.5 the share held out once, which costs one more fit.
    label_feature_weight : float, default=1.0
        The sample weight of each text in `label_features`, from 0, which leaves texts out, to 1e6.
        3 was behind 1 on three data sets, by 0.3 to 1.8 points of nDCG@5.

    Attributes
    ----------
    coef_ : csr_array of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new matrix in its place to change the model.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    alpha_, eta0_, eta_step_ : float
        The values used.
    search_ : {"exact", "hnsw", "lsh"}
        The search that ran; "exact" also where the index asked for has handed over, or was never
        built since few classes had moved. Of dense X it is "hnsw" also where there was no graph,
        and products with the classes that had moved, or all, took its place.
    recall_ : float
        Share of the best ten classes among those retrieved by the index for some training
        samples, when it was last built; 1.0 for "exact", and where an index has handed over to it.
    n_scored_ : float
        Mean number of classes scored exactly for a training sample; those of matrix products are
        not counted.
    loss_curve_ : ndarray of float64, shape (n_passes,)
        Mean loss of the samples of each pass of `fit`, each before its step and by the margin that
        the step saw.
    validation_scores_ : ndarray of float64, shape (n_passes,)
        Macro-averaged F1 of the samples kept apart after each pass; only with `early_stopping`.
    n_iter_ : int
        Passes made.
    calibration_ : object
        The fitted calibration; only with `calibration`.
    n_features_in_ : int
        Number of features of the X of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    PPDSparseClassifier : One-vs-rest; several labels a sample; intercepts.
    sklearn.svm.LinearSVC : With ``multi_class="crammer_singer"`` and ``C = 1 / (n * alpha)`` the
        same objective, for few classes.

    Notes
    -----
    Samples should be of a similar scale; one of more than ten usual lengths counts as one of ten.

    A pass of `fit` visits samples in random order, `partial_fit` in the order in which they are
    given, so that a stream in parts is trained on as in one piece, unless samples of one class
    stand together much more often than by chance; rates, penalty, averages and the weight of a
    sample are relative to all samples seen, which are told apart by a hash.

    Memory: 8 bytes for each weight while it is trained, 12 with `average` (from a third of the
    classes on a feature has an array of all), up to half as much again as room to grow, and 20 in
    the end; indexes of sparse X ``4 * K * sketch_dim`` bytes, a graph of these as much again and
    twice that while it is built. Nothing is K x D unless the data make it so: with dense X weights
    have this size from the start, 8 bytes each, 12 with `average`, and 20 more with an index.

    ``MemoirSVC.PUBLISHED`` holds the parameters of the paper under "l2", "l1" and "lsh", all but
    the number of passes, which there was found for each data set:
    ``MemoirSVC(**MemoirSVC.PUBLISHED["l2"], max_iter=3)``.

    Where [1]_ is in error: for rho other than 1 its steps lack the factor 1 / rho, without which
    they do not minimise the objective of its eq. 10; and see `alpha` and `reduction`.

    References
    ----------
    .. [1] A. Belyy and A. Sholokhov. "MEMOIR: Multi-class extreme classification with inexact
       margin". 2018.
    .. [2] K. Crammer and Y. Singer. "On the algorithmic implementation of multiclass kernel-based
       vector machines". JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from sklearn_xc import MemoirSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> model = MemoirSVC(random_state=0).fit(X[:1500], y[:1500])
    >>> round(model.score(X[1500:], y[1500:]), 1)
    0.9
    >>> model.predict_topk(X[:3], k=2)[0][:, 0].tolist()
    [0, 1, 2]
    """

    PUBLISHED = PUBLISHED
    _multilabel = False
    _not_merged_since = (
        "margins are trained between the classes of one model; fit one model on all classes, or "
        "grow one by partial_fit"
    )

    _parameter_constraints = CONSTRAINTS
    _search_params = SEARCH_PARAMS

    def __init__(
        self,
        penalty: str = "l2",
        *,
        alpha: float | str = "auto",
        rho: float = 1.0,
        search: str = "auto",
        search_params: dict[str, Any] | None = None,
        batch_size: int | str = "auto",
        reduction: str = "mean",
        max_iter: int | str = "auto",
        eta0: float | str = "auto",
        eta_step: float | str = "auto",
        fit_intercept: bool = True,
        sampling: str = "uniform",
        average: bool = True,
        normalize_scores: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict | str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        calibration: str | None = None,
        calibration_cv: Any = 5,
        label_feature_weight: float = 1.0,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.rho = rho
        self.search = search
        self.search_params = search_params
        self.batch_size = batch_size
        self.reduction = reduction
        self.max_iter = max_iter
        self.eta0 = eta0
        self.eta_step = eta_step
        self.fit_intercept = fit_intercept
        self.sampling = sampling
        self.average = average
        self.normalize_scores = normalize_scores
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.calibration = calibration
        self.calibration_cv = calibration_cv
        self.label_feature_weight = label_feature_weight

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit the weights of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Finite numbers; computed with in float32. CSR is used as it is.
        y : array-like of shape (n_samples,)
            Labels of any dtype that sorts, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            s_i, factors on the loss of each sample; not negative. A weight of two does what the
            sample twice would do; samples of weight zero are nowhere.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels in the columns of X, one row a label: in the order of `classes`, or
            of the sorted classes in y; a row of zeros is none. Several texts a label are several
            matrices. Each is trained on as one more row, of the one label and the weight
            `label_feature_weight`, so that classes without samples are found too; it is no sample
            where samples are counted or held out.
        classes : array-like of shape (n_classes,), default=None
            All classes, also those that no sample has.

        Returns
        -------
        self : MemoirSVC

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is not as described, y holds several labels a
            sample, or a step leaves the range of float32.

        Notes
        -----
        Ctrl-C stops within a second. Whatever ends the fit early leaves the estimator as it was.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            rows, codes, s, texts, start = validate_warm_start(
                self, X, y, sample_weight, label_features, classes
            )
            if self.calibration is not None:
                self._calibrator(rows.matrix(), y, s, label_features, classes)()
            rng = check_random_state(self.random_state)
            of_classes = self.class_weight, self.classes_
            weight, totals = with_class_weight(*of_classes, codes, s)
            data, kept_apart = MemoirData(rows, codes, weight).split(self, rng, s)
            # There are no totals exactly where there is no class_weight.
            factors = None if totals is None else weights_of_labels(*of_classes, totals)
            data = data.with_texts(texts, factors)
            if start is None:
                state = MemoirState(coordinates=data.coordinates(self))
            else:
                state, start = self._state.begun_anew(), start.without_average()
            data, before = data.inside(state.coordinates), self._columns
            of_rows = data.rows.features, data.rows.shape[1]
            data = data.narrowed(self._keep_columns(*of_rows, start is None, data.rows.dense))
            if start is not None and before is not None and self._columns is not None:
                start = start.in_columns(before, self._columns)
            state, weight = state.with_totals(totals).with_samples(*data.measures())
            n_passes = passes_of(self, len(data.codes))
            state = self._with_bias(state)
            progress.start(
                n_passes, "pass", lambda twin, weights: twin._set_model(weights.save(), state)
            )
            validate = None if kept_apart is None else partial(self._score_on, kept_apart, state)
            outcome = self._train(
                MemoirProblem(data.rows, data.codes, weight, len(self.classes_), state.mean_weight),
                state,
                start,
                n_passes=n_passes,
                seed=rng.randint(2**31),
                progress=progress,
                validate=validate,
            )
            passes = outcome.passes
            self.n_iter_, self.loss_curve_ = len(passes.losses), np.array(passes.losses)
            vars(self).pop("validation_scores_", None)
            if self.early_stopping:
                self.validation_scores_ = np.array(passes.scores)
            if kept_apart is not None:
                self._count_held_out(kept_apart.rows, kept_apart.codes)
            progress.finish()
        warn_if_still_rising(self, passes, "macro-averaged F1")
        return self

    def _needs_a_beginning(self) -> bool:
        return self.fit_intercept  # the size of the constant feature is that of the first samples

    def _partial_fit(
        self, X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None, first: bool
    ) -> None:
        """Make one pass over more samples, in the order given, as over the whole of a stream."""
        self._refuse_calibration()
        n_before, n_calls = 0 if first else self.n_iter_, vars(self).get("n_iter_", 0)
        state = MemoirState() if first else self._state
        of_classes, before = (self.class_weight, self.classes_), state.totals
        weight, totals = with_class_weight(
            *of_classes, codes, sample_weight, 0 if before is None else before
        )
        data, state = MemoirData(as_rows(X), codes, weight).counted(), state.with_totals(totals)
        seed = check_random_state(self.random_state).randint(2**31)
        seed = int(stream(seed, "part", n_before).integers(2**31))
        start, weight_before = state.saved, state.mean_weight
        if first:
            state = replace(state, coordinates=data.coordinates(self))
        data = data.inside(state.coordinates)
        of_rows = data.rows.features, data.rows.shape[1]
        data = data.narrowed(self._keep_columns(*of_rows, first, data.rows.dense))
        start = start and self._start_weights()
        state, weight = state.with_samples(*data.measures())
        if start is not None and weight_before not in (0, state.mean_weight):
            start = start.in_weights_of(weight_before / state.mean_weight)
        known = state.mean_weight, state.n_visited, sorted_by_class(data.codes)
        problem = MemoirProblem(data.rows, data.codes, weight, len(self.classes_), *known)
        progress, state = self._progress_of_part(), self._with_bias(state)
        self._train(problem, state, start, n_passes=1, seed=seed, progress=progress)
        self.n_iter_ = n_calls + 1

    # ------------------------------------------------------------------------------ the model

    def _with_bias(self, state: MemoirState) -> MemoirState:
        """Return the state with the value of the constant feature, which stays once it is known."""
        return replace(state, bias=bias_of(self, state)) if state.bias is None else state

    def _train(
        self, problem: MemoirProblem, state: MemoirState, start: Iterates | None, **how: Any
    ) -> MemoirOutcome:
        """Make passes, and predict with what they have come to; `state` is that before them."""
        settings, reported = settings_of(self, state)
        search = SearchSettings(self.search, **search_params(self))
        outcome = fit_memoir(problem, settings, search, start, n_jobs=self.n_jobs, **how)
        self._state = state.after(outcome.iterates, len(outcome.passes.losses) * len(problem.codes))
        self.alpha_, self.eta0_, self.eta_step_ = reported
        self.search_, self.recall_ = outcome.search, outcome.recall
        self.n_scored_ = outcome.n_scored
        self._set_model(outcome.iterates, state)
        return outcome

    def _score_on(
        self, kept_apart: MemoirData, state: MemoirState, weights: GrowingWeights
    ) -> float:
        """Return the F1 of the samples kept apart, by weights in training."""
        return kept_apart.macro_f1(*self._finished(weights.save(), state), self._threads())

    def _set_model(self, iterates: Iterates, state: MemoirState) -> None:
        """Predict with these weights from now on."""
        coef, intercept = self._finished(iterates, state)
        if not (np.isfinite(coef.data).all() and np.isfinite(intercept).all()):
            raise ValueError("the weights left the range of float32: scale the features")
        if len(self.classes_) == 2:
            coef, intercept = sparse.csr_array(coef[1:] - coef[:1]), intercept[1:] - intercept[:1]
        # Without the index: with these weights and the lists that partial_fit goes on from, it
        # would be the peak of the memory that a fit takes.
        self._set_linear_model(coef, intercept, indexed=False)

    def _finished(
        self, iterates: Iterates, state: MemoirState
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Return weights and intercepts to predict with, of all classes, for samples as given."""
        coef, constant = iterates.model(len(self.classes_), self.average)
        coef = self._in_all_columns(coef)
        if self.normalize_scores:
            coef, constant = of_length_one(coef, constant)
        return outside(state.coordinates, coef, state.bias * constant.astype(np.float64))

    # ----------------------------------------------------------------------- what it goes on from

    def _start_weights(self) -> Iterates | None:
        """Return the iterates that training goes on from."""
        return self._state.saved

    def _move_columns(self, before: np.ndarray) -> None:
        """Move the saved lists to the columns that are kept now."""
        assert self._columns is not None  # they have just become more
        saved = self._state.saved.in_columns(before, self._columns)
        self._state = replace(self._state, saved=saved)

    def _columns_by_hand(self) -> np.ndarray:
        return self._columns[:0]  # training goes on from lists of its own

    def _place_classes(self, places: np.ndarray) -> None:
        """Move the state to new places of the classes."""
        self._state = self._state.placed(places, len(self.classes_))

    def _require_size(self, n_classes: int, n_features: int) -> None:
        super()._require_size(n_classes, n_features)
        require_lists_of_features(n_classes, n_features)

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        check_loaded(self, mapped)
