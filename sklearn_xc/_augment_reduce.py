"""Augment-and-Reduce: softmax, probit and logistic models over very many classes."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.utils import check_random_state

from ._base import Interval, StrOptions
from ._bounds import bound_for
from ._callbacks import SILENT, with_callbacks
from ._dense import feature_major, padded_intercept, untouched_zeros
from ._exact import BEYOND, ExactSteps, shares_of_ridge
from ._kernels import _adaptive as kernel
from ._kernels._sampled import scores, scores_by_class
from ._multiclass import held_out_samples
from ._noise import log_probabilities
from ._rows import LARGEST_INDEX, as_matrix, as_rows
from ._sampling import SAMPLINGS, ClassSampler, Drawn, side_by_side
from ._softmax import BaseSoftmaxClassifier
from ._topk import InvertedIndex

# The bound is watched on so many samples, fewer where they would have more scores than WATCHED.
MOST_WATCHED, FEWEST_WATCHED, WATCHED = 200, 16, 4_000_000
PATIENCE = 5  # epochs without improvement after which a fit stops
DECAY, DECAY_STEPS = 0.9, 2000  # of the learning rate (section 4 of the paper)
PUBLISHED_RATE, PUBLISHED_LENGTH = 0.02, 68  # on Bibtex, with so many ones in a row
UNSCALED = np.empty(0, dtype=np.float32)


class AugmentReduceClassifier(BaseSoftmaxClassifier):
    """Softmax, multinomial probit and multinomial logistic by Augment-and-Reduce.

    A sample chooses the class with the highest utility ``<w_k, x> + b_k + noise``, where the noise
    is independent for each class: Gumbel noise is the softmax, Gaussian noise the multinomial
    probit, logistic noise the multinomial logistic. The method keeps the noise of the chosen class
    as a variable of each sample and maximises a lower bound of the log-likelihood (eq. 7), which is
    a sum over the other classes [1]_: a few classes, drawn anew for each sample and step, estimate
    it and its gradient without bias. A step costs the same for a hundred classes and for a million.

    Multiclass only; see :func:`~sklearn_xc.datasets.first_label` for labels of which a sample can
    have several.

    Parameters
    ----------
    model : {"softmax", "probit", "logistic"}, default="softmax"
        The distribution of the noise: Gumbel, Gaussian, logistic.
    bound : {"augment_reduce", "one_vs_each", "exact"}, default="augment_reduce"
        "augment_reduce" is the paper's bound, Algorithm 1 for the softmax and Algorithm 2 for the
        others. The softmax also has the bound of Titsias (2016), eq. 10, and "exact", the
        log-likelihood itself over all classes. All take the same steps.
    batch_size : int, default=500
        Samples of a mini-batch (the paper: 379 to 1987).
    n_sampled_classes : int, default=20
        Classes drawn for each sample and step, at most all others (the paper: 1 of 10 to 60 of
        2919). Not used by "exact".
    sampling : {"uniform", "frequency"}, default="uniform"
        How they are drawn. "frequency" mixes the frequencies of the classes half and half with the
        uniform distribution and weights the classes so that bound and gradient stay unbiased.
    shared_draws : bool, default=False
        Whether the weights of a class drawn for a sample are stepped by a variable of the sample
        that has just seen this class, as in the paper's algorithms. That correlates the two steps,
        which costs a little bias (and with large steps spares noise). Otherwise, the softmax leaves
        a class out of the step of the variable that it sees itself. Probit and logistic, and a
        softmax with one class drawn, draw classes for the variables apart, which takes about a
        fifth more time.
    max_iter : int, default=100
        Passes over the data. The paper counts mini-batches: its 5000 iterations on Bibtex, ten a
        pass, are ``max_iter=500``.
    learning_rate : "auto" or float, default="auto"
        rho_0 of the published schedule: iteration t steps by ``rho_0 * 0.9^(t // 2000) * t^(-1/2) *
        g / (1 + sqrt(s))``, where g is the gradient over all samples and s a running average of its
        square, coordinate by coordinate. Such a step moves every weight by about rho_0 whatever the
        gradient, and hence a score by rho_0 times the sum of the row's values. The published 0.02
        goes with rows of some 68 ones (Bibtex); "auto" is ``0.02 * 68 / mean of ||x||_1``, which
        moves scores as much on rows of any scale. On rows of unit length that is 0.1 to 0.5.
    alpha : float, default=0.0
        Strength of the penalty ``alpha / 2 * ||W||^2`` against the sum of the samples'
        log-likelihoods; 0, as published, is maximum likelihood. Intercepts are free of it.
    init_scale : float, default=0.1
        Standard deviation of the random weights at the start; that of the intercepts is a hundredth
        of it. As published. 0 starts from zero weights.
    tol : float or None, default=1e-4
        The fit stops when the bound has not risen by more than this share of it over five passes.
        None makes all `max_iter` passes.
    early_stopping : bool, default=False
        Watch the log-likelihood of samples that are kept from training instead of the bound of
        samples that are not.
    validation_fraction : float, default=0.1
        Share of the samples kept; every class keeps one at least for training.
    n_jobs : int or None, default=None
        Threads of `fit` and of prediction; None is 1 unless :func:`joblib.parallel_config` says
        otherwise, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the initial weights, the mini-batches, the drawn classes and the noise.
    verbose : int, default=0
        1 prints the bound after every pass.
    warm_start : bool, default=False
        Start from the weights of the fit before, which must have had the same classes and features.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new array in its place to change the model.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    elbo_curve_ : ndarray of float64, shape (n_epochs,)
        The mean of the bound, after each pass, over up to 200 samples: always the same training
        samples with all classes, or, with ``early_stopping=True``, samples kept from training, of
        which it is the log-likelihood.
    learning_rate_ : float
        rho_0.
    n_iter_ : int
        Passes over the data of the last call.
    n_steps_ : int
        Mini-batches of all calls since the last cold start; the schedule goes on from there.
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
    squared gradient), that is ``8 * n_classes * n_features`` bytes, and 8 to 24 bytes a sample. The
    fitted model keeps one.

    The variable of a sample takes steps of size ``(1 + t)^-0.9`` (for the softmax) or ``0.01 *
    (1 + t)^-0.9``, where t counts the passes, and hence the updates of that variable, as in the
    authors' program; with t counting mini-batches, as printed, it would all but stand still. At the
    start it is the optimum for equal utilities.

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
    >>> model = AugmentReduceClassifier(max_iter=50, random_state=0).fit(X / 16, y)
    >>> model.score(X / 16, y) > 0.9
    True
    >>> model.predict_proba(X[:1] / 16).argmax().item()
    0
    """

    def __init__(
        self,
        model="softmax",
        bound="augment_reduce",
        *,
        batch_size=500,
        n_sampled_classes=20,
        sampling="uniform",
        shared_draws=False,
        max_iter=100,
        learning_rate="auto",
        alpha=0.0,
        init_scale=0.1,
        tol=1e-4,
        early_stopping=False,
        validation_fraction=0.1,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.model = model
        self.bound = bound
        self.batch_size = batch_size
        self.n_sampled_classes = n_sampled_classes
        self.sampling = sampling
        self.shared_draws = shared_draws
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.init_scale = init_scale
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    _parameter_constraints: dict = {  # noqa: RUF012
        "model": [StrOptions({"softmax", "probit", "logistic"})],
        "bound": [StrOptions({"augment_reduce", "one_vs_each", "exact"})],
        "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "n_sampled_classes": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "sampling": [StrOptions(set(SAMPLINGS))],
        "shared_draws": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "init_scale": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any dtype that sorts, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors, zero or more, on the samples' log-likelihoods.

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
        """
        given = X, y, sample_weight
        with self._all_or_nothing():
            X, codes, sample_weight, weights = self._validate_warm_start(X, y, sample_weight)
            self._check_bound()
            if weights is None:
                self.n_steps_ = 0
            progress = self._watch(self.max_iter, *given)
            self._train(X, codes, sample_weight, weights, self.max_iter, progress)
            progress.finish()
        return self

    def _partial_fit(self, X, codes, sample_weight, first):
        self._check_bound()
        if first:
            self.n_steps_ = 0
        self._train(X, codes, sample_weight, None if first else self._start_weights(), 1)

    def _weights_of_new_classes(self, n_new):
        """Random as at the start, with draws of their own for each number of classes."""
        seed = check_random_state(self.random_state).randint(2**31)
        rng = np.random.default_rng([seed, len(self.classes_)])
        return _initial_weights(n_new, self.n_features_in_, self.init_scale, rng.integers(2**31))

    def _check_bound(self):
        if self.model != "softmax" and self.bound != "augment_reduce":
            raise ValueError(
                f"bound={self.bound!r} is one of the softmax; with model={self.model!r} only "
                "bound='augment_reduce' is possible"
            )

    def _train(self, X, codes, sample_weight, weights, max_iter, progress=SILENT):
        exact = self.bound == "exact"
        also = 32 * X.shape[0]
        if exact:  # the scores of a mini-batch
            also += 4 * min(self.batch_size, X.shape[0]) * len(self.classes_)
        self._require_weights(3 if self.warm_start else 2, also)
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31)
        held_out = np.zeros(X.shape[0], dtype=bool)
        if self.early_stopping and max_iter > 1:
            held_out = held_out_samples(codes, self.validation_fraction, rng)
            if sample_weight is not None:
                held_out &= sample_weight > 0
        if weights is None:
            weights = _initial_weights(
                len(self.classes_), X.shape[1], self.init_scale, rng.randint(2**31)
            )
        rows = as_rows(X)
        rate = self.learning_rate
        if rate == "auto":  # that of the first part, where data come in parts
            rate = self.learning_rate_ if self.n_steps_ else automatic_rate(rows, sample_weight)
        run = _fit_exact if exact else _fit_augment_reduce
        W, b, curve, n_steps = run(
            rows,
            codes,
            sample_weight,
            *weights,
            held_out,
            model=self.model,
            bound=self.bound,
            batch_size=min(self.batch_size, X.shape[0]),
            n_sampled=self.n_sampled_classes,
            sampling=self.sampling,
            shared_draws=self.shared_draws,
            max_iter=max_iter,
            learning_rate=rate,
            alpha=self.alpha,
            tol=self.tol if max_iter > 1 else None,
            early_stopping=bool(held_out.any()),
            n_steps=self.n_steps_,
            seed=seed,
            n_threads=self._threads(),
            verbose=self.verbose,
            progress=progress,
        )
        self._set_dense_model(W, b)
        self.n_steps_, self.n_iter_, self.learning_rate_ = n_steps, len(curve), float(rate)
        self.elbo_curve_ = np.array(curve)
        if held_out.any():
            self._count_held_out(rows.take(held_out), codes[held_out])

    def _log_probabilities(self, scores):
        if self.model == "softmax":
            return super()._log_probabilities(scores)
        return log_probabilities(scores, self.model, self._threads())


def _initial_weights(n_classes, n_features, scale, seed):
    """Normal weights, and intercepts of a hundredth of their deviation (section 4)."""
    generator = np.random.default_rng(seed)
    W = untouched_zeros((n_classes, n_features))
    generator.standard_normal(out=W, dtype=np.float32)
    W *= np.float32(scale)
    b = generator.standard_normal(n_classes, dtype=np.float32) * np.float32(scale / 100)
    return W, b


def _training(held_out, sample_weight):
    """The samples to visit: those of weight zero are not."""
    visited = ~held_out if sample_weight is None else ~held_out & (sample_weight > 0)
    return np.flatnonzero(visited)


def automatic_rate(rows, sample_weight):
    """The published rate for rows whose values are not 0 and 1 (see the parameter)."""
    lengths = abs(as_matrix(rows)).sum(axis=1, dtype=np.float64)
    length = np.average(lengths, weights=sample_weight)
    return PUBLISHED_RATE * PUBLISHED_LENGTH / length if length else PUBLISHED_RATE


def step_size(t, learning_rate):
    """rho of iterations t = 1, 2, ... without its adaptive part (section 4)."""
    return learning_rate * DECAY ** (t // DECAY_STEPS) * t**-0.5


class Seeds(NamedTuple):
    """What the draws of a step depend on, beside the sample: never on threads."""

    classes: int
    noise: int
    step: int


class _Watch:
    """Follows the bound on a few fixed samples, epoch by epoch, and says when to stop."""

    def __init__(self, tol, patience, verbose):
        self.tol, self.patience, self.verbose = tol, patience, verbose
        self.curve = []

    def add(self, value):
        self.curve.append(value)
        if self.verbose:
            print(f"epoch {len(self.curve)}: bound {value:.5g} a sample")

    def done(self):
        """No value of the last epochs is better than the best before by more than tol of it."""
        if self.tol is None or len(self.curve) <= self.patience:
            return False
        before, last = max(self.curve[: -self.patience]), max(self.curve[-self.patience :])
        return last - before <= self.tol * abs(before)


def _batches(rng, samples, batch_size):
    """The mini-batches of an epoch: the samples in a random order, cut."""
    order = rng.permutation(samples).astype(np.int32)
    return np.split(order, range(batch_size, len(order), batch_size))


def _watched(samples, n_classes, seed):
    """A few of the samples, always the same for a seed, to evaluate the bound on."""
    size = max(FEWEST_WATCHED, min(MOST_WATCHED, WATCHED // n_classes))
    chosen = np.random.default_rng(seed).permutation(samples)[:size]
    return np.sort(chosen).astype(np.int32)


def _fit_augment_reduce(
    rows, y, sample_weight, W, b, held_out, *, model, bound, batch_size, n_sampled, sampling,
    shared_draws, max_iter, learning_rate, alpha, tol, early_stopping, n_steps, seed, n_threads,
    verbose, progress,
):  # fmt: skip
    """Algorithms 1 and 2, and the one-vs-each bound; W and b are changed in place."""
    n_classes, n_features = W.shape
    training = _training(held_out, sample_weight)
    weight = np.ones(rows.shape[0], np.float32) if sample_weight is None else sample_weight
    counts = np.bincount(y[training], minlength=n_classes)
    sampler = ClassSampler(sampling, counts, n_sampled, n_threads)
    local = bound_for(model, bound, rows.shape[0], sampler, shared_draws, n_threads)
    watch = _Watch(tol, PATIENCE, verbose)
    watched = _watched(np.flatnonzero(held_out) if early_stopping else training, n_classes, seed)
    share = shares_of_ridge(rows, alpha, training) if alpha else UNSCALED
    width = kernel.width_of_averages(n_features)
    averages = untouched_zeros((n_classes, width))
    stamps = np.zeros((n_classes, kernel.stamps_of(width)), dtype=np.int32)
    scratch = kernel.Scratch(n_features, n_threads)
    rng = np.random.default_rng(seed)
    seeds = Seeds(*(int(s) for s in rng.integers(2**62, size=2)), n_steps)

    def drawn(batch, step):
        draws = [sampler.draw(y[batch], seeds.classes, 2 * step + i) for i in range(local.n_draws)]
        near = side_by_side(rows, batch, n_threads)
        return Drawn(near, n_classes, *zip(*draws, strict=True), n_threads)

    for epoch in range(1, max_iter + 1):
        progress.begin()
        batches = _batches(rng, training, batch_size)
        rates = step_size(n_steps + 1 + np.arange(len(batches)), learning_rate)
        coming = drawn(batches[0], n_steps + 1)
        scores_by_class(coming.scored, W, b, coming.psi, n_threads)
        for i, (batch, rate) in enumerate(zip(batches, rates, strict=True)):
            n_steps += 1
            seeds = seeds._replace(step=n_steps)
            now, coming = coming, None
            if i + 1 < len(batches):
                coming = drawn(batches[i + 1], n_steps + 1)
            coefs = local.stepped_coefficients(
                now.psi_of_draws(), now.importance, batch, weight, epoch, seeds
            )
            kernel.ascend(
                now.stepped, coefs, now.importance[0], share,
                rate, len(training) / len(batch), n_steps, W, b, averages, stamps,
                coming and coming.scored, coming and coming.psi, scratch, n_threads,
            )  # fmt: skip
        classes = _all_classes(y[watched], n_classes)
        psi = np.empty(classes.shape, dtype=np.float32)
        scores(*rows[:4], watched, classes, W, UNSCALED, b, psi, n_threads)
        watch.add(_watched_bound(local, psi, watched, early_stopping))
        if progress.end(lambda: (W, b)) or watch.done():
            break
    return W, b, watch.curve, n_steps


def _all_classes(y, n_classes):
    """Every class for each sample, its own first, as the kernels want them."""
    classes = np.tile(np.arange(n_classes, dtype=np.int32), (len(y), 1))
    own = np.arange(len(y)), y
    classes[own] = 0
    classes[:, 0] = y
    return classes


def _watched_bound(local, psi, watched, held_out):
    if held_out:
        return float(local.at_best(psi).mean())
    return float(local.value(psi, watched).mean())


def _fit_exact(
    rows, y, sample_weight, W, b, held_out, *, batch_size, max_iter, learning_rate, alpha, tol,
    early_stopping, n_steps, seed, n_threads, verbose, progress, **_,
):  # fmt: skip
    """Softmax over all classes with the same steps and mini-batches."""
    n_classes = len(b)
    training = _training(held_out, sample_weight)
    W, b = feature_major(W), padded_intercept(b, BEYOND)
    steps = ExactSteps(
        rows, y, sample_weight, W, b, training, alpha=alpha, intercept=1, adaptive=True,
        n_threads=n_threads,
    )  # fmt: skip
    watch = _Watch(tol, PATIENCE, verbose)
    watched = _watched(np.flatnonzero(held_out) if early_stopping else training, n_classes, seed)
    few = rows.take(watched)
    rng = np.random.default_rng(seed)
    for _epoch in range(max_iter):
        progress.begin()
        order = rng.permutation(training).astype(np.int32)
        n_batches = -(-len(order) // batch_size)
        steps.epoch(order, batch_size, step_size(n_steps + 1 + np.arange(n_batches), learning_rate))
        n_steps += n_batches
        psi = InvertedIndex(W[:, :n_classes].T, b[:n_classes]).scores(few, n_threads)
        watch.add(float(log_softmax(psi, axis=1)[np.arange(len(watched)), y[watched]].mean()))
        if progress.end(lambda: (W[:, :n_classes].T, b[:n_classes])) or watch.done():
            break
    return W[:, :n_classes].T, b[:n_classes], watch.curve, n_steps
