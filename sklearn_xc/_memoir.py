"""MEMOIR: multiclass support vector machines trained with an inexact margin."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.utils import check_random_state

from ._base import Interval, StrOptions
from ._calibrated import CalibratedMixin
from ._callbacks import SILENT, with_callbacks
from ._class_weight import weights_of_labels
from ._double_sum import squared_norms
from ._memoir_search import choose_search, make_search
from ._memoir_steps import Settings, Steps, Weights, model_of
from ._memory import require_memory
from ._multiclass import BaseMulticlassClassifier, held_out_samples
from ._parallel import single_threaded_blas
from ._rows import LARGEST_INDEX, as_rows
from ._topk import InvertedIndex

# What the paper trained with; `max_iter`, there 25 to 80 batches by data set, is for each to find.
# Its rate is that of a sample's step, not divided by the size of the batch.
PUBLISHED = {
    "l2": {
        "penalty": "l2", "alpha": 1.0, "rho": 1.0, "search": "hnsw", "batch_size": "auto",
        "reduction": "sum", "eta0": 0.1, "eta_step": 0.02, "sampling": "uniform",
        "average": False, "normalize_scores": False, "fit_intercept": False,
    },
    "l1": {
        "penalty": "l1", "alpha": 1e-6, "rho": 1.0, "search": "hnsw", "batch_size": "auto",
        "reduction": "sum", "eta0": 0.1, "eta_step": 0.02, "sampling": "uniform",
        "average": False, "normalize_scores": False, "fit_intercept": False,
    },
    "lsh": {
        "penalty": "l2", "alpha": 1.0, "rho": 1.0, "search": "lsh", "n_bits": 64,
        "batch_size": "auto", "reduction": "sum", "eta0": 0.1, "eta_step": 0.02,
        "sampling": "uniform", "average": False, "normalize_scores": False,
        "fit_intercept": False,
    },
}  # fmt: skip
CONSTANT = 1.0  # the value of the constant feature beside the root mean square length of samples
BYTES_OF_A_FEATURE = 32  # that no class uses
# alpha="auto", times the mean of ||x||^2 (or its root) over the number of samples
AUTO_ALPHA = {"l2": 0.3, "l1": 0.03}


class MemoirSVC(CalibratedMixin, BaseMulticlassClassifier):
    """Multiclass support vector machine whose training asks an index, not every class (MEMOIR).

    Minimises, over one weight vector w_k for each class::

        alpha / 2 * sum_k ||w_k||^2 + sum_i s_i max(0, 1 - m_i / rho) / sum_i s_i,
        m_i = <w_y, x_i> - max over k != y of <w_k, x_i>,   y = y_i

    (eq. 10 of [1]_; Crammer and Singer's hinge loss), or with ``alpha * sum_k ||w_k||_1`` instead
    of the squares. Batches of samples are visited in turn; where the margin m_i of a sample is
    below rho, its own class takes a step towards it and the rival, the best other class, one away
    from it. The rival is what costs: it is looked for among all classes, or among those that an
    index for inner products names (`search`), which makes the margin inexact. Weights are sparse.

    Multiclass only. For samples with several labels see
    :func:`~sklearn_xc.datasets.repeat_per_label` and :func:`~sklearn_xc.datasets.first_label`.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l2" shrinks all weights and projects them on the ball of radius ``1 / sqrt(alpha)`` after
        each batch (Algorithm 1). "l1" brings the weights of the classes that a batch asked for
        nearer to zero (Algorithm 2, eq. 13), by ``alpha * eta * K / (number of these classes)``;
        a batch of which this would cut more than 0.3 of the norm of all weights goes without. For
        sparse weights set ``average=False`` with it: an average has the weights of all iterates.
    alpha : "auto" or float, default="auto"
        Strength of the penalty, up to 1e12. "auto" is 0.3 for "l2" and 0.03 for "l1", times the
        mean of ``||x||^2`` and its root, over the number of samples; reported as ``alpha_``.
        Published: 1 and 1e-6, with ``reduction="sum"``. The threshold of the paper's eq. 13
        belongs to ``alpha * ||W||_1``, as here; its eq. 11 has half of that.
    rho : float, default=1.0
        The margin wanted.
    search : {"auto", "exact", "hnsw", "lsh"}, default="auto"
        How the rival is found: "exact" by following the lists of all classes with weights for the
        features of the sample; "hnsw" and "lsh" among ten or more classes that
        :class:`~sklearn_xc.mips.HNSWIndex` or :class:`~sklearn_xc.mips.SimpleLSHIndex` names, and
        that are scored with the weights of the moment. "auto" compares counted operations and
        reports its choice as ``search_``.
    min_recall : float, default=0.9
        Share of the best ten classes that an index should name, from 0 to 1: it searches as wide as
        this takes, and where it still falls short it says so and hands over to "exact".
    n_bits : int, default=64
        Length of the codes of "lsh", as published.
    sketch_dim : int, default=256
        Sparse X of more features than this is indexed through a random linear sketch of so many
        dimensions; the classes found are scored with all features.
    batch_size : "auto" or int, default="auto"
        Samples of a batch; "auto" is ``100 * sqrt(K)``, as published, or all samples if they are
        fewer. Batches of a pass have equal size. Between batches weights shrink, are truncated
        and averaged, and the index is brought up to date; steps are taken sample by sample.
    reduction : {"mean", "sum"}, default="mean"
        Whether a sample's step is the batch's rate divided by its number of samples, which
        minimises the stated objective, or the rate itself, as printed in Algorithms 1 and 2: that
        is the objective with ``alpha / batch_size`` and rates times `batch_size`, except for the
        radius of the ball.
    max_iter : int, default=10
        Passes over the samples. T batches of the paper are ``T * batch_size / n_samples`` passes.
    eta0 : "auto" or float, default="auto"
        The rate of batch t is ``eta0 / (1 + eta_step * t)``. "auto" makes the first step of a
        sample ``rho / mean ||x||^2`` long: with it the step reaches a margin of rho about.
    eta_step : "auto" or float, default="auto"
        "auto" is ``alpha * eta0``, for which the rate tends to ``1 / (alpha * t)`` (Theorem 2).
    fit_intercept : bool, default=True
        Whether x has one more feature, the same for all samples and as large as their root mean
        square length, whose weights give the intercepts. The paper has none.
    sampling : {"uniform", "balanced"}, default="uniform"
        Whether a pass visits every sample once, in random order, or draws as many samples, of each
        class equally often, as the authors' program does.
    average : bool, default=True
        Whether ``coef_`` is the average of the weights after each batch (Theorem 2) or the last.
    normalize_scores : bool, default=False
        Whether the rows of ``coef_`` are brought to length 1 in the end, so that scores are
        proportional to cosines, as the authors' program predicts.
    early_stopping : bool, default=False
        Whether to keep samples apart and stop when their macro-averaged F1 no longer rises.
    validation_fraction : float, default=0.1
        Share of samples kept apart; each class keeps at least one for training.
    n_iter_no_change : int, default=5
        Passes without a higher F1 after which training stops.
    class_weight : "balanced", dict {label: weight} or None, default=None
        Factor on the loss of each sample of a class. "balanced" makes it inversely proportional to
        the frequency of the class, 1 for one of average frequency.
    n_jobs : int or None, default=None
        Threads of the index and of prediction; None is 1 unless :func:`joblib.parallel_config`
        says otherwise, -1 all cores. Steps follow one another by definition and use one thread.
        The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the order of the samples, those kept apart and the index.
    verbose : int, default=0
        A line for each pass.
    warm_start : bool, default=False
        Start the next fit, on the same classes and features, from the last iterate of this one.
    calibration : {"sigmoid", "isotonic", "temperature"} or None, default=None
        How scores become probabilities, by a few numbers shared by all classes; only with it there
        is `predict_proba`. "sigmoid" is ``1 / (1 + exp(-(a * score + b)))``, "isotonic" any rising
        function, both divided by their sum over all classes; "temperature" a softmax. Predictions
        stay as they are. See the page on calibration.
    calibration_cv : int, float, splitter or iterable of splits, default=5
        Which scores the calibration is fitted on: those of copies trained without the sample. An
        int is the number of folds of :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float
        up to 0.5 the share held out once, which costs one more fit.

    Attributes
    ----------
    coef_ : csr_array of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new matrix in its place to change the model.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
    classes_ : ndarray, shape (n_classes,)
    alpha_, eta0_, eta_step_ : float
        The values used.
    search_ : {"exact", "hnsw", "lsh"}
        The search used.
    recall_ : float
        Share of the best ten classes among those that the index named for some training samples,
        when it was last built; 1.0 for "exact", and where an index has handed over to it.
    n_scored_ : float
        Mean number of classes scored exactly for a training sample.
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
    Rows should be of unit length, or of a similar scale.

    Memory: 12 bytes for each weight while it is trained (8 more with `average`; from a third of the
    classes on a feature has an array of all), up to half as much again as room to grow, and 20 in
    the end; indexes ``4 * K * sketch_dim`` bytes and their own. Nothing is K x D unless the data
    make it so.

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
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True
    >>> model.predict_topk(X[:3], k=2)[0][:, 0].tolist()
    [0, 1, 2]
    """

    PUBLISHED = PUBLISHED

    _parameter_constraints: dict = {  # noqa: RUF012
        "penalty": [StrOptions({"l2", "l1"})],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
        "rho": [Interval(Real, 1e-12, 1e12, closed="both")],
        "search": [StrOptions({"auto", "exact", "hnsw", "lsh"})],
        "min_recall": [Interval(Real, 0, 1, closed="both")],
        "n_bits": [Interval(Integral, 1, 2**16, closed="both")],
        "sketch_dim": [Interval(Integral, 4, 2**16, closed="both")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
        "reduction": [StrOptions({"mean", "sum"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eta0": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
        "eta_step": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
        "fit_intercept": ["boolean"],
        "sampling": [StrOptions({"uniform", "balanced"})],
        "average": ["boolean"],
        "normalize_scores": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        **CalibratedMixin._calibration_constraints,
    }

    def __init__(
        self,
        penalty="l2",
        *,
        alpha="auto",
        rho=1.0,
        search="auto",
        min_recall=0.9,
        n_bits=64,
        sketch_dim=256,
        batch_size="auto",
        reduction="mean",
        max_iter=10,
        eta0="auto",
        eta_step="auto",
        fit_intercept=True,
        sampling="uniform",
        average=True,
        normalize_scores=False,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        calibration=None,
        calibration_cv=5,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.rho = rho
        self.search = search
        self.min_recall = min_recall
        self.n_bits = n_bits
        self.sketch_dim = sketch_dim
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
            s_i, factors on the loss of each sample; not negative. Samples of weight zero are not
            visited.

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
        given = X, y, sample_weight
        with self._all_or_nothing():
            X, codes, sample_weight, start = self._validate_warm_start(X, y, sample_weight)
            given = X, y, sample_weight
            saved = None
            if start is not None:  # the iterate; rates and average begin anew
                arrays, (scale, _, square), _ = start
                nothing = np.empty(0, dtype=np.float32)
                saved = (*arrays[:3], nothing), (scale, 0.0, square), 0
            sample_weight = self._with_class_weight(codes, sample_weight)
            rng = check_random_state(self.random_state)
            held_out = np.zeros(len(codes), dtype=bool)
            if self.early_stopping:
                held_out = held_out_samples(codes, self.validation_fraction, rng)
            progress = self._start_progress(
                self.max_iter, *given, name="pass",
                set_model=lambda twin, weights, bias: twin._set_model(weights.save(), bias),
            )  # fmt: skip
            curve, scores = self._train(
                X, codes, sample_weight, held_out, saved, 0, self.max_iter, rng.randint(2**31),
                progress,
            )  # fmt: skip
            self.n_iter_ = len(curve)
            self.loss_curve_ = np.array(curve)
            vars(self).pop("validation_scores_", None)
            if self.early_stopping:
                self.validation_scores_ = np.array(scores)
            if held_out.any():
                self._count_held_out(as_rows(X[held_out]), codes[held_out])
            self._calibrate(*given)
            progress.finish()
        return self

    def _partial_fit(self, X, codes, sample_weight, first):
        self._refuse_calibration()
        saved = None if first else self._saved
        n_batches, n_before = (0, 0) if first else (self._n_batches, self.n_iter_)
        sample_weight = self._with_class_weight(codes, sample_weight)
        seed = np.random.default_rng(
            [check_random_state(self.random_state).randint(2**31), n_batches]
        ).integers(2**31)
        nobody = np.zeros(len(codes), dtype=bool)
        self._train(X, codes, sample_weight, nobody, saved, n_batches, 1, int(seed))
        self.n_iter_ = n_before + 1

    def _start_weights(self):
        return self._saved

    def _with_class_weight(self, codes, sample_weight):
        if self.class_weight is None:
            return np.empty(0, np.float32) if sample_weight is None else sample_weight
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        counts = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        factors = weights_of_labels(self.class_weight, self.classes_, counts)
        return (weight * factors[codes]).astype(np.float32)

    def _train(
        self, X, codes, sample_weight, held_out, saved, n_batches, n_passes, seed, progress=SILENT
    ):
        """Make passes from the saved weights on; the mean loss of each, and the F1 held out."""
        trained = np.flatnonzero(~held_out)
        kept_apart = X[held_out], codes[held_out]
        if held_out.any():
            X, codes = X[trained], codes[trained]
            sample_weight = sample_weight[trained] if sample_weight.size else sample_weight
        rows = as_rows(X)
        require_memory(
            BYTES_OF_A_FEATURE * X.shape[1] + 4 * len(self.classes_),
            f"fit: empty lists of the weights of {X.shape[1]} features",
            "use fewer features (hashing, or a feature selection step before)",
        )
        weights = Weights(len(self.classes_), X.shape[1], self.average, saved)
        settings = self._settings(rows, sample_weight, n_batches == 0)
        self.search_ = choose_search(self.search, rows, codes, weights.shape, self.sketch_dim)
        search = make_search(
            self.search_, rows, settings.bias, weights,
            min_recall=self.min_recall, n_bits=self.n_bits, sketch_dim=self.sketch_dim,
            n_jobs=self.n_jobs, seed=seed,
        )  # fmt: skip
        steps = Steps(
            rows, codes, sample_weight, weights, settings, seed, search,
            np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        curve, scores = [], []
        for number in range(n_passes):
            progress.begin()
            try:
                with single_threaded_blas():  # once, not with every batch the index is asked for
                    loss, n = steps.epoch(number, n_batches)
            except FloatingPointError as error:
                raise ValueError(
                    f"{error}: use a smaller eta0 (here {settings.eta0:g}), or scale the features"
                ) from error
            n_batches += n
            curve.append(loss)
            if held_out.any():
                scores.append(self._held_out_score(weights, settings.bias, *kept_apart))
            if self.verbose:
                reached = f", held-out macro-F1 {scores[-1]:.4f}" if scores else ""
                print(f"pass {number + 1}: mean loss {loss:.5g}{reached}")
            worse = len(scores) - 1 - int(np.argmax(scores or [0]))
            if progress.end(weights, settings.bias) or worse >= self.n_iter_no_change:
                break
        self._saved, self._n_batches = weights.save(), n_batches
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        self.recall_ = search.recall_
        del weights, steps, search  # their memory is the fit's largest part
        self._set_model(self._saved, settings.bias)
        return curve, scores

    def _set_model(self, saved, bias):
        """Predict with these weights from now on."""
        coef, intercept = self._finished(saved, bias)
        if not (np.isfinite(coef.data).all() and np.isfinite(intercept).all()):
            raise ValueError("the weights left the range of float32: scale the features")
        if len(self.classes_) == 2:
            coef, intercept = sparse.csr_array(coef[1:] - coef[:1]), intercept[1:] - intercept[:1]
        self._set_linear_model(coef, intercept)

    def _settings(self, rows, sample_weight, first):
        """The settings of the steps; "auto" from the data of the first call."""
        n_samples, n_classes = rows.shape[0], len(self.classes_)
        weight = sample_weight if sample_weight.size else None
        square = float(np.average(squared_norms(rows), weights=weight)) or 1.0
        batch_size = 100 * np.sqrt(n_classes) if self.batch_size == "auto" else self.batch_size
        batch_size = min(int(batch_size), n_samples)
        if first:
            self.alpha_, self.eta0_, self.eta_step_ = self.alpha, self.eta0, self.eta_step
            self._bias = CONSTANT * np.sqrt(square) if self.fit_intercept else 0.0
            if self.alpha == "auto":
                size = square if self.penalty == "l2" else np.sqrt(square)
                self.alpha_ = AUTO_ALPHA[self.penalty] * size / n_samples
            if self.eta0 == "auto":
                self.eta0_ = self.rho**2 / (square + self._bias**2)
                if self.reduction == "mean":
                    self.eta0_ *= batch_size
            if self.eta_step == "auto":
                self.eta_step_ = self.alpha_ * self.eta0_
        return Settings(
            penalty=self.penalty,
            alpha=float(self.alpha_),
            rho=float(self.rho),
            batch_size=batch_size,
            reduction=self.reduction,
            eta0=float(self.eta0_),
            eta_step=float(self.eta_step_),
            sampling=self.sampling,
            average=bool(self.average),
            bias=float(self._bias),
        )

    def _finished(self, saved, bias):
        """The weights and intercepts to predict with, of all classes."""
        coef, constant = model_of(saved, len(self.classes_), self.average)
        if self.normalize_scores:
            lengths = np.sqrt(coef.multiply(coef).sum(axis=1) + constant.astype(np.float64) ** 2)
            lengths[lengths == 0] = 1
            coef.data /= np.repeat(lengths, np.diff(coef.indptr)).astype(np.float32)
            constant = constant / lengths
        return coef, (bias * constant).astype(np.float32)

    def _held_out_score(self, weights, bias, X, codes):
        index = InvertedIndex(*self._finished(weights.save(), bias))
        found = index.topk(as_rows(X), 1, self._threads())[0].ravel()
        return f1_score(codes, found, average="macro", zero_division=0)
