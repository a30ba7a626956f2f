"""Augment-and-Reduce: softmax, probit and logistic models over very many classes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..base._multiclass import labels_of
from ..base._validation import validate_warm_start
from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights
from ..softmax._parts import Part, chosen
from ..training._minibatches import in_parts, sorted_by_class
from ..training._waiting import Waiting
from ..utils._callbacks import SILENT, Progress, with_callbacks
from ..utils._matrix import as_rows
from ..utils._random import stream
from ..utils._records import savable
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike, RandomState
from ._auto import batch_size_of, check_bound, passes_of
from ._convergence import warn_of_end
from ._fitted import check_loaded
from ._noise_models import log_probabilities
from ._parameters import CONSTRAINTS, PUBLISHED, PUBLISHED_SIZES
from ._start import initial_weights
from ._state import AugmentReduceState
from ._train import Result, train


@savable
class AugmentReduceClassifier(BaseSoftmaxClassifier):
    """Softmax, multinomial probit and multinomial logistic by Augment-and-Reduce.

    A sample chooses the class with the highest utility ``<w_k, x> + b_k + noise``, where the noise
    is independent for each class: Gumbel noise is the softmax, Gaussian noise the multinomial
    probit, logistic noise the multinomial logistic. The method keeps the noise of the chosen class
    as a variable of each sample and maximises a lower bound of the log-likelihood (eq. 7), which is
    a sum over the other classes [1]_: a few classes, drawn again for each sample and step, estimate
    it and its gradient without bias. A step costs the same for a hundred classes and for a million.

    Multiclass only; see :func:`~sklearn_xc.datasets.first_label` for labels of which a sample can
    have several.

    Parameters
    ----------
    model : {"softmax", "probit", "logistic"}, default="softmax"
        The distribution of the noise: Gumbel, Gaussian, logistic.
    bound : {"auto", "augment_reduce", "one_vs_each", "exact"}, default="auto"
        "augment_reduce" is the paper's bound, Algorithm 1 for the softmax and Algorithm 2 for the
        others. The softmax also has the bound of Titsias (2016), eq. 10, and "exact", the
        log-likelihood itself over all classes. All take the same steps. "auto" is "exact" for the
        softmax of up to 50 times ``n_sampled_classes + 1`` classes (1050 by default), which takes
        hardly longer there and has no noise from drawing. Beyond, up to 2000 times (42,000), it is
        "exact" in `fit` of all three models where `batch_size` and `learning_rate` are "auto", and
        then takes plain steps of one rate on all classes in mini-batches of 16, in which samples
        have length 1 about: drawn classes do not come as far in four times the time, on text of
        3,000 to 3,700 classes. Probit and logistic have "exact" with these steps only. Else, and in
        `partial_fit` of more than 1050 classes, it is "augment_reduce".
    batch_size : "auto" or int, default="auto"
        Samples of a mini-batch (the paper: 379 to 1987). "auto" is 500 in `fit`, and in
        `partial_fit` a quarter of the classes, from 32 to 500: a stream makes few passes, in
        which more steps lead further, as long as most classes take part in one.
    n_sampled_classes : int, default=20
        Classes drawn for each sample and step, at most all others (the paper: 1 of 10 to 60 of
        2919). Not used by "exact".
    sampling : {"uniform", "frequency"}, default="uniform"
        How they are drawn. "frequency" mixes the frequencies of the classes half and half with the
        uniform distribution and weights the classes so that bound and gradient stay unbiased.
    local_steps : {"auto", "published"}, default="auto"
        Steps of the variables of probit and logistic after t passes: ``0.3 * (1 + t)^-0.5``, or the
        published ``0.01 * (1 + t)^-0.9``, which leave them about where they start. Those of the
        softmax are ``(1 + t)^-0.2``, or the published ``(1 + t)^-0.9``, with which they lag behind
        weights that are learnt.
    max_iter : "auto" or int, default="auto"
        Passes over the data. "auto" is 20, or 10 of plain steps, or as many as make 1000 steps. The
        paper counts mini-batches: its 5000 iterations on Bibtex, ten a pass, are ``max_iter=500``.
    learning_rate : "auto" or float, default="auto"
        rho_0 of the published schedule: iteration t steps by ``rho_0 * 0.9^(t // 2000) * t^(-1/2) *
        g / (1 + sqrt(s))``, where g is the gradient over all samples and s a running average of its
        square, coordinate by coordinate. Such a step moves every weight by about rho_0 whatever the
        gradient, and hence a score by rho_0 times the sum of the sample's values. The published
        0.02 goes with samples of some 68 ones (Bibtex).

        "auto" takes steps that are free of the scale of X. Columns are brought to size 1, all by
        one factor, or each by its own where they are measured in very different units (the largest
        more than 30 times the median one), and dense columns without zeros are centred; a sample of
        more than ten typical lengths is taken as a shorter one, of at least three, so that corrupt
        samples do not decide. rho_0
        is ``0.02 * 69 / (1 + n)`` for samples of n entries on average, so that a step moves scores
        as much as on Bibtex. The logistic model takes four times that, since its variables lag
        behind the weights, and so does the softmax with drawn classes of more than 50 times the
        number that a sample sees, whose steps they share. `fit` with all classes and
        ``max_iter="auto"`` does so too, for its gradients have no noise from drawing, and brings
        the rate to zero over its passes; the end of a stream of parts is not known, and
        `partial_fit` does neither. The model is one for X as it is. A number takes the published
        steps on the columns as they are.
    alpha : "auto" or float, default="auto"
        Strength of the penalty ``alpha / 2 * ||W||^2`` against the sum of the samples'
        log-likelihoods; 0, as published, is maximum likelihood. Intercepts are free of it. "auto"
        is 1 on weights of columns of size 1 (see `learning_rate`), what
        ``LogisticRegression()`` has after standardising: so the model does not depend on the scale
        of X, and has an optimum on data that a linear rule separates. Plain steps of many classes
        (see `bound`) set out from 0.05 on samples of length 1 and take from a thousandth of it to
        ten times it, what serves the softmax best on held-out samples of some of the classes, as
        :class:`ImplicitSoftmaxRegressor` does by short fits. A probit has up to six times that:
        words that few samples share want the least, samples of a hundred columns the most.
    init_scale : "auto" or float, default="auto"
        Standard deviation of the random weights at the start; that of the intercepts is a hundredth
        of it. Published is 0.1, which suits samples of 0 and 1. "auto" starts from zero: it suits
        samples of any size, and the log-likelihood was as good or better on all data tried.
    tol : float or None, default=None
        The fit stops when the bound has not risen by more than this share of it over
        `n_iter_no_change` passes, and a ConvergenceWarning says so if it never does. None makes all
        `max_iter` passes: the rate falls from step to step by a schedule whose length is part of
        the method, and the bound of a few samples, as drawn classes leave it, says little about an
        end.
    early_stopping : bool, default=False
        Whether to keep samples apart and stop when their (weighted) log-likelihood no longer rises,
        by more than `tol` of it if `tol` is a number.
    validation_fraction : float, default=0.1
        Share of samples kept apart; every class keeps at least one for training.
    n_iter_no_change : int, default=5
        Passes without a rise after which training stops. A ConvergenceWarning tells if `max_iter`
        passes ended before.
    class_weight : {"balanced", "propensity"}, dict {label: weight} or None, default=None
        Factors on the weights of samples of one class each; see :class:`PPDSparseClassifier`.
    n_jobs : int or None, default=None
        Threads of `fit` and of prediction; None is 1 unless :func:`joblib.parallel_config` says
        otherwise, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the initial weights, the mini-batches, the drawn classes and the noise.
    verbose : int, default=0
        A line for each pass: how many there are, the bound a sample, the time taken and the time
        left.
    warm_start : bool, default=False
        Start from the weights of the fit before, which must have had the same classes and features.
    label_feature_weight : float, default=3.0
        The sample weight of each text in `label_features`, from 0, which leaves texts out, to 1e6.
        3 was ahead of 1 on held-out samples of three data sets, by 0.1 to 1.6 points of nDCG@5.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new array in its place to change the model.
        A csr_array where X is sparse and fewer than a sixteenth of 2**16 features or more have
        entries: weights are then kept, in files too, of these features alone.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    bound_ : str
        What ``bound="auto"`` chose, or `bound`: "exact" where steps see all classes.
    loss_curve_ : ndarray of float64, shape (n_epochs,)
        Minus the weighted mean of the bound, after each pass, over up to 200 training samples,
        always the same ones, with all classes.
    validation_scores_ : ndarray of float64, shape (n_epochs,)
        The weighted mean of the log-likelihood of up to 200 of the samples kept apart, after each
        pass; only with `early_stopping`.
    learning_rate_ : float
        rho_0; with ``learning_rate="auto"`` that of columns of size 1.
    alpha_ : float
        The penalty of the last call; with ``alpha="auto"`` that on weights of columns of size 1, or
        what plain steps found, on weights of samples of length 1.
    n_iter_ : int
        Passes over the data of the last call.
    n_steps_ : int
        Whole mini-batches of all calls since the last cold start; the schedule goes on from there.
    n_features_in_ : int
        Number of features of the X of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    ImplicitSoftmaxRegressor : Softmax regression by steps on one sample and one class.
    PPDSparseClassifier : Sparse one-vs-rest classifiers: a ranking, no probabilities.
    sklearn.linear_model.LogisticRegression : Exact softmax for few classes.

    Notes
    -----
    Memory of a fit: two float32 numbers a weight (the weight, and the running average of its
    squared gradient), that is ``8 * n_classes * n_features`` bytes, 8 to 24 bytes a sample, and a
    copy of the values of X. The fitted model keeps one number a weight; after `partial_fit`, and
    with ``warm_start=True``, both.

    `partial_fit` takes its part for one of many: penalty and weights are relative to all different
    samples of all calls so far, which are counted, and sizes of columns are those over all calls.
    The averages go on from call to call. Samples are visited in the order given, and lasting steps
    are on whole mini-batches, so that the same samples lead to the same steps in any parts. The
    samples left over, fewer than `batch_size`, take a step for as much of a mini-batch as they are,
    wait in the model (in copies and files too), and begin the next call, which takes that step
    back. A sample's variable is not kept: it begins at what the classes that are drawn for the
    sample suggest.

    In the steps of the variables t counts the passes, and hence the updates of that variable, as in
    the authors' program; with t counting mini-batches, as printed, it would all but stand still. At
    the start it is the optimum for equal utilities (of probit and logistic by Laplace's
    approximation).

    With exact steps q is Gaussian, and its expectations are means over two points: the bound of
    all classes is then free of noise from drawing, and within a hundredth of the log-likelihood.

    ``AugmentReduceClassifier.PUBLISHED`` holds the settings of the paper under "softmax",
    "one_vs_each", "exact", "probit" and "logistic", and ``PUBLISHED_SIZES`` the mini-batches and
    passes of its table 1 by data set: ``PUBLISHED["probit"] | PUBLISHED_SIZES["bibtex"]``.

    References
    ----------
    .. [1] F. J. R. Ruiz, M. K. Titsias, A. B. Dieng and D. M. Blei. "Augment and Reduce: Stochastic
       Inference for Large Categorical Distributions". ICML, 2018.
    .. [2] M. K. Titsias. "One-vs-each approximation to softmax for scalable estimation of
       probabilities". NIPS, 2016.
    .. [3] A. Kucukelbir, D. Tran, R. Ranganath, A. Gelman and D. M. Blei. "Automatic
       Differentiation Variational Inference". JMLR 18(14), 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_xc import AugmentReduceClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AugmentReduceClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    1.0
    >>> model.predict_proba(X[:1]).argmax().item()
    0
    """

    PUBLISHED, PUBLISHED_SIZES = PUBLISHED, PUBLISHED_SIZES
    _parameter_constraints = CONSTRAINTS
    # Against lighter samples the ridge decides; gradients of heavier ones overflow when squared.
    _range_of_weights = 1e-8, 1e15

    def __init__(
        self,
        model: str = "softmax",
        bound: str = "auto",
        *,
        batch_size: int | str = "auto",
        n_sampled_classes: int = 20,
        sampling: str = "uniform",
        local_steps: str = "auto",
        max_iter: int | str = "auto",
        learning_rate: float | str = "auto",
        alpha: float | str = "auto",
        init_scale: float | str = "auto",
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: str | dict | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        label_feature_weight: float = 3.0,
    ) -> None:
        self.model = model
        self.bound = bound
        self.batch_size = batch_size
        self.n_sampled_classes = n_sampled_classes
        self.sampling = sampling
        self.local_steps = local_steps
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.init_scale = init_scale
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.label_feature_weight = label_feature_weight

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | Sequence[MatrixLike] | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any dtype that sorts, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors, zero or more, on the samples' log-likelihoods.
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
        self : AugmentReduceClassifier

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is not as described, y holds several labels a
            sample, `bound` does not fit `model`, or the weights leave the range of float32.
        MemoryError
            If the dense weights would take more than half of the memory available.
        KeyboardInterrupt
            On Ctrl-C; the estimator is then as it was before the call.

        Warns
        -----
        ConvergenceWarning
            If `tol` is not met, or the bound ends below its start.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            rows, codes, weight, texts, weights = validate_warm_start(
                self, X, y, sample_weight, label_features, classes
            )
            if texts.n:
                rows, codes, weight = texts.join(rows, codes, weight)
            check_bound(self)
            given, before = rows, self._columns
            cold, of_rows = weights is None, (rows.features, rows.shape[1])
            columns = self._keep_columns(*of_rows, cold, rows.dense)
            rows = rows if columns is None else rows.as_sparse().narrowed(columns)
            weights = self._moved_start(weights, before)
            if cold:
                self.n_steps_ = 0
            averages = None if cold else self._state.averages
            n_visited = len(codes) if weight is None else int(np.count_nonzero(weight))
            max_iter = passes_of(self, n_visited)
            progress.start(max_iter, set_model=type(self)._set_copies)
            if self.learning_rate == "auto":
                rows = rows.shortened(weight)
            state = AugmentReduceState.empty(rows.shape[1], averages)
            # From here on the state is that of this call: `train` reads the sizes of columns from
            # it.
            self._state, self._waiting = _with_rows(state, rows, rows, weight), None
            result = train(self, rows, codes, weight, weights, max_iter, progress, n_texts=texts.n)
            self._keep(result)
            if result.held_out.any():
                held_out: np.ndarray = result.held_out
                self._count_held_out(given.take(held_out), codes[held_out])
            progress.finish()
            warn_of_end(self, result, max_iter, cold=weights is None)
        return self

    def _partial_fit(
        self, X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None, first: bool
    ) -> None:
        """Make one pass over more samples and the leftover ones (see `training/_waiting.py`)."""
        check_bound(self, part=True)
        X, codes, sample_weight, n_new, cold = self._with_waiting(X, codes, sample_weight, first)
        if cold:
            self.n_steps_ = 0
        before = None if cold else vars(self).get("_state")  # not of models of other origin
        if self.learning_rate == "auto":
            X = as_rows(X).shortened(sample_weight, before and before.moments.length).matrix()
        # Leftover samples were counted by the call that brought them.
        n_hashed = len(codes) if cold else n_new
        hashed, rows = as_rows(X[len(codes) - n_hashed :]), as_rows(X)
        columns = self._keep_columns(rows.features, rows.shape[1], cold, rows.dense)
        # Hashes are of samples in all columns, or those of a call with other columns would differ.
        X = X if columns is None else rows.as_sparse().narrowed(columns).matrix()
        before = self._state if before else AugmentReduceState.empty(X.shape[1])
        of_new = as_rows(X[len(codes) - n_hashed :]), None
        if sample_weight is not None:
            of_new = of_new[0], sample_weight[len(codes) - n_hashed :]
        self._state, self._waiting = _with_rows(before, hashed, *of_new), None
        size, n_visits = batch_size_of(self, part=True), self._state.seen.n_visits
        # Samples sorted by class would make steps on one class at a time.
        rng = stream(0, "order of a part", n_visits) if sorted_by_class(codes) else None
        whole, rest = in_parts(len(codes), size, rng)
        progress = self._progress_of_part()
        samples = X, codes, sample_weight
        if len(whole):
            self._keep(self._part(samples, whole, cold, 1.0, progress))
            progress, cold = SILENT, False
        # Of before the step on the leftover samples, which the next call takes back.
        tables = () if cold else self._tables()
        if len(rest):
            result = self._part(samples, rest, cold, len(rest) / size, progress)
            self._keep(result, lasting=False, told=progress is SILENT)
            X, codes, sample_weight = chosen(*samples, rest)
            of_rest = self._in_all_columns(X), labels_of(codes), sample_weight
            self._waiting = Waiting(*of_rest, cold, tables, self._tables())

    def _part(
        self, samples: Part, some: np.ndarray, cold: bool, part: float, progress: Progress
    ) -> Result:
        """Return the result of a pass over some samples of a part."""
        weights = None if cold else self._start_weights()
        X, codes, sample_weight = chosen(*samples, some)
        return train(self, as_rows(X), codes, sample_weight, weights, 1, progress, part=part)

    def _weights_of_new_classes(self, n_new: int) -> Weights:
        """Draw weights as at the start, other ones for each number of classes."""
        seed = check_random_state(self.random_state).randint(2**31)
        rng = stream(seed, "new classes", len(self.classes_))
        return initial_weights(n_new, self._n_kept, self.init_scale, int(rng.integers(2**31)))

    def _may_keep_few(self) -> bool:
        return self.init_scale in ("auto", 0)  # others start with weights in all columns

    def _move_columns(self, before: np.ndarray) -> None:
        self._state = self._state.in_columns(before, self._columns)  # type: ignore[arg-type]

    def _place_classes(self, places: np.ndarray) -> None:
        super()._place_classes(places)
        self._state = self._state.placed(places, len(self.classes_))

    def _keep(self, result: Result, lasting: bool = True, told: bool = False) -> None:
        """Predict with what passes have led to.

        If `lasting`, the next call goes on from these steps and does not take them back; if `told`,
        `loss_curve_` reports other steps of this call already.
        """
        self._set_dense_model(result.W, result.b)
        if lasting:
            self._state = replace(self._state, averages=result.averages)
            self.n_steps_ = result.n_steps
        if not told:
            self.loss_curve_ = np.array(result.losses)
        self.n_iter_ = len(result.losses)
        self.bound_, self.learning_rate_ = result.bound, result.learning_rate
        self.alpha_ = result.alpha
        vars(self).pop("validation_scores_", None)
        if result.scores:
            self.validation_scores_ = np.array(result.scores)

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        check_loaded(self)

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        if self.model == "softmax":
            return super()._log_probabilities(scores)
        log_p = np.empty(scores.shape)
        log_probabilities(scores, self.model, self._threads(), out=log_p)
        # By quadrature and interpolation probabilities sum to 1 within 1e-9.
        log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        return log_p


def _with_rows(
    state: AugmentReduceState, hashed: Rows, rows: Rows, sample_weight: np.ndarray | None
) -> AugmentReduceState:
    """Return the state with samples of a call, hashed by all their columns."""
    weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight.astype(float)
    return state.with_rows(hashed.hashes(), rows.feature_sums(weight), weight)
