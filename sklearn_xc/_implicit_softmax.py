"""ImplicitSoftmaxRegressor: softmax regression by unbiased stochastic gradients on a double sum."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ._base import Interval, StrOptions
from ._callbacks import SILENT, with_callbacks
from ._dense import feature_major, n_places, padded_intercept, untouched_zeros
from ._double_sum import NONE, Data, DivergenceError, SampledBatches, Settings, SingleSteps, Solver
from ._exact import BATCH, BEYOND, ExactSteps
from ._implicit_batch import ImplicitBatches
from ._learning_rate import RATES, objective, search_rate
from ._parallel import single_threaded_blas
from ._rows import LARGEST_INDEX, as_rows
from ._sampling import SAMPLINGS
from ._softmax import BaseSoftmaxClassifier

# Section 4.1: samples and classes of a mini-batch.
PUBLISHED = {
    "implicit": (1, 1),
    "umax": (1, 1),
    "sgd": (1, 1),
    "one_vs_each": (100, 5),
    "nce": (100, 5),
    "importance": (100, 5),
    "exact": (BATCH, 0),
}
SHARE_OF_LENGTH = 0.1  # of a row, for the constant feature of the intercepts
STEPPED_SINGLY = "implicit", "umax", "sgd"
WITH_RAMAN = "umax", "sgd"


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
    solver : {"implicit", "umax", "sgd", "one_vs_each", "nce", "importance", "exact"}, \
default="implicit"
        "implicit" is the paper's method (Propositions 3 and 4). "umax" takes plain steps, after
        raising u_i where it lies more than `delta` below a lower bound of its best value
        (Algorithm 1); with large rates it can still blow up. "sgd" takes plain steps and often
        overflows, which `fit` reports. These three are unbiased: they converge to the optimum.
        "one_vs_each" (Titsias), "nce" (noise contrastive estimation with the normaliser fixed at
        1) and "importance" (sampled softmax) are the biased methods that the paper compares with.
        "exact" computes the softmax over all classes; up to some ten thousand classes it is often
        the fastest way to a good model. From 4096 classes on its steps round small probabilities at
        random, which leaves the mean of a step as it is and takes half of the time.
    formulation : {"pairwise", "raman"}, default="pairwise"
        The double sum: the paper's (eq. 6), on differences of scores, or that of Raman et al.
        (eq. 8), which has larger gradients; the latter for "umax" and "sgd".
    batch_size : int, default=None
        Samples of a step; None is the published number: 1 for "implicit", "umax" and "sgd", 100
        for the biased methods; 16 for "exact".
    n_sampled_classes : int, default=None
        Classes drawn for each sample of a step, at most all others; None is the published number:
        1 for "implicit", "umax" and "sgd", 5 for the biased methods. With "implicit" they are drawn
        for the whole mini-batch, beside the labels in it (appendix F.3). Not used by "exact".
    sampling : {"uniform", "frequency"}, default=None
        How classes are drawn, as published or, but for "exact" and mini-batches of "implicit", half
        uniformly and half by their frequency; terms are weighted so that the unbiased solvers stay
        so. None is "frequency" for single steps of "implicit", where it had the better
        log-likelihood on the data tried, and "uniform" elsewhere.
    alpha : float, default=0.1
        Strength of the ridge, from 0 (the published setting) to 1e12; intercepts are free of it.
        Without it there is no finite optimum on data that a linear rule separates, and the rate
        with the best training objective overfits. 0.1 is a compromise over four data sets, on
        rows held out from training; the best of each lies from 0.03 to 0.3 (see the user guide).
    learning_rate : "auto" or float, default="auto"
        Rate of the first epoch, up to 1e12. It multiplies the gradient of each sample's term,
        without the number of samples N, so that a rate found on a part of the samples carries over:
        a rate eta of the paper is ``learning_rate * n / N`` with n samples a step. "auto" follows
        the paper: of 0.001, 0.01, ..., 1000 it takes the rate with the best training objective
        after `max_iter` epochs on a tenth of the samples (at least 1000, or all).
    decay : float or "linear", default="linear"
        Factor on the rate after each epoch, above 0 and up to 1, published as 0.9; or "linear":
        epoch e = 0, 1, ... of `max_iter` has ``1 - (e + 1/2) / max_iter`` of the rate, which suits
        fits of few epochs too and was as good or better on held-out rows of six data sets (see
        the user guide). A `partial_fit` is an epoch at the full rate.
    max_iter : int, default=50
        Epochs. An epoch visits every sample once; the paper's 50 epochs of N iterations are 50.
    delta : float, default=1.0
        Threshold of "umax", above 0.
    fit_intercept : bool, default=True
        Whether to fit b_k. The paper has no intercepts.
    intercept_scaling : "auto" or float, default="auto"
        Value c, above 0 and up to 1e12, of a constant feature that each sample has for the sake of
        b_k: intercepts take c^2 of the step that a feature equal to 1 would take. "auto" is a tenth
        of the root mean square length of the rows, or 1 if all are zero: at 1 the intercepts of
        unit rows outrun the weights, which cost up to 0.5 of log-likelihood on text.
    shuffle : bool, default=True
        Whether each epoch visits the samples in a random order of its own, or always in that of the
        rows. Mini-batches of "implicit" are a fixed partition of the samples, of which the order
        changes.
    loss_curve : bool, default=False
        Whether to compute the objective after each epoch for ``loss_curve_``, which takes a pass
        over all samples and all classes.
    n_jobs : int or None, default=None
        Workers of the search for the learning rate, threads of mini-batches (but for those of
        "implicit") and of prediction; None is 1 unless :func:`joblib.parallel_config` says
        otherwise, -1 all cores. Steps on one sample and one class follow one another by definition
        and use one thread; "exact" with 4096 classes and more uses at most one for each sample of
        a mini-batch. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the order of the samples, the classes drawn and the samples of the rate search.
    verbose : int, default=0
        A line for each epoch, and joblib's progress messages of the rate search.
    warm_start : bool, default=False
        Start the next fit, on the same classes and features, from the weights of the last.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new matrix in its place to change the model.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    learning_rate_ : float
        The rate of the first epoch.
    intercept_scaling_ : float
        The constant feature of the intercepts; 0 without them.
    loss_curve_ : ndarray of float64, shape (n_epochs,)
        The objective divided by the sum of the sample weights after each epoch of `fit`; only with
        ``loss_curve=True``.
    n_iter_ : int
        Epochs made: `max_iter` after `fit`, and one more with each `partial_fit`.
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
    Rows should be of unit length, or of a similar scale, as for any method of stochastic gradients.

    Memory, for N samples, D features and K classes: ``4 * K * D`` bytes of weights, once more while
    they are brought into the order of prediction, or before, in the rate search, once for every
    worker; and ``16 * (N + K)`` bytes of auxiliary variables. A fit that needs more than the limit
    is refused before anything is allocated.

    Where [1]_ is in error: in the ridge of its appendix F.3 the learning rate is lost between the
    definition and (19); the shrinkage is ``1 / (1 + eta * alpha * beta_k)``. F.3 also takes the
    labels of a mini-batch to be distinct; with repetitions, K minus the number of distinct labels
    stands for K - n. Lemma 2's bound of u does not hold with free intercepts; "umax" then uses that
    of the losses at W = 0.

    References
    ----------
    .. [1] Anonymous authors. "Unbiased scalable softmax optimization". Under review at ICLR, 2018.
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
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True
    >>> labels, probabilities = model.predict_topk(X[:3], k=2, scores="proba")
    >>> labels[:, 0].tolist()
    [0, 1, 2]
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "solver": [StrOptions(set(PUBLISHED))],
        "formulation": [StrOptions({"pairwise", "raman"})],
        "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
        "n_sampled_classes": [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None],
        "sampling": [StrOptions(set(SAMPLINGS)), None],
        "alpha": [Interval(Real, 0, 1e12, closed="both")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
        "decay": [StrOptions({"linear"}), Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "delta": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
        "shuffle": ["boolean"],
        "loss_curve": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        solver="implicit",
        formulation="pairwise",
        *,
        batch_size=None,
        n_sampled_classes=None,
        sampling=None,
        alpha=0.1,
        learning_rate="auto",
        decay="linear",
        max_iter=50,
        delta=1.0,
        fit_intercept=True,
        intercept_scaling="auto",
        shuffle=True,
        loss_curve=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
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
        self.loss_curve = loss_curve
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
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
        given = X, y, sample_weight
        with self._all_or_nothing():
            X, codes, sample_weight, start = self._validate_warm_start(X, y, sample_weight)
            shares = shares_of_rate(self.decay, self.max_iter)
            progress = self._watch(self.max_iter, *given)
            self.n_iter_, curve = self._train(X, codes, sample_weight, start, shares, 0, progress)
            vars(self).pop("loss_curve_", None)
            if self.loss_curve:
                self.loss_curve_ = np.array(curve)
            progress.finish()
        return self

    def _partial_fit(self, X, codes, sample_weight, first):
        n_before = 0 if first else self.n_iter_
        start = None if first else self._start_weights()
        self._train(X, codes, sample_weight, start, np.ones(1), n_before)
        self.n_iter_ = n_before + 1

    def _weights_of_new_classes(self, n_new):
        normalising = self.solver == "nce" and self.fit_intercept
        return np.float32(0), np.float32(-np.log(len(self.classes_)) if normalising else 0)

    def _train(self, X, codes, sample_weight, start, shares, first_epoch, progress=SILENT):
        """Make an epoch at each share of the rate; the number made and the curve of the loss."""
        settings = self._settings()  # refused before any work
        searching = self.learning_rate == "auto"
        workers = min(joblib.effective_n_jobs(self.n_jobs), len(RATES)) if searching else 1
        # In another layout they are copied in the end.
        n_copies = 1 if _solver_class(settings).by_feature(not sparse.issparse(X)) else 2
        self._require_weights(max(n_copies, workers) + (start is not None), 16 * X.shape[0])
        data = Data(as_rows(X), codes, NONE if sample_weight is None else sample_weight)
        settings = replace(settings, intercept=self._constant_feature(data, first_epoch > 0))
        n_classes = len(self.classes_)
        seed = check_random_state(self.random_state).randint(2**31)
        stop = np.zeros(1, dtype=np.int32)
        curve = []

        def on_epoch(epoch, weights):
            if self.loss_curve:
                curve.append(objective(*data, *weights(), self.alpha))
            if self.verbose:
                reached = f": objective {curve[-1]:.5g} a sample" if self.loss_curve else ""
                print(f"epoch {epoch + 1}{reached}")

        try:
            if not searching:
                rate = float(self.learning_rate)
            elif first_epoch and hasattr(self, "learning_rate_"):
                rate = self.learning_rate_  # of the first part
            else:
                rate = search_rate(
                    partial(
                        _train_part, n_classes=n_classes, start=start, settings=settings,
                        shares=shares, seed=seed, stop=stop,
                    ),
                    *data, self.alpha, seed, workers, self.verbose,
                )  # fmt: skip
            n_epochs, weights = _fit_softmax(
                data, n_classes, start, settings, rate, shares=shares, first_epoch=first_epoch,
                seed=seed, n_threads=self._threads(), stop=stop, on_epoch=on_epoch,
                progress=progress,
            )  # fmt: skip
        except DivergenceError as error:
            raise ValueError(
                f"solver={self.solver!r} with learning_rate={self.learning_rate!r} left the range "
                f"of float32 ({error}): use a smaller learning_rate, solver='implicit', or scale "
                "the features"
            ) from error
        except BaseException:
            stop[0] = 1  # threads that are still at work give up
            raise
        self._set_dense_model(*weights)
        self.learning_rate_, self.intercept_scaling_ = rate, settings.intercept
        return n_epochs, curve

    def _constant_feature(self, data, going_on):
        """The feature that stands for the intercepts; 0 without them."""
        if not self.fit_intercept:
            return 0.0
        if self.intercept_scaling != "auto":
            return float(self.intercept_scaling)
        if going_on and hasattr(self, "intercept_scaling_"):
            return self.intercept_scaling_  # of the first part
        return SHARE_OF_LENGTH * data.mean_length() or 1.0

    def _settings(self):
        """The solver's settings; refuses what it does not have."""
        n, m = PUBLISHED[self.solver]
        n = n if self.batch_size is None else self.batch_size
        if self.solver == "exact" and self.n_sampled_classes is not None:
            raise ValueError(
                f"n_sampled_classes={self.n_sampled_classes!r}: solver='exact' draws no classes; "
                "leave it at None"
            )
        m = m if self.n_sampled_classes is None else self.n_sampled_classes
        if self.formulation == "raman" and self.solver not in WITH_RAMAN:
            raise ValueError(
                f"formulation='raman' is for solver='umax' and solver='sgd', not for "
                f"solver={self.solver!r}"
            )
        singly = self.solver == "implicit" and (n, m) == (1, 1)
        sampling = self.sampling
        if sampling is None:
            sampling = "frequency" if singly else "uniform"
        only_uniform = self.solver in ("implicit", "exact") and not singly
        if only_uniform and sampling != "uniform":
            raise ValueError(
                f"sampling={self.sampling!r} is not for solver='exact', nor for solver='implicit' "
                "with mini-batches (batch_size or n_sampled_classes above 1)"
            )
        return Settings(
            solver=self.solver,
            raman=self.formulation == "raman",
            batch_size=n,
            n_sampled=m,
            sampling=sampling,
            alpha=float(self.alpha),
            delta=float(self.delta),
            intercept=float(self.fit_intercept),
            shuffle=bool(self.shuffle),
        )


class ExactBatches(Solver):
    """Mini-batch steps on the softmax over all classes."""

    def __init__(self, data, n_classes, start, settings, seed, n_threads, stop):
        super().__init__(data, n_classes, start, settings, seed, n_threads, stop)
        self.steps = ExactSteps(
            data.rows, data.y, data.weight if data.weight.size else None, self.W, self.b,
            data.visited(), alpha=settings.alpha, intercept=settings.intercept,
            adaptive=False, n_threads=n_threads, stop=stop,
        )  # fmt: skip

    @staticmethod
    def by_feature(dense):
        return True

    def initial(self, start, n_classes, n_features):
        if start is None:
            return (
                untouched_zeros((n_features, n_places(n_classes))),
                padded_intercept(np.zeros(n_classes), BEYOND),
            )
        return feature_major(start[0]), padded_intercept(start[1], BEYOND)

    def epoch(self, number, rate):
        self.check_stop()
        seed = np.random.default_rng([self.seed, number, 1]).integers(2**63)
        loss = self.steps.epoch(self.order(number), self.settings.batch_size, rate, seed)
        if not np.isfinite(loss):
            raise DivergenceError(f"a step of epoch {number + 1} was not finite")

    def weights(self):
        self.steps.finish()
        return self.W[:, : self.n_classes].T, self.b[: self.n_classes]


def _solver_class(settings):
    if settings.solver == "exact":
        return ExactBatches
    if settings.solver in STEPPED_SINGLY and (settings.batch_size, settings.n_sampled) == (1, 1):
        return SingleSteps
    return ImplicitBatches if settings.solver == "implicit" else SampledBatches


def shares_of_rate(decay, n_epochs):
    """The factor on the rate in each epoch, ndarray (n_epochs,)."""
    epochs = np.arange(n_epochs)
    return 1 - (epochs + 0.5) / n_epochs if decay == "linear" else float(decay) ** epochs


def _fit_softmax(
    data, n_classes, start, settings, rate, *, shares, first_epoch, seed, n_threads, stop, on_epoch,
    progress=SILENT,
):  # fmt: skip
    """Train for an epoch at each share of the rate; `on_epoch(epoch, weights)` follows each.

    Returns
    -------
    n_epochs : int
        Those made: fewer than there are shares if a callback stopped them.
    W, b : ndarray of float32 (n_classes, n_features) and (n_classes,)
    """
    solver = _solver_class(settings)(data, n_classes, start, settings, seed, n_threads, stop)
    with single_threaded_blas():
        for epoch, share in enumerate(shares):
            progress.begin()
            solver.epoch(first_epoch + epoch, rate * share)
            on_epoch(epoch, solver.weights)
            if progress.end(solver.weights):
                break
        return epoch + 1, solver.weights()


def _train_part(rows, y, sample_weight, alpha, rate, *, n_classes, start, settings, **options):
    """A run of the rate search, on a part of the rows."""
    _, weights = _fit_softmax(
        Data(rows, y, sample_weight),
        n_classes,
        None if start is None else tuple(part.copy() for part in start),
        replace(settings, alpha=alpha),
        rate,
        **options,
        first_epoch=0,
        n_threads=1,
        on_epoch=lambda epoch, weights: None,
    )
    return weights
