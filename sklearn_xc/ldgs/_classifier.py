"""LDGS: large output layers learned by searching chunks of their columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state

from ..base._classifier import BaseXCClassifier
from ..base._used_columns import KeepsUsedColumns, moved
from ..base._validation import validate_warm_start
from ..softmax._probabilities import SoftmaxProbabilities, topk_probabilities
from ..topk._feature_major import feature_major
from ..topk._restriction import Restriction
from ..training._epochs import warn_if_still_rising
from ..utils._available import available_if
from ..utils._callbacks import Progress, with_callbacks
from ..utils._column_map import ColumnMap
from ..utils._matrix import narrow_indices
from ..utils._records import savable
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._auto import HIDDEN_DIM, LDGSCall, passes
from ._data import held_out_of, positives_of, require_graded_loss
from ._fitted import check_loaded
from ._index_search import SearchesLabels
from ._layers import Start, require_weights
from ._parameters import CONSTRAINTS, PUBLISHED, SEARCH_PARAMS
from ._partial_fit import LDGSInParts
from ._prediction import embedded, has_probabilities
from ._scores import EmbeddedScores
from ._train import LDGSOutcome, LDGSProblem, drawn_table, first_state, fit_ldgs, without_far_rows


@savable
class LDGSClassifier(
    LDGSInParts,
    SearchesLabels,
    KeepsUsedColumns,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseXCClassifier,
):
    """Large output layers whose gradient touches only the classes that matter (LDGS).

    Scores are ``z = W phi(x) + b``, with phi the features as they are or a linear layer learned
    with W; what is minimised is the mean of a loss ``L(z, P)``, with P the labels of a sample, plus
    ``alpha / 2 (||W||^2 + ||phi||^2)``. Without arguments what the data ask for is chosen: whether
    there is a layer, which gradient, rate and ridge, and how many passes.

    Few classes carry the gradient of these losses. Where there are many, they are searched for: the
    columns of W are cut into chunks, an index for inner products holds each, and what they name for
    a sample is scored exactly (or by the message passing of [1]_).

    Multiclass and multilabel.

    Parameters
    ----------
    loss : {"cross_entropy", "margin", "triplet"}, default="cross_entropy"
        "cross_entropy": the sum over the labels of a sample of ``log sum_j exp(z_j) - z_k`` (eq. 2;
        with squared distances the NCA loss with proxies, eq. 6). "margin": the smoothed
        ``max(0, max z_j - z_k + 1)`` over negatives j and labels k (eqs. 3, 10 and 11). "triplet":
        the sum of ``max(0, z_j - z_k + 1)`` over all pairs (eq. 7). Samples without labels have no
        loss.
    similarity : {"linear", "sqeuclidean"}, default="linear"
        Whether scores are inner products or minus the squared distances ``||phi(x) - w_k||^2`` to
        label embeddings, without intercepts.
    gradient : {"auto", "decomposed", "mips", "sampled", "exact"}, default="auto"
        The classes that a step scores in addition to the labels of a sample: those that the indexes
        of `n_chunks` chunks name; those that one index of all columns names (Algorithm 1);
        uniformly drawn ones; all, by matrix products. "auto": "exact" for sparse samples without a
        layer, and elsewhere up to the some ten thousand classes where it costs less by count
        (50,000 with one label a sample, see `solver`); then "decomposed".
    n_chunks : int, default=4
        Chunks of "decomposed"; published: 8 for 128 columns, 4 for 100. At most one a column.
    n_message_passes : int, default=0
        T of Algorithm 2, in which each chunk knows the scores of its own classes only and learns
        the others' from T messages; published: 1. 0 scores all retrieved classes exactly.
    query_size : "auto", int or float, default="auto"
        Classes that an index retrieves, or that are drawn ("sampled"); a float below 1 is a share
        of all classes. "auto": the indexes of all chunks together retrieve ``4 sqrt(n_classes)``, a
        single one, or the draw, for ``sqrt(n_classes)``. Published: 0.01, and at least the root.
        With a few hundred classes the chunks together come to a good part of them: "exact" is
        faster there.
    query_threshold : float or None, default=None
        tau_1 of Algorithms 1 and 2: of the `query_size` best and as many lowest classes that an
        index names, those count whose score in its chunk is beyond it in size. With
        ``unretrieved="zero"``, where no query is cut off by its size, scores are off by at most
        this for each chunk. None, as in the experiments of [1]_, takes the best whatever they
        score, which costs half as much.
    index : {"spherical", "hnsw", "exact"}, default="spherical"
        "spherical", the published one: lists of classes by spherical k-means, as those of
        :class:`~sklearn_xc.mips.SphericalIndex`, of all chunks in one; or another.
    search_params : dict or None, default=None
        What "spherical" goes by; None, or an entry left out, is its default: "n_centroids", None,
        clusters, of which None takes the root of the number of classes (published: 100), and
        "n_probes", 4, clusters that a query reads.
    tau : float, default=1e-3
        A gradient in a score that is smaller does not count: it is tau_2 of Algorithm 2, and
        cross-entropy takes no step for negatives whose gradients together are smaller. Unless drawn
        classes stand for the rest (`unretrieved`), cross-entropy also retrieves twice as many
        classes, up to four times `query_size`, as long as one that was not retrieved could have a
        larger gradient: at most e to the sum of the lowest scores retrieved in each chunk, over the
        part of the partition function that is known (section 4 of [1]_). Published: 0 or 1e-3.
    unretrieved : {"sampled", "exclude", "zero"}, default="sampled"
        What takes the place of classes that were not retrieved. "sampled": `query_size` of them,
        uniformly drawn for each sample; in cross-entropy they have importance weights, so that the
        partition function is estimated without bias, for the other losses they are further
        negatives. "exclude": nothing. "zero": as many scores of 0, as in the printed Algorithm 1.
    mu : float, default=1.0
        Smoothing of "margin"; published: 1 for one label a sample, 5 for several.
    hidden_dim : "auto", int or None, default="auto"
        Width of the linear layer; None takes the features as they are. With sparse X a step touches
        the features of its samples only, with a layer, or without one by the exact gradient of
        linear scores; the other gradients without a layer make the samples of a mini-batch dense.
        "auto": 100 for sparse samples where features by classes are more than 2**27 (2**30 with one
        label a sample, see `solver`), or scores are distances; else None, which needs no layer to
        get through.
    fit_intercept : bool, default=True
        Whether classes have intercepts. The paper has none.
    warmup : "auto" or float, default=0.1
        Passes with drawn classes before the search begins: gradients are flat at first. "auto"
        ends when the gradient over the negatives of a sample is as concentrated as if half of
        those drawn had all of it, after one pass at the latest.
    batch_size : int, default=32
        Samples of a step. Published: 10.
    solver : {"auto", "adagrad", "sgd"}, default="auto"
        Whether the rate of each row of weights (of a class, of a feature) is divided by the root of
        the sum of its squared gradients so far, or is the same for all, as published. "auto" is
        "adagrad", but for `fit` of one label a sample and 1000 to 50,000 classes without a layer
        (up to 2**30 weights) with everything else that "auto" decides: steps are then those of the
        exact softmax, of one rate for samples of length 1, which came within 2 % of its log-loss at
        the best rate where "adagrad" was up to 80 % above.
    learning_rate : "auto" or float, default="auto"
        The first rate. Steps are on the mean loss of a mini-batch. A number is for X as it is.
        "auto" measures X first, so that its scale does not matter: steps are taken on samples of
        which a typical one is of unit length (and on dense samples without a layer, with linear
        scores, on columns of mean zero and the same deviation), and the weights are brought back
        exactly. The rates of "adagrad" are then 0.5 with a layer, 2 on sparse samples and 10 on
        dense ones without; those of "sgd" 1 and 4; that of exact steps on many classes (see
        `solver`) is 10 for mini-batches of 16 and 5 for 32. For squared distances X is taken as it
        is, and the rate of "adagrad" is half the length of a sample. A sample of more than ten
        typical lengths is taken as a shorter one, of at least three, so that corrupt samples do not
        decide. X of which more than nine entries in ten are zero counts as sparse, whatever holds
        it.
    decay : {"linear", "inverse", "inverse_steps"} or float, default="linear"
        "linear" brings the rate to zero over `max_iter` passes, "inverse" makes it
        ``learning_rate / (1 + t)`` after t passes, "inverse_steps" after t mini-batches, as
        printed; a number is multiplied with it after each pass.
    max_iter : "auto" or int, default="auto"
        Passes over the samples. "auto": 10, and at least as many as make 1000 steps; on dense
        samples without a layer up to 5000 steps where there are fewer weights than samples. There
        is no `tol`: rates fall to zero over just these passes, which are the schedule and part of
        the regularisation; to stop early, see `early_stopping`.
    alpha : "auto" or float, default="auto"
        Strength of the ridge on both layers, not on intercepts. "auto": none with a layer, or with
        a number for `learning_rate`; else 0.04 over the number of samples (0.05 with exact steps on
        many classes), on weights for X in the units of `learning_rate`. Of cross-entropy on one
        class a sample, `fit` takes from a thousandth of that to ten times it, by short fits of some
        of the classes, as :class:`ImplicitSoftmaxRegressor` does. Rows of weights that a step does
        not touch bear the ridge later, for all steps at once.
    early_stopping : bool, default=False
        Whether to keep samples apart and stop when their precision@1 no longer rises.
    validation_fraction : float, default=0.1
        Share of samples kept apart; of single classes each keeps at least one for training.
    n_iter_no_change : int, default=5
        Passes without a higher precision after which training stops. A ConvergenceWarning tells if
        `max_iter` passes ended before.
    class_weight : {"balanced", "propensity"}, dict {label: weight} or None, default=None
        Factors on the weights of samples of one class each; see :class:`PPDSparseClassifier`.
    n_jobs : int or None, default=None
        Threads; None is 1 unless :func:`joblib.parallel_config` says otherwise, -1 all cores. The
        samples of a mini-batch, and the rows of weights, are shared among them, each row of
        weights to one: the result does not depend on their number.
    random_state : int, RandomState instance or None, default=None
        For the first layer's start, the order of the samples, the classes drawn and the indexes.
    verbose : int, default=0
        A line for each pass: how many there are, the mean loss, the time taken and the time left.
    warm_start : bool, default=False
        Start the next fit, on the same classes and features, from the weights of the last.
    label_names : array-like of shape (n_classes,) or None, default=None
        What to call the columns of an indicator y; see :class:`PPDSparseClassifier`.
    graded : bool, default=False
        Whether the values of an indicator y, which then are from 1e-6 to 1 (or 0 where a label is
        not there), are factors on the terms of these labels in "cross_entropy" and "triplet", which
        are sums over the labels of a sample; "margin" is the largest of all pairs, and takes none.
        A label of a low grade counts less, but is no negative. In all else (support,
        `early_stopping`, scores) it is a label like others, and `predict` answers with 0 and 1.
    label_feature_weight : float, default=3.0
        The sample weight of each text in `label_features`, from 0, which leaves texts out, to 1e6.
        3 was ahead of 1 on held-out samples of three data sets, by 0.1 to 1.6 points of nDCG@5.

    Attributes
    ----------
    coef_ : ndarray of float32, shape (n_classes, dim) or (1, dim) for two classes
        Label embeddings; ``dim`` is `hidden_dim`, or the number of features. Of squared distances
        there are always n_classes. Read-only; put a new array in its place to change the model.
        Without a layer a csr_array where X is sparse and fewer than a sixteenth of 2**16 features
        or more have entries: weights are then kept, in files too, of these features alone.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
        With several labels a sample a constant is subtracted: see Notes.
    input_embeddings_ : ndarray of float32, shape (n_features, hidden_dim), or None
        The linear layer. Read-only. A csr_array where it is kept of few features of very many.
    classes_ : ndarray, shape (n_classes,)
    hidden_dim_ : int or None
        Width of the layer, if there is one.
    gradient_ : str
        The gradient of the steps.
    learning_rate_ : float
        The first rate of the last call.
    alpha_ : float
        The ridge of the last call; with ``alpha="auto"`` on weights in the units of "auto" rates.
    n_scored_ : float
        Mean number of classes scored for a training sample in the last `fit` or `partial_fit`.
    search_recall_ : float
        Only after ``predict_topk(X, search="index")``: the recall@10 that its index measured.
    loss_curve_ : ndarray of float64, shape (n_passes,)
        Mean loss of the samples of each pass, each before its step, over the classes scored.
    validation_scores_ : ndarray of float64, shape (n_passes,)
        Precision@1 of the samples kept apart after each pass; only with `early_stopping`.
    n_iter_ : int
        Passes made.
    n_features_in_ : int
        Number of features of the X of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    PPDSparseClassifier : One-vs-rest with sparse weights of all features; often more precise.
    ImplicitSoftmaxRegressor : Softmax regression without a hidden layer.

    Notes
    -----
    With a number for `learning_rate`, samples should be of unit length, or of a similar scale.

    None of the losses changes when a constant is added to all scores of a sample. So that
    `predict` can tell labels from others by the sign, with several labels a sample the constant is
    chosen that gives the highest micro-averaged F1 on samples kept apart, or on 2000 of those
    trained on.

    Memory: while training ``4 (n_classes + n_features) (hidden_dim + n_chunks)`` bytes of weights,
    one number more a class and a feature for "adagrad", as much as the classes' part again for the
    indexes (or the gradient, with "exact" cross-entropy), about a quarter of it with "spherical",
    another quarter for "margin" and "triplet" where there is room, and what a mini-batch scores;
    see the page "How LDGSClassifier works".

    ``LDGSClassifier.PUBLISHED`` holds the settings of the paper's systems "softmax",
    "sampled_softmax", "margin", "mips" and "decomposed", each with "_multiclass" or "_multilabel"
    behind, all but the rate, which there was the best of 1 (taken here), 0.1 and 0.01, and the
    number of passes: ``LDGSClassifier(**LDGSClassifier.PUBLISHED["decomposed_multiclass"])``.

    The signs of the paper's eqs. 3 and 7 are wrong; these are meant.

    References
    ----------
    .. [1] I. E. H. Yen, S. Kale, F. X. Yu, D. Holtmann-Rice, S. Kumar and P. Ravikumar. "Loss
       decomposition for fast learning in large output spaces". ICML, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from sklearn_xc import LDGSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> model = LDGSClassifier(hidden_dim=16, random_state=0).fit(X[:1500], y[:1500])
    >>> round(model.score(X[1500:], y[1500:]), 1)
    0.9
    >>> model.transform(X[:3]).shape, model.coef_.shape
    ((3, 16), (10, 16))
    """

    PUBLISHED = PUBLISHED
    _parameter_constraints = CONSTRAINTS
    _search_params = SEARCH_PARAMS
    _weighs_samples_by_class = True

    def __init__(
        self, loss: str = "cross_entropy", *, similarity: str = "linear", gradient: str = "auto",
        n_chunks: int = 4, n_message_passes: int = 0, query_size: int | float | str = "auto",
        query_threshold: float | None = None, index: str = "spherical",
        search_params: dict | None = None, tau: float = 1e-3, unretrieved: str = "sampled",
        mu: float = 1.0, hidden_dim: int | str | None = "auto", fit_intercept: bool = True,
        warmup: float | str = 0.1, batch_size: int = 32, solver: str = "auto",
        learning_rate: float | str = "auto", decay: float | str = "linear",
        max_iter: int | str = "auto", alpha: float | str = "auto", early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        class_weight: dict | str | None = None, n_jobs: int | None = None,
        random_state: RandomState = None, verbose: int = 0, warm_start: bool = False,
        label_names: ArrayLike | None = None, graded: bool = False,
        label_feature_weight: float = 3.0,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.similarity = similarity
        self.gradient = gradient
        self.n_chunks = n_chunks
        self.n_message_passes = n_message_passes
        self.query_size = query_size
        self.query_threshold = query_threshold
        self.index = index
        self.search_params = search_params
        self.tau = tau
        self.unretrieved = unretrieved
        self.mu = mu
        self.hidden_dim = hidden_dim
        self.fit_intercept = fit_intercept
        self.warmup = warmup
        self.batch_size = batch_size
        self.solver = solver
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.alpha = alpha
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.label_names = label_names
        self.graded = graded
        self.label_feature_weight = label_feature_weight

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    # ------------------------------------------------------------------------------------- fit

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | Sequence[MatrixLike] | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit both layers.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Finite numbers; computed with in float32. CSR is used as it is.
        y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
            Labels of any dtype that sorts, of at least two classes, or an indicator of 0 and 1
            with at least two columns.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on the loss of each sample; not negative. Samples of weight zero are not
            visited.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels in the columns of X, one row a label, in the order of the columns
            of an indicator, of `classes` where that is given, and otherwise of the sorted classes
            in y; a row of zeros is none. Several texts a label are several matrices. Each is
            trained on like a sample of the one label, of the weight `label_feature_weight`, so that
            labels without samples are found too; it is none where samples are counted, held out, or
            choose the threshold of `predict`.
        classes : array-like of shape (n_classes,), default=None
            With y of one class a sample: all classes, also those that no sample has.

        Returns
        -------
        self : LDGSClassifier

        Raises
        ------
        ValueError
            If a parameter, X, y or sample_weight is not as described, or a step leaves the range
            of float32.
        MemoryError
            If weights or the scores of a mini-batch would take more than half of the memory
            available.

        Notes
        -----
        Ctrl-C stops after the mini-batch at hand. Whatever ends the fit early leaves the estimator
        as it was.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            require_graded_loss(self)
            rows, Y, weight, texts, start = validate_warm_start(
                self, X, y, sample_weight, label_features, classes
            )
            kind = self._encoding.kind
            # Texts follow the samples, so that numbers of samples stay.
            if texts.n:
                rows, Y, weight = texts.join(rows, Y, weight, kind == "binary")
            # `given` has all columns: what "auto" measures of X must not depend on which are kept.
            given, before = rows, self._columns
            columns = self._keep_columns(rows.features, rows.shape[1], start is None, rows.dense)
            rows = rows if columns is None else rows.as_sparse().narrowed(columns)
            start = self._moved_start(start, before)
            single, n_classes = kind != "multilabel", len(self.classes_)
            plan, state = first_state(self, given, n_classes, single, rows.shape[1])
            rows = without_far_rows(state, rows, weight)
            rng = check_random_state(self.random_state)
            positives = positives_of(Y, self._encoding)
            held_out = held_out_of(self, positives, weight, rng, texts.n)
            problem = LDGSProblem.of(self, rows, positives, weight, held_out, texts.n)
            n_passes = passes(self, plan.form, len(problem.visited()), n_classes * rows.shape[1])
            progress.start(
                n_passes, name="pass", set_model=lambda twin, model: twin._set_model(*model())
            )
            call = LDGSCall(self, plan, n_passes, rng.randint(2**31), self._threads())
            outcome = fit_ldgs(problem, call, state, start, 0, progress)
            self._keep(outcome)
            self._waiting = None
            if problem.held_out.any() and not problem.multilabel:
                rows = self._scores_of().inputs(given.take(problem.held_out), self._threads())
                self._count_held_out(rows, problem.positives.ids[problem.held_out])
            progress.finish()
        warn_if_still_rising(self, outcome.passes, "precision")
        return self

    def _keep(self, outcome: LDGSOutcome, lasting: bool = True, reported: bool = False) -> None:
        """Predict with what training has come to.

        `lasting` says that the next call goes on from these steps, `reported` that `loss_curve_`
        and `n_scored_` are of other steps of this call already.
        """
        plan, state = outcome.plan, outcome.state
        # The next call takes these steps back: what belongs to lasting steps stays, and only what
        # is known of samples and units is new.
        if not lasting:
            before = self._state
            state = replace(
                state,
                squares=before.squares,
                n_visited=before.n_visited,
                searching=before.searching,
                n_threshold=before.n_threshold,
            )
        self._state = state
        self.hidden_dim_, self.gradient_ = plan.hidden_dim, plan.gradient
        self.learning_rate_, self.alpha_ = plan.learning_rate, outcome.alpha
        passes, self.n_iter_ = outcome.passes, len(outcome.passes.losses)
        if not reported:
            self.loss_curve_, self.n_scored_ = np.array(passes.losses), outcome.n_scored
        vars(self).pop("validation_scores_", None)
        if passes.scores:
            self.validation_scores_ = np.array(passes.scores)
        self._set_model(*outcome.model)

    def _set_model(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        table: np.ndarray | None,
        threshold: np.float32,
    ) -> None:
        """Predict with these label embeddings, intercepts and table of features from now on."""
        # Training goes on without the threshold: a constant in all label embeddings would hide
        # their directions from an index.
        self._squared = self.similarity == "sqeuclidean"  # of these weights, whatever is set later
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
        # Two classes have one score, that of the second less that of the first.
        if self._encoding.kind == "binary" and self.similarity == "linear":
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        elif self._is_to_turn(coef, table):
            coef = feature_major(coef)[:, : len(coef)].T
        set_weights = self._set_kept_model if table is None else self._set_linear_model
        set_weights(coef, intercept.astype(np.float32))

    def _is_to_turn(self, coef: np.ndarray, table: np.ndarray | None) -> bool:
        """Return whether weights are to lie feature by feature, and do not."""
        kept = table is None and self._columns is not None  # which lie so in their index
        return self.similarity == "linear" and not kept and coef.strides[0] != coef.itemsize

    def _start_weights(self) -> Start:
        """Return weights and sums of squared gradients to go on from."""
        if self._squared != (self.similarity == "sqeuclidean"):
            raise ValueError(
                f"similarity={self.similarity!r} is not that of the fit before, on whose weights "
                "training cannot go on with it"
            )
        W, state = self._kept_embeddings(), self._state
        b = np.asarray(self.intercept_, dtype=np.float32) + np.float32(state.threshold)
        # Two rows with this difference score alike; these have no mean, where the ridge is least.
        if len(W) == 1:  # two classes, one score
            W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
        squares = tuple(part.copy() for part in state.squares)
        return Start(W, b, self._kept_table(), squares)

    @property
    def _n_features_out(self) -> int:
        """Width of what `transform` returns."""
        table = self._kept_table()
        return self.n_features_in_ if table is None else table.shape[1]

    # ----------------------------------------------------------------- of few columns of very many

    @property
    def input_embeddings_(self) -> np.ndarray | sparse.csr_array | None:
        """The linear layer; None without one."""
        if "input_embeddings_" not in vars(self):
            raise AttributeError("input_embeddings_")
        table = vars(self)["input_embeddings_"]
        if table is None or self._columns is None:
            return table
        n_kept, dim = table.shape
        starts = np.zeros(self.n_features_in_ + 1, dtype=np.int64)
        # A CSR with `dim` entries in the rows of kept columns and none in the others.
        starts[self._columns + 1] = dim
        parts = table.ravel(), np.tile(np.arange(dim, dtype=np.int32), n_kept), np.cumsum(starts)
        return narrow_indices(sparse.csr_array(parts, (self.n_features_in_, dim)))

    @input_embeddings_.setter
    def input_embeddings_(self, table: np.ndarray | None) -> None:
        if self._columns is not None and table is not None and len(table) != self._n_kept:
            table = np.ascontiguousarray(table[self._columns])
        vars(self)["input_embeddings_"] = table

    def _kept_table(self) -> np.ndarray | None:
        """Return the layer of the columns that are kept, ndarray (n_kept, dim); None without."""
        return vars(self)["input_embeddings_"]

    def _columns_by_hand(self) -> np.ndarray:
        """Return columns that `coef_` has weights of; none where a layer is between."""
        if self._kept_table() is None:
            return super()._columns_by_hand()
        return self._columns[:0]

    def _may_keep_few(self) -> bool:
        """Return whether weights of columns without entries are zero, and need not be kept."""
        # distances to samples themselves, which other columns lengthen, are of all columns
        return self.similarity == "linear" or self.hidden_dim is not None

    def _move_columns(self, before: np.ndarray) -> None:
        """Bring squares and the layer of the columns `before` to those of now."""
        self._state, table = self._state.in_columns(before, self._columns), self._kept_table()
        if table is None:
            return
        seed = check_random_state(self.random_state).randint(2**31)
        # New columns start as those of a fit do; the others keep their embeddings.
        drawn = drawn_table(seed, self._n_kept, table.shape[1], self._state.units)
        drawn[np.searchsorted(self._columns, before)] = table  # type: ignore[arg-type]
        self.input_embeddings_ = drawn

    def _moved_start(self, start: Start | None, before: np.ndarray | None) -> Start | None:
        """Return weights to start from, of the columns `before`, by those that are kept now."""
        if start is None or before is None:
            return start
        squares = tuple(part.copy() for part in self._state.squares)
        if start.table is not None:
            return start._replace(table=self._kept_table(), squares=squares)
        return start._replace(
            coef=moved(start.coef, before, self._columns, axis=1), squares=squares
        )

    # ------------------------------------------------------------------------------- prediction

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return embeddings of samples: their product with `input_embeddings_`.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        E : ndarray of float32, shape (n_samples, hidden_dim)
            Where there is no hidden layer, X itself, dense.
        """
        rows = self._feature_rows(X)
        table = self._kept_table()
        E = embedded(rows, table, self._threads(), None if table is None else self._column_map)
        # Without a layer the samples are their own embeddings: callers must not change X by them.
        return E.copy() if np.may_share_memory(E, rows.data) else E

    def _topk_probabilities(
        self, rows: Rows, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best classes and their probabilities; ValueError where there are none."""
        try:
            has_probabilities(self)
        except AttributeError as error:
            raise ValueError(f"scores='proba': {error}") from error
        return topk_probabilities(self, rows, k, only)

    predict_proba = available_if(has_probabilities)(SoftmaxProbabilities.predict_proba)
    predict_log_proba = available_if(has_probabilities)(SoftmaxProbabilities.predict_log_proba)

    _shown_otherwise = ("input_embeddings_",)
    _made_anew = (*BaseXCClassifier._made_anew, "_search")
    _not_saved = (*BaseXCClassifier._not_saved, "_search")

    def _prepare_index(self) -> None:
        """Prepare exact predictions, and forget the index of label embeddings of before."""
        super()._prepare_index()
        vars(self).pop("_search", None)

    def _scores_of(self, state: dict[str, Any] | None = None) -> EmbeddedScores:
        """Return how scores come from samples, of this model or of the attributes in `state`."""
        state = vars(self) if state is None else state
        binary = state["_encoding"].kind == "binary"
        table, squared = state["input_embeddings_"], state["_squared"]
        columns = state.get("_columns")
        if columns is not None:
            columns = state.get("_column_map") or ColumnMap(columns, state["n_features_in_"])
        return EmbeddedScores(state["n_features_in_"], binary, table, squared, columns)

    def _require_size(self, n_classes: int, n_features: int) -> None:
        """Refuse weights that cannot fit into memory."""
        super()._require_size(n_classes, n_features)
        width = self.hidden_dim
        if isinstance(width, str):  # "auto": whichever takes less
            smaller = HIDDEN_DIM * (n_classes + n_features) < n_classes * n_features
            width = HIDDEN_DIM if smaller else None
        require_weights(width, n_classes, n_features, width or n_features)

    def _check_loaded(self, mapped: bool) -> None:
        """Raise ValueError if attributes that were loaded do not fit together."""
        super()._check_loaded(mapped)
        check_loaded(self)
