"""ImplicitSoftmaxRegressor: softmax regression by unbiased stochastic gradients on a double sum."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..base._multiclass import labels_of
from ..base._validation import validate_warm_start
from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights, weights_inside, weights_outside
from ..softmax._full_softmax import RIDGE
from ..softmax._pilot import RidgePilot, pilot_of, rate_by, ridge_by
from ..training._minibatches import in_parts, sorted_by_class
from ..training._schedules import share_of_part
from ..training._waiting import Waiting
from ..utils._callbacks import SILENT, Progress, with_callbacks
from ..utils._matrix import as_rows
from ..utils._random import stream as random_stream
from ..utils._records import savable
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike, RandomState
from ._data import NONE, SoftmaxData
from ._fitted import check_loaded
from ._parameters import CONSTRAINTS, PUBLISHED
from ._rate_search import FIRST, MOST_TRIED, Trials, searched_rate
from ._settings import (
    alpha_outside,
    divergence,
    inside_of,
    settings_of,
    warn_above_start,
)
from ._solver_settings import SolverSettings
from ._solvers import DivergenceError, Solver
from ._train import (
    STEPPED_SINGLY,
    fit_softmax,
    is_searched,
    known_rate,
    passes,
    shares_of_epochs,
    solver_class,
)


@savable
class ImplicitSoftmaxRegressor(BaseSoftmaxClassifier):
    """Softmax regression for very many classes by implicit stochastic gradients.

    A classifier: it is named after the method's paper and after softmax (multinomial logistic)
    *regression*, the model that it fits. Minimises, over weights w_k and intercepts b_k::

        sum_i s_i * -log p(y_i | x_i) + alpha / 2 * sum_k ||w_k||^2,
        p(k | x) proportional to exp(<w_k, x> + b_k)

    where s_i are the weights of the samples. With an auxiliary variable u_i for each sample this
    becomes a sum over pairs of a sample and a class (eq. 5 of [1]_), of which a step needs to see
    one: its cost does not depend on the number of classes. Plain gradient steps on that sum are
    unstable, since ``exp(<w_k - w_y, x> - u)`` can be huge. An implicit step takes the gradient
    where it arrives, not where it starts; here that needs one scalar equation to be solved, and no
    learning rate is too large for it.

    Multiclass only; see :func:`~sklearn_xc.datasets.first_label` for labels of which a sample can
    have several.

    Parameters
    ----------
    solver : {"auto", "implicit", "umax", "sgd", "one_vs_each", "nce", "importance", "exact"}, \
default="auto"
        "auto" is "exact" unless its operations, counted over the usual epochs, are more than 2000
        times those of "implicit": up to 85,000 classes for samples of 10 entries, 30,000 for
        samples of 200. Up to 18,579 classes exact steps were ahead on every set (see the
        page "How ImplicitSoftmaxRegressor works"). It is "implicit" as well where
        `n_sampled_classes` or a `sampling` other than "uniform" is asked for. "implicit" is the
        paper's method (Propositions 3 and 4). "umax" takes plain steps, after raising u_i where it
        lies more than `delta` below a lower bound of its best value (Algorithm 1); with large rates
        it can still blow up. "sgd" takes plain steps and often overflows, which `fit` reports.
        These three are unbiased: they converge to the optimum. "one_vs_each" (Titsias), "nce"
        (noise contrastive estimation with the normaliser fixed at 1) and "importance" (sampled
        softmax) are the biased methods that the paper compares with. "exact" computes the softmax
        over all classes, in steps that never move a sample's own scores by more than 16: samples
        that are much longer than the rest count less until the rate has fallen. From 4096 classes
        on its steps round small probabilities at random, which leaves the mean of a step as it is
        and takes half of the time.
    formulation : {"pairwise", "raman"}, default="pairwise"
        The double sum: the paper's (eq. 6), on differences of scores, or that of Raman et al.
        (eq. 8), which has larger gradients; the latter for "umax" and "sgd".
    batch_size : int, default=None
        Samples of a step; None is the published number: 1 for "implicit", "umax" and "sgd", 100
        for the biased methods; 16 for "exact".
    n_sampled_classes : int, default=None
        Classes drawn for each sample of a step, at most all others; None is the published number:
        1 for "implicit", "umax" and "sgd", 5 for the biased methods. With "implicit" they are drawn
        for the whole mini-batch, in addition to its labels (appendix F.3). Not used by "exact".
    sampling : {"uniform", "frequency"}, default=None
        How classes are drawn, as published or, but for "exact" and mini-batches of "implicit", half
        uniformly and half by their frequency; terms are weighted so that the unbiased solvers stay
        so. None is "frequency" for single steps of "implicit", where it had the better
        log-likelihood on the data tried, and "uniform" elsewhere.
    alpha : "auto" or float, default="auto"
        Strength of the ridge, from 0 (the published setting) to 1e12; intercepts are free of it.
        Without it there is no finite optimum on data that a linear rule separates. "auto" sets out
        from 0.05 times the squared length of a sample (the median; of dense samples the length of
        what is left without their mean), so that the same samples in other units give the same
        predictions; where columns are in very different units, one strength for each, for dense
        ones 0.05 times the number of columns and their variance. `fit` of "exact" then takes from a
        thousandth of it to ten times it, by short fits of a fifth of the classes, three hundred or
        more of them, with all their samples up to 3000: a decade up or down for as long as the
        log-loss of a fifth of these samples falls by more than 0.02 and two standard errors, and
        half a decade back if that loses no more. Where fewer than 50 samples can be held out, for
        other solvers and in `partial_fit` it stays 0.05. See `alpha_`.
    learning_rate : "auto" or float, default="auto"
        Rate of the first epoch, up to 1e12. It multiplies the gradient of each sample's term,
        without the number of samples N, so that a rate found on a part of the samples carries over:
        a rate eta of the paper is ``learning_rate * n / N`` with n samples a step. "auto" follows
        the paper, but for three things: rates are for samples of length 1, that is divided by the
        squared length of a sample; of 1e-4, ..., 1e4 only those around the best are tried, and half
        decades next to it; and after `max_iter` epochs on a tenth of the samples (at least 1000 and
        up to a third, four for each class) the log-loss of as many other samples decides, or the
        training objective where fewer than 250 are left. "exact" searches so with up to a thousand
        samples and 250 classes; a part of more makes fewer steps and so likes higher rates. There
        the rate is 10, or with 20 samples a class and more 10 over the root of ten, times 16 over a
        larger `batch_size`; with up to three hundred classes lower ones are tried as ridges are.
        `partial_fit` searches nothing: what comes first may be small. It takes the rate of a `fit`
        before it, or 1 for samples of length 1 (0.1 for "umax", 0.01 for "sgd").
    decay : {"linear", "inverse"} or float, default="linear"
        Factor on the rate after each epoch, above 0 and up to 1, published as 0.9; "inverse" makes
        it ``1 / (1 + t)`` after t epochs. With "linear",
        epoch e = 0, 1, ... of `max_iter` has ``1 - (e + 1/2) / max_iter`` of the rate, which suits
        fits of few epochs too and was as good or better on held-out samples of six data sets (see
        the page "How ImplicitSoftmaxRegressor works"). `partial_fit` does not know how many epochs
        there will be: after t passes over all samples so far, linear means ``1 / sqrt(1 + t)``.
    max_iter : "auto" or int, default="auto"
        Epochs. An epoch visits every sample once; the paper's 50 epochs of N iterations are 50.
        "auto" is 50, or 10 for "exact", or as many as make a thousand steps. There is no `tol`: the
        rate falls to nothing within these epochs, and a fit that stops on the way ends at a rate
        that is still high.
    delta : float, default=1.0
        Threshold of "umax", above 0.
    fit_intercept : bool, default=True
        Whether to fit b_k. The paper has no intercepts.
    intercept_scaling : "auto" or float, default="auto"
        Value c, above 0 and up to 1e12, of a constant feature that each sample has for the sake of
        b_k: intercepts take c^2 of the step that a feature equal to 1 would take. "auto" is a tenth
        of the median length of the samples, or 1 if all are zero: at 1 the intercepts of unit
        samples outrun the weights, which cost up to 0.5 of log-likelihood on text.
    shuffle : bool, default=True
        Whether each epoch visits the samples in a random order of its own, or always in that of the
        rows. Mini-batches of "implicit" are a fixed partition of the samples, of which the order
        changes.
    compute_loss : bool, default=False
        Whether to compute the objective after each epoch for ``loss_curve_``, which takes a pass
        over all samples and all classes.
    class_weight : {"balanced", "propensity"}, dict {label: weight} or None, default=None
        Factors on the weights of samples of one class each; see :class:`PPDSparseClassifier`.
    n_jobs : int or None, default=None
        Workers of the search for the learning rate, threads of mini-batches (but for those of
        "implicit") and of prediction; None is 1 unless :func:`joblib.parallel_config` says
        otherwise, -1 all cores. Steps on one sample and one class follow one another by definition
        and use one thread; "exact" with 4096 classes and more uses at most one for each sample of
        a mini-batch. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the order of the samples, the classes drawn and the samples of the searches for the rate
        and the ridge.
    verbose : int, default=0
        A line for each rate that is tried and for each epoch: how many there are at most, the
        objective, the time taken and the time left. Without `compute_loss` it is the objective of a
        thousand of the samples.
    warm_start : bool, default=False
        Start the next fit, on the same classes and features, from the weights of the last.
    label_feature_weight : float, default=3.0
        The sample weight of each text in `label_features`, from 0, which leaves texts out, to 1e6.
        3 was ahead of 1 on held-out samples of three data sets, by 0.1 to 1.6 points of nDCG@5.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new matrix in its place to change the model.
        A csr_array where X is sparse and fewer than a sixteenth of 2**16 features or more have
        entries: weights are then kept, in files too, of these features alone.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    solver_ : str
        The solver that was used.
    learning_rate_ : float
        The rate of the first epoch.
    alpha_ : float or ndarray of float64, shape (n_features,)
        The strength of the ridge, on `coef_` as it is; one for each feature if ``alpha="auto"``
        found columns in very different units.
    intercept_scaling_ : float
        The constant feature of the intercepts; 0 without them.
    loss_curve_ : ndarray of float64, shape (n_epochs,)
        The objective divided by the sum of the sample weights after each epoch of `fit`; only with
        ``compute_loss=True``.
    n_iter_ : int
        Epochs made: those of `max_iter` after `fit`, and one more with each `partial_fit`.
    n_features_in_ : int
        Number of features of the X of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    AugmentReduceClassifier : Another bound with the same cost a step, and other noise than Gumbel.
    sklearn.linear_model.LogisticRegression : The same objective with ``C = 1 / alpha``, for few
        classes.

    Notes
    -----
    Steps are made in coordinates in which samples have length 1 about (the median), and weights are
    brought back in the end: the scale of X does not decide what is learnt. Nor do corrupt samples:
    one of more than ten median lengths (of all calls so far) is taken as a shorter one, of at least
    three. With intercepts, samples of which a quarter or more is not zero are taken from their
    mean, which changes the way and not the optimum; where dense columns are in very different
    units, as measurements often are, each is scaled by its deviation (with a number for `alpha`
    only by "exact", as only it has a ridge for each feature). Other sparse samples are not shifted;
    where a column's entries are more than 30 times as large as those of most, each column is scaled
    by the size of its entries, in `fit` and a first part.

    `partial_fit` means `fit`: a part carries its share of the ridge among all different samples of
    all calls, distinguished by a hash, and the auxiliary variables of up to 2**22 samples are kept
    between calls, 16 bytes each. A `ConvergenceWarning` is given where "auto" ends with the last
    rate that it tries, and where the objective of a cold fit ends above that of weights of zero.

    Memory, for N samples, D features and K classes: ``4 * K * D`` bytes of weights, once more while
    they are brought into the order of prediction, or before, in the rate search, once for every
    worker; and ``16 * (N + K)`` bytes of auxiliary variables. A fit that needs more than the limit
    is refused before anything is allocated.

    ``ImplicitSoftmaxRegressor.PUBLISHED`` holds the settings of the paper by solver, for samples of
    unit length (and those of its figure 2 and appendix G as "umax_raman" and "nce_single").

    Where [1]_ is in error: in the ridge of its appendix F.3 the learning rate is lost between the
    definition and (19); the shrinkage is ``1 / (1 + eta * alpha * beta_k)``. F.3 also takes the
    labels of a mini-batch to be distinct (K minus their number stands for K - n). Lemma 2's bound
    of u does not hold with free intercepts; "umax" then uses that of the losses at W = 0.

    References
    ----------
    .. [1] F. Fagan, G. Iyengar. "Unbiased scalable softmax optimization". arXiv:1803.08577, 2018.
    .. [2] P. Raman, S. Matsushima, X. Zhang, H. Yun and S. Vishwanathan. "DS-MLR: Exploiting double
       separability for scaling up distributed multinomial logistic regression". arXiv:1604.04706,
       2016.
    .. [3] M. Titsias. "One-vs-each approximation to softmax for scalable estimation of
       probabilities". NIPS, 2016.
    .. [4] A. Mnih and Y. W. Teh. "A fast and simple algorithm for training neural probabilistic
       language models". ICML, 2012.
    .. [5] Y. Bengio and J.-S. Senecal. "Adaptive importance sampling to accelerate training of a
       neural probabilistic language model". IEEE Transactions on Neural Networks 19(4), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from sklearn_xc import ImplicitSoftmaxRegressor
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> model = ImplicitSoftmaxRegressor(random_state=0).fit(X[:1500], y[:1500])
    >>> round(model.score(X[1500:], y[1500:]), 1)
    0.9
    >>> labels, probabilities = model.predict_topk(X[:3], k=2, scores="proba")
    >>> labels[:, 0].tolist()
    [0, 1, 2]
    """

    _stream: Any = None  # a `_stream.Stream`
    _waiting = None

    PUBLISHED = PUBLISHED
    _parameter_constraints = CONSTRAINTS
    _range_of_weights = 1e-30, 1e30  # float32 holds their products with values of X

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        check_loaded(self)

    def __init__(
        self,
        solver: str = "auto",
        formulation: str = "pairwise",
        *,
        batch_size: int | None = None,
        n_sampled_classes: int | None = None,
        sampling: str | None = None,
        alpha: float | str = "auto",
        learning_rate: float | str = "auto",
        decay: str | float = "linear",
        max_iter: int | str = "auto",
        delta: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float | str = "auto",
        shuffle: bool = True,
        compute_loss: bool = False,
        class_weight: str | dict | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        label_feature_weight: float = 3.0,
    ) -> None:
        self.solver = solver
        self.formulation = formulation
        self.batch_size = batch_size
        self.n_sampled_classes = n_sampled_classes
        self.sampling = sampling
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.shuffle = shuffle
        self.compute_loss = compute_loss
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
        """Fit the weights of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Finite numbers; computed with in float32. CSR is used as it is.
        y : array-like of shape (n_samples,)
            Labels of any dtype that sorts, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            s_i, factors on the log-loss of each sample; not negative. Samples of weight zero are
            not visited.
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
        self : ImplicitSoftmaxRegressor

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is not as described, y holds several labels a
            sample, the solver does not have the formulation, size of mini-batch or sampling, or a
            step leaves the range of float32.
        MemoryError
            If the dense weights would take more than half of the memory available.

        Notes
        -----
        Ctrl-C stops within a second. Whatever ends the fit early leaves the estimator as it was.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            rows, codes, weight, texts, start = validate_warm_start(
                self, X, y, sample_weight, label_features, classes
            )
            data = SoftmaxData(rows, codes, NONE if weight is None else weight)
            # No sample may decide alone: far ones are shortened before their sizes are taken.
            data = data.with_texts(texts).full().shortened()
            before, of_rows = self._columns, (data.rows.features, data.rows.shape[1])
            data = data.narrowed(self._keep_columns(*of_rows, start is None, data.rows.dense))
            start = self._moved_start(start, before)
            settings = settings_of(self, data.entries_a_row(), None)
            n_epochs = passes(self.max_iter, settings, len(data.visited()))
            shares = shares_of_epochs(self.decay, n_epochs)
            stream = data.stream(self, settings, None)
            # A warm start goes on with the auxiliary variables too.
            if start is not None and self._stream is not None:
                stream = stream.with_auxiliary(self._stream.keys, self._stream.u)
            self._stream, self._waiting = stream, None
            n_rates = MOST_TRIED if self._searches(settings, data) else 0
            progress.start(len(shares), set_model=type(self)._set_copies, n_before=n_rates)
            self.n_iter_, curve = self._train(data, start, settings, shares, 0, progress)
            vars(self).pop("loss_curve_", None)
            if self.compute_loss:
                self.loss_curve_ = np.array(curve)
            progress.finish()
        return self

    def _partial_fit(
        self, X: Matrix, codes: np.ndarray, sample_weight: np.ndarray | None, first: bool
    ) -> None:
        """Make one pass over more samples and the leftover ones (see `training/_waiting.py`).

        Samples are visited in the order given, draws and auxiliary variables go on, and coordinates
        are those of all samples so far: original weights do not change with them.
        """
        n_calls = vars(self).get("n_iter_", 0)
        X, codes, sample_weight, n_new, cold = self._with_waiting(X, codes, sample_weight, first)
        weight = NONE if sample_weight is None else sample_weight
        before, n_before = None if cold else self._stream, 0 if first else n_calls
        data = SoftmaxData(as_rows(X), codes, weight).full().shortened(before and before.typical)
        of_rows = data.rows.features, data.rows.shape[1]
        data = data.narrowed(self._keep_columns(*of_rows, cold, data.rows.dense))
        before = before and self._stream
        solver = None if first else vars(self).get("solver_")
        settings = settings_of(self, data.entries_a_row(), solver)
        started = not cold
        # Leftover samples were counted by the call that brought them.
        new = data if cold else data.take(np.arange(len(codes) - n_new, len(codes)))
        self._stream, self._waiting = new.stream(self, settings, before), None
        seed = check_random_state(self.random_state).randint(2**31)
        shuffled = sorted_by_class(codes)
        # Samples sorted by class would make steps on one class at a time.
        rng = random_stream(seed, "order of a part", n_before) if shuffled else None
        whole, rest = in_parts(len(codes), settings.batch_size, rng)
        progress = self._progress_of_part()

        def step(some: np.ndarray, progress: Progress) -> None:
            start = self._start_weights() if started else None
            shares = np.array([share_of_part(self.decay, self._stream.seen)])
            self._train(data.take(some), start, settings, shares, n_before, progress, part=True)

        if len(whole):
            step(whole, progress)
            progress, cold, started = SILENT, False, True
        tables = () if cold else self._tables()
        if len(rest):
            # The next call takes the step on leftover samples back, and what the stream has of it.
            kept, left = self._stream, data.take(rest)
            step(rest, progress)
            X = self._in_all_columns(left.rows.matrix())
            of_rest = X, labels_of(left.y), left.sample_weight()
            self._stream = kept
            self._waiting = Waiting(*of_rest, cold, tables, self._tables())
        self.n_iter_ = n_calls + 1

    def _move_columns(self, before: np.ndarray) -> None:
        if self._stream is not None:
            self._stream = self._stream.in_columns(before, self._columns)

    def _weights_of_new_classes(self, n_new: int) -> tuple[np.float32, np.float32]:
        # With b = -log K the normaliser of W = 0 is 1, which noise contrastive estimation takes it
        # for.
        normalising = self.solver == "nce" and self.fit_intercept
        return np.float32(0), np.float32(-np.log(len(self.classes_)) if normalising else 0)

    def _train(
        self,
        data: SoftmaxData,
        start: Weights | None,
        settings: SolverSettings,
        shares: np.ndarray,
        first_epoch: int,
        progress: Progress,
        part: bool = False,
    ) -> tuple[int, list[float]]:
        """Make an epoch at each share of the rate; the number made and the curve of the loss.

        `_stream` is of these samples already.
        """
        stream, coordinates, given = self._stream, self._stream.coordinates, data
        searching, n_classes = not part and self._searches(settings, data), len(self.classes_)
        workers = min(joblib.effective_n_jobs(self.n_jobs), len(FIRST)) if searching else 1
        # Refused before anything is allocated.
        self._require_room(settings, data.rows, workers, start)
        data = data.inside(coordinates)
        if start is not None:
            start = weights_inside(coordinates, *start)
        seed = check_random_state(self.random_state).randint(2**31)
        rate = known_rate(self, settings, stream, start, part, (len(data.visited()), n_classes))
        pilot = None if part else self._pilot(data, settings, len(shares), seed)
        ridge = ridge_by(pilot, rate) if self.alpha == "auto" else RIDGE
        inside = inside_of(self, not np.any(given.rows.data), stream, ridge)
        settings = replace(settings, shuffle=settings.shuffle and not part, **inside)
        if self.learning_rate == "auto" and not searching:
            rate = rate_by(pilot, settings.alpha, rate)
        # Kernels in other threads read it, and end when Ctrl-C has set it.
        stop = np.zeros(1, dtype=np.int32)
        trials = self._trials(data, settings, start, shares, seed, stop) if searching else None
        whole = stream.whole(self._support) if part else None
        solver = self._solver(data, replace(settings, whole=whole), seed, self._threads(), stop)
        losses = data.losses(settings.alpha, seed, self.compute_loss, progress.verbose)
        try:
            if trials is not None:
                rate = searched_rate(trials, workers, progress)
            solver.begin(start).draws = stream.draws.copy()
            if settings.solver in STEPPED_SINGLY:
                keys = given.keys(self.classes_)
                # u of samples that came before; log K, the optimum for W = 0, for others.
                solver.u = stream.auxiliary(keys, np.log(n_classes))
            n_epochs, weights = fit_softmax(
                solver,
                rate,
                shares,
                first_epoch=first_epoch,
                on_epoch=losses.after_epoch,
                progress=progress,
                outside=coordinates.weights_outside,
            )
        except DivergenceError as error:
            raise ValueError(divergence(self, settings.solver, error)) from error
        except BaseException:
            stop[0] = 1  # threads that are still at work give up
            raise
        if start is None and not part:
            warn_above_start(losses.of_few(weights), n_classes, settings.solver)
        self._set_dense_model(*weights_outside(coordinates, *weights))
        if settings.solver in STEPPED_SINGLY:
            # Auxiliary variables are kept by a hash of the sample with its label: parts may come in
            # any order.
            counted = data.visited()
            stream = stream.with_auxiliary(keys[counted], solver.u[counted])
        self._stream = stream.stepped_on(n_epochs, solver)
        self._report(settings, ridge, rate)
        return n_epochs, losses.curve

    def _report(self, settings: SolverSettings, ridge: float, rate: float) -> None:
        """Set the attributes that say what the steps were, for X in its original coordinates."""
        stream, auto = self._stream, self.learning_rate == "auto"
        self.solver_ = settings.solver
        self.alpha_ = alpha_outside(self, stream.coordinates, ridge)
        self.learning_rate_ = rate / stream.length**2 if auto else float(self.learning_rate)
        self.intercept_scaling_ = settings.intercept * stream.length

    def _solver(
        self,
        data: SoftmaxData,
        settings: SolverSettings,
        seed: int,
        n_threads: int,
        stop: np.ndarray,
    ) -> Solver:
        """Return a solver of the settings, which has not begun."""
        n_classes = len(self.classes_)
        return solver_class(settings)(data, n_classes, settings, seed, n_threads, stop)

    def _require_room(
        self, settings: SolverSettings, rows: Rows, workers: int, start: Weights | None
    ) -> None:
        """Refuse weights of all fits that run at a time if they do not fit into memory."""
        # In another layout than that of prediction they are copied in the end.
        n_copies = 1 if solver_class(settings).by_feature(rows.dense) else 2
        n_copies = max(n_copies, workers) + (start is not None)
        self._require_weights(n_copies, 16 * rows.shape[0])

    def _trials(
        self,
        data: SoftmaxData,
        settings: SolverSettings,
        start: Weights | None,
        shares: np.ndarray,
        seed: int,
        stop: np.ndarray,
    ) -> Trials:
        """Return fits of a part of the samples by which rates are compared."""
        part, alpha, loss = data.part_for_rates(settings.alpha, seed)
        settings = replace(settings, alpha=alpha)
        solver = self._solver(part, settings, seed, 1, stop)
        return Trials(solver, loss, start, shares)

    def _searches(self, settings: SolverSettings, data: SoftmaxData) -> bool:
        sizes = len(data.visited()), len(self.classes_)
        return self.learning_rate == "auto" and is_searched(settings.solver, *sizes)

    def _pilot(
        self, data: SoftmaxData, settings: SolverSettings, n_epochs: int, seed: int
    ) -> RidgePilot | None:
        """Return fits of some classes that find the ridge and the rate; None where none do."""
        if settings.solver != "exact" or "auto" not in (self.alpha, self.learning_rate):
            return None
        return pilot_of(
            data.rows,
            data.y,
            data.sample_weight(),
            data.visited(),
            n_epochs,
            seed,
            batch_size=settings.batch_size,
            fit_intercept=self.fit_intercept,
            n_texts=data.n_texts,
            n_threads=self._threads(),
        )
