"""PPDSparse: one-vs-rest linear classifiers that are sparse in primal and dual."""

import os
from collections.abc import Hashable
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import BaseXCClassifier
from ..base._label_counts import extended_support
from ..base._label_texts import texts_of_new
from ..base._labels import pattern_of
from ..base._used_columns import n_columns_to_pay
from ..base._validation import grades_of, validate_more, validate_with_texts
from ..calibration._mixin import CalibratedMixin
from ..topk._weight_store import WeightStore, store_of
from ..utils._callbacks import FIT_CALLER, Progress, with_callbacks
from ..utils._csr import LARGEST_INDEX
from ..utils._given_labels import label_names, plain_labels, require_names
from ..utils._records import savable
from ..utils._scratch import Scratch
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._add_labels import WeightColumns, columns_of, encode_added, join_columns
from ._assembly import grown_duals
from ._checkpoint import Checkpoint
from ._comparison import compare_classes, require_comparable
from ._fitted import check_loaded, chosen_penalties, warn_if_empty, warn_if_late
from ._parameters import CONSTRAINTS, LOSSES, PUBLISHED
from ._penalty_pilot import choose_penalties
from ._problem import OneVsRestProblem, Penalties
from ._solver import fit_classes, require_workspace


@savable
class PPDSparseClassifier(CalibratedMixin, BaseXCClassifier):
    """Sparse one-vs-rest linear classifiers for very many classes (PPDSparse).

    For each class k, with labels y_i in {-1, +1}, minimises::

        l1 * sum_j |w_j| + l2 / 2 * (||w||^2 + b^2) + sum_i C_i * loss(y_i, <w, x_i> + b)

    By default the penalties suit the data: `fit` holds out some samples, fits a few classes on the
    others, and takes the penalties that rank the labels of the held-out samples best.

    A greedy active-set method works in the dual. Most samples never become support vectors of a
    class and most features never get a weight, and the solver looks at little else: it keeps a
    small active set of samples, runs randomised dual coordinate descent on it, and now and then
    searches all samples for those that violate the margin: for sixteen classes at once, or, where a
    class is small, through the few columns of X that can hold a violator. Classes are independent,
    so blocks of them run in parallel, in threads, processes or on a cluster.

    Multiclass (1-D y) and multilabel (an indicator, dense or sparse).

    Parameters
    ----------
    l1 : float, "auto", "rows" or a multiple of these such as "0.3*rows", default="auto"
        Strength of the L1 penalty, from 0 to 1e12; the intercept is not part of it. Larger values
        give fewer weights. "rows" is a twentieth of the length of a sample, at most half the size
        of an entry, ``sum x_ij^2 / sum |x_ij|``, which larger penalties would keep at zero. "auto"
        is 0.02 to 4 times "rows", whichever ranks the labels of held-out samples best.
    l2 : float, "auto", "rows" or a multiple of these such as "0.3*rows", default="auto"
        Strength of the L2 penalty, from 1e-12 to 1e12; the intercept is part of it. "rows" is 30
        times the root mean square of ``<x_i, x_j>`` over pairs of samples less their mean, at most
        1.5 times the mean of ``||x||^2``: about 1 for TF-IDF samples; less where samples differ in
        fewer than 50 directions, such as those of a table of few columns. "auto" is 0.03 to 10
        times "rows", by the labels of held-out samples: little for labels whose samples are nearly
        alike, much for labels that are mostly chance. With fewer than 100 samples to hold out
        "auto" is "rows", or 0.2 and 0.3 times "rows" if most labels have one sample. A text, in
        place of a number, also brings samples to unit length before the fit and the weights back
        after it (so that the intercept is penalised like the weight of a feature as long as the
        samples); dense samples are centred where the mean sample is most of them, and where l1 is a
        text too, dense columns measured in very different units (deviations 30 times the median)
        are brought to one size. No sample counts as longer than ten times the median sample: a
        corrupt one decides nothing. Multiplying X by a number changes no prediction. How the
        defaults were chosen: see the page "Penalties that the data choose".
    loss : {"squared_hinge", "smoothed_hinge", "hinge", "crammer_singer"}, default="squared_hinge"
        ``0.5 * m^2`` or ``m``, where ``m = max(0, 1 - y z)`` is what a sample lacks of the margin.
        The paper found the squared hinge better (section 5.2). "smoothed_hinge" (the Huberised
        hinge, [2]_) is ``0.5 * m^2`` up to ``m = 1`` and ``m - 0.5`` beyond: a sample far on the
        wrong side weighs no more than with the hinge. It ranked labels no better than the squared
        hinge on three data sets, nor with a fifth of the labels exchanged on two.
        "crammer_singer" is for 1-D y: it compares the score of a sample's own class with those of
        all others, the paper's equation 2, smoothed (see Notes). It ranks better where labels are
        clean, and takes up to three times as long on thirty thousand samples and ten times on a
        hundred thousand (see the page "Choosing an estimator").
    fit_intercept : bool, default=True
        Whether to fit b. Without it almost every sample violates the margin of every class and
        the method loses its speed.
    max_iter : int, default=100
        Outer rounds (descent, then search) of each class, at most. Two to five are usual.
    tol : float, default=0.03
        A class is done when its duality gap, divided by its objective, is at most this. 3 % has
        the ranking accuracy of the exact optimum on most data.
    n_select : "auto" or int, default="auto"
        How many samples a search adds to the active set of a class (the paper's kappa): those
        that violate the margin most. "auto" takes the size of the active set, at least 100.
    sparsification : {"random"} or None, default=None
        "random" searches with a random sparse copy of the weights (Algorithm 3), where that has
        fewer non-zeros than the weights themselves. One search in four, and the one that decides
        whether a class is done, remain exact. Worth a try only where weights are many and samples
        are long.
    delta : float, default=0.5
        Precision of that copy: a score is off by at most ``delta / sqrt(2) * max_j |x_ij|`` in the
        root mean square. It has ``ceil(2 * ||w||_1^2 / delta^2)`` draws.
    feature_threshold : float, default=0.0
        Searches skip entries of X of at most this magnitude (section 5.3), with the same
        exceptions as `sparsification`. For samples in which most entries are tiny.
    pruning : float, default=0.02
        After training small weights are dropped, as long as the score of no training sample moves
        by more than `pruning` in all, where the margin is 1, and the objective stays within `tol`
        of its optimum by a bound, which ``dual_gap_`` reports. 0 keeps all. (The hinge has a
        coarser bound than the two smooth losses, and keeps more.)
    class_weight : {"balanced", "propensity"}, dict {class: weight} or None, default=None
        Factor on the loss of the positives of each class (for two classes: on the loss of the
        samples of each class). "balanced" makes it inversely proportional to the frequency of
        the class, 1 for one of average frequency. "propensity" is the inverse of
        :func:`sklearn_xc.metrics.propensities` at its default A and B, which lifts rare labels
        (of others, give a dict).
    n_jobs : int or None, default=None
        Workers over blocks of classes in `fit`, and threads of prediction; None is 1 unless
        :func:`joblib.parallel_config` says otherwise, -1 all cores. The result does not depend on
        it, nor on joblib's backend.
    random_state : int, RandomState instance or None, default=None
        For the order of the descent, the first negatives and the sparsification.
    verbose : int, default=0
        A line for each block of classes that is done: how many there are, the largest duality gap
        in it, the time taken and the time left.
    warm_start : bool, default=False
        Keep the dual variables in ``dual_coef_`` and start the next fit from them. It must be on
        the same labels and samples; more samples may come after these. Features may be others,
        since dual variables belong to samples, and ``dual_gap_`` is that of the new data.
    calibration : {"auto", "sigmoid", "isotonic", "temperature", "top_label"}, default=None
        How scores become probabilities, by a few numbers shared by all classes; only with it there
        is `predict_proba`, and predictions stay as they are. "auto" is "top_label" for one class
        a sample, which looks at the best class alone, and "sigmoid" for several labels;
        :class:`TopKCalibratedClassifier` describes all of them.
    calibration_cv : int, float, splitter or iterable of splits, default=5
        Which scores the calibration is fitted on: those of copies trained without the sample, with
        the penalties that the fit on all samples has chosen. An int is the number of folds of
        :class:`~sklearn_xc.model_selection.RareLabelKFold`, a float up to 0.5 the share held out
        once, which costs one more fit.
    checkpoint : str, path-like or None, default=None
        A folder in which `fit` writes each block of classes when it is solved. If the fit is ended,
        by Ctrl-C, a worker or a machine that dies, the same fit resumes: what is there is read, the
        rest is solved, and the model is the same to the last bit. A folder of other data or
        parameters is refused (`n_jobs`, joblib's backend and `verbose` may differ). Without an
        integer `random_state` the seed is that of the fit that began. Leave it None in a search of
        parameters and in wrappers, which make many fits.
    keep_checkpoint : bool, default=False
        Whether the files stay when the fit is done; by default they are deleted.
    scratch : str, path-like or None, default=None
        A folder on a disk, for data or models larger than memory. `fit` then has its own copies of
        sparse X (samples in a faster order, columns, scaled values: up to 24 bytes a non-zero),
        solved blocks, `coef_` and the lists that prediction follows in files there. They are gone
        when the fit ends, or for the model when it is deleted; save it to keep it. The model is the
        same to the last bit. Give X as memory-mapped CSR (``load_xc(path, to=...)``).
    label_names : array-like of shape (n_classes,) or None, default=None
        What to call the columns of an indicator y, in the place of their numbers: the ``classes_``
        of a :class:`~sklearn.preprocessing.MultiLabelBinarizer`, for one. All answers are by these
        names, also of the saved model. A DataFrame has names of its own.
    graded : bool, default=False
        Whether the values of an indicator y, which then are from 1e-6 to 1 (or 0 where a label is
        not there), are factors on the losses of these positives: of label k in sample i it is
        ``y_ik * C_i`` times the `class_weight`. A label of grade 0.3 is a positive that counts
        less, and no part of a negative: the sample does not count against the label at all. In
        all else (`class_weight` by frequencies, support, calibration, scores) it is a label like
        others, and `predict` answers with 0 and 1. ``dual_coef_``, checkpoints and
        `add_labels` follow the grades. Not for 1-D y, which has `sample_weight`.
    label_feature_weight : float, default=3.0
        The sample weight of each text in `label_features`, from 0, which leaves texts out, to 1e6.
        On four data sets 1 to 3 were alike (nDCG@5 of held-out samples in the mean 52.3, 52.2,
        52.4), 3 ahead where labels have few samples.

    Attributes
    ----------
    coef_ : csr_array of float32, shape (n_classes, n_features) or (1, n_features) for two classes
        Read-only; put a new matrix in its place to change the model.
    intercept_ : ndarray of float32, shape (n_classes,) or (1,)
        Classes without a positive sample or a text have no weights and the intercept -1e18, the
        lowest score.
    l1_, l2_ : float
        The penalties used, in units of X; where columns were brought to one size, of those columns.
        Where l2 is a text, the intercept's is ``l2_`` divided by the squared length of samples.
    penalty_factors_ : tuple of two floats
        By what "auto" multiplied "rows", for l1 and l2, also in `add_labels`; 1 if it was given.
    classes_ : ndarray, shape (n_classes,)
        Labels, or the column numbers or names of the indicator.
    dual_gap_ : ndarray of float64, shape (n_classes,) or (1,)
        (P - D) / P of each class for the objective P and the dual objective D, an upper bound of
        the relative suboptimality, for samples in the form in which the fit sees them. Where
        `pruning` has dropped weights, P is an upper bound of the objective of those that are left.
        Scores are rounded to float32: it can be too small by some 1e-5, and minus 1e-6 at the
        least.
    n_active_ : ndarray of int64, shape (n_classes,) or (1,)
        Size of the active set of each class at the end: positives and support vectors, texts of
        labels among them.
    search_ : {"exact", "hnsw"}
        The search that ran in `fit`.
    recall_ : float
        Share of the ten samples of largest inner product that the graph names, for sums of the
        positives of some classes; 1.0 for "exact".
    n_iter_ : int
        Outer rounds of the class that took most.
    dual_coef_ : csr_array of float32, shape (n_classes, n_samples) or (1, n_samples)
        Dual variables; only with ``warm_start=True``. Texts of labels are further columns. Of a
        class that `max_iter` has cut short, stored zeros are violators that its last search has
        found, for the next fit. With dense X they may be a descent ahead of ``coef_``, whose gap
        they certify.
    calibration_ : object
        The fitted calibration; only with `calibration`.
    n_features_in_ : int
        Number of features of the X of `fit`.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    sklearn.multiclass.OneVsRestClassifier : Dense one-vs-rest for any binary classifier.
    sklearn.svm.LinearSVC : The same objective with ``l1=0``, for few classes.

    Notes
    -----
    Dense X of which at most a third of the entries are not zero is taken as CSR.

    Memory, beyond X in float32: 16 bytes a non-zero of X (its samples in a faster order and its
    columns; dense X is used as it is, with ``N * (D + 12)`` bytes of rounded samples, D filled up
    to a multiple of 16, in addition from 8192 samples and 32 classes on), as much as X again where
    its scale is changed (samples of unit length are not copied), ``D * 109`` bytes and the lists of
    sixteen classes a worker, and about 24 bytes a non-zero of the weights at the end. Nothing is N
    x K or D x K.

    With ``loss="crammer_singer"`` one problem over all classes is solved, the penalties being sums
    over classes, with the loss ``max sum_k a_k (1 + z_k - z_y) - a_k^2 / 2`` of a sample of class y
    over ``a_k >= 0, sum_k a_k <= 1`` and the classes k other than y. A one-vs-rest fit chooses the
    penalties and is where it begins. ``dual_gap_`` is that of the one problem, in each place;
    ``dual_coef_`` has ``a_k``, and their sum at the own class; `n_select` is how many classes a
    search names for a sample in addition to as many as it has, 30 by default; descent runs on one
    thread, searches on `n_jobs`.
    `checkpoint`, `scratch`, `sparsification`, `feature_threshold`, `add_labels` and
    :func:`~sklearn_xc.merge` are for classes that are solved apart, and refused.

    ``PPDSparseClassifier.PUBLISHED`` holds the published settings, ``l1=0.01, l2=1`` for
    samples of unit length, under "squared_hinge", "sparsified" (Algorithm 3) and "hinge". Theorems
    3.2 and 3.3 hold with ``2 * n_p + l2 / 2`` and ``4 * n_p + l2``, n_p the positives of a class;
    see the page "Internals: the solver of PPDSparse".

    References
    ----------
    .. [1] I. E. H. Yen, X. Huang, W. Dai, P. Ravikumar, I. Dhillon and E. Xing. "PPDSparse: A
       Parallel Primal-Dual Sparse Method for Extreme Classification". KDD 2017.
    .. [2] S. Shalev-Shwartz and T. Zhang. "Stochastic Dual Coordinate Ascent Methods for
       Regularized Loss Minimization". JMLR 14, 2013 (its smoothed hinge, with gamma = 1).

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(n_samples=500, n_features=1000, n_classes=50, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[:3], k=2)
    >>> labels.shape
    (3, 2)
    >>> model.coef_.shape
    (50, 1000)
    """

    _not_merged_since = None
    _absent = {  # noqa: RUF012
        "partial_fit": "each class is trained on all samples at once. add_labels trains new "
        "labels, warm_start=True goes on from a fit before; MemoirSVC, LDGSClassifier and "
        "TopKNeighborsClassifier take samples in parts"
    }
    PUBLISHED = PUBLISHED
    _parameter_constraints = CONSTRAINTS

    def __init__(
        self,
        l1: float | str = "auto",
        l2: float | str = "auto",
        *,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 0.03,
        n_select: int | str = "auto",
        sparsification: str | None = None,
        delta: float = 0.5,
        feature_threshold: float = 0.0,
        pruning: float = 0.02,
        class_weight: str | dict[Hashable, float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        calibration: str | None = None,
        calibration_cv: Any = 5,
        checkpoint: str | os.PathLike | None = None,
        keep_checkpoint: bool = False,
        scratch: str | os.PathLike | None = None,
        label_names: ArrayLike | None = None,
        graded: bool = False,
        label_feature_weight: float = 3.0,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_select = n_select
        self.sparsification = sparsification
        self.delta = delta
        self.feature_threshold = feature_threshold
        self.pruning = pruning
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.calibration = calibration
        self.calibration_cv = calibration_cv
        self.checkpoint = checkpoint
        self.keep_checkpoint = keep_checkpoint
        self.scratch = scratch
        self.label_names = label_names
        self.graded = graded
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
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            Labels of any dtype, or an indicator of 0 and 1, dense, sparse or a DataFrame; with
            `graded`, of values from 0 to 1.
        sample_weight : array-like of shape (n_samples,), default=None
            C_i, factors on the loss of each sample; not negative. A sample of weight zero is not
            there.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels in the columns of X: names, synonyms, descriptions, by the
            vectorizer of the samples. Row k is the text of label k, in the order of the columns of
            an indicator, of `classes` where that is given, and otherwise of the sorted classes in
            y; a row of zeros is none. Several texts a label are several matrices. Each text is
            trained on as one more sample, of the one label and the weight `label_feature_weight`,
            so that labels without samples are found too; it is no sample where samples are
            counted, held out for penalties or calibration, or make penalties and class weights.
        classes : array-like of shape (n_classes,), default=None
            With y of one class a sample: all classes, also those that no sample has.

        Returns
        -------
        self : PPDSparseClassifier

        Raises
        ------
        ValueError
            For a parameter out of its range, for NaN or infinities, for fewer than two classes
            (1-D y), for lists of label lists, and with `warm_start` for fewer samples or other
            classes than before; for label_features of another number of columns than X or of
            samples than there are labels, and classes that do not name a class of y; with
            "crammer_singer" for an indicator and what it refuses.
        MemoryError
            If X has so many features that the weights of sixteen classes exceed the memory.

        Warns
        -----
        ConvergenceWarning
            If a class is not done after `max_iter` rounds.

        Notes
        -----
        Ctrl-C stops within a second. Whatever ends the fit early leaves the estimator as it was.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            previous = vars(self).get("dual_coef_") if self.warm_start else None
            if previous is not None:
                self._check_state()
            rows, Y, weight, texts = validate_with_texts(
                self, X, y, sample_weight, label_features, classes
            )
            require_comparable(self)
            calibrate = None
            if self.calibration is not None:
                given = rows.matrix(), y, weight, label_features, classes
                calibrate = self._calibrator(*given)
            if previous is not None:
                n_before = vars(self).get("_n_dual_texts", 0)
                previous = grown_duals(previous, Y.shape, n_before, texts.n)
            checkpoint = None
            if self.checkpoint is not None:
                data = rows.matrix(), Y, weight, previous, texts
                checkpoint = Checkpoint.of(self, *data)
            with Scratch(self.scratch) as scratch, checkpoint or nullcontext():
                problem = OneVsRestProblem.of(self, rows, Y, weight, scratch.empty, texts=texts)
                # Before anything is solved, since a folder of another fit is refused here.
                settings = self._settings(problem.penalties, checkpoint)
                self.penalty_factors_ = choose_penalties(problem, self, settings)
                if calibrate is not None:
                    calibrate()
                problem = problem.with_factors(*self.penalty_factors_)
                fit_loss = compare_classes if self.loss == "crammer_singer" else fit_classes
                result = fit_loss(
                    problem,
                    settings | problem.penalties.strengths(),
                    dual=previous,
                    **self._ways(),
                    progress=progress,
                    scratch=scratch,
                    checkpoint=checkpoint,
                )
                self._keep(result, problem, scratch)
            progress.finish()
            if checkpoint is not None and not self.keep_checkpoint:
                checkpoint.finish()
        # Outside, since a filter that makes errors of warnings must not undo a fit.
        self._warn_if_late(self.dual_gap_, FIT_CALLER + 1)
        self._warn_if_empty(weight, FIT_CALLER + 1)
        return self

    def _keep(self, result: dict[str, Any], problem: OneVsRestProblem, scratch: Scratch) -> None:
        """Become the model that the solver has found."""
        self.l1_, self.l2_ = problem.penalties.outside()
        self.n_iter_, self._n_visits = result["n_iter"], result["n_visits"]
        self.dual_gap_, self.n_active_ = result["gap"], result["n_active"]
        vars(self).pop("dual_coef_", None)
        if self.warm_start:
            self.dual_coef_, self._n_dual_texts = result["dual"], problem.n_texts
        coef = problem.in_all_columns(result["coef"])
        self._set_linear_model(coef, result["intercept"], scratch=scratch)

    def add_labels(
        self,
        X: MatrixLike,
        Y_new: LabelsLike,
        sample_weight: ArrayLike | None = None,
        names: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
    ) -> Self:
        """Train labels that fit has not seen, and leave all others as they are.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            The samples of `fit`, or others of the same features.
        Y_new : indicator of shape (n_samples, n_new), or array-like of shape (n_samples,)
            After a fit on an indicator: the columns of the new labels, dense, sparse or a
            DataFrame, which are appended to those of before. After a fit on classes: the classes
            of all samples of X, new ones among them; each new class is trained against all other
            samples given, and takes its place in the sorted ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
        names : array-like of shape (n_new,), default=None
            Names of the new columns, where those of before have names; by default those of the
            DataFrame. They join the parameter `label_names`, if that is set.
        label_features : array-like or sparse, shape (n_new, n_features), or sequence of these, \
                default=None
            Texts of the new labels, as in `fit`: in the order of the columns, or of the sorted new
            classes.

        Returns
        -------
        self : PPDSparseClassifier

        Raises
        ------
        ValueError
            If Y_new is not of the kind of fit's y, holds no new class, or no new label has a
            positive; if names are missing, or given where labels have none, or there already; if
            label_features does not have a row for each new label; if `calibration` is set; with
            ``loss="crammer_singer"``.
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Notes
        -----
        With the same samples, parameters and integer `random_state` the new labels of an indicator
        get the weights that a fit on all columns gives them, up to rounding;
        ``class_weight="balanced"`` compares the new labels with each other only, and texts of the
        old labels are no negatives of the new ones. New classes do as well, while the old ones have
        not seen the samples of the new ones as negatives. With ``warm_start`` the dual variables
        grow too if there are as many samples as in `fit`, and no texts; others are dropped, and the
        next fit starts from nothing.
        """
        check_is_fitted(self)
        if self.loss == "crammer_singer":
            raise ValueError(
                "add_labels: classes of loss='crammer_singer' are compared with one another and "
                "solved together; use fit on all samples"
            )
        with self._all_or_nothing():
            self._refuse_calibration()
            self._check_state()
            named = self._names_of_added(names, Y_new)
            rows, Y_new, weight = validate_more(self, X, Y_new, sample_weight)
            n_new = Y_new.shape[1] if Y_new.ndim == 2 else 1
            indices = None if rows.dense else rows.indices
            n_columns = n_columns_to_pay(self, indices, rows.shape[1], first=True)
            self._require_size(len(self.classes_) + n_new, n_columns)
            before, weights = columns_of(self), store_of(self.coef_)
            added = Y_new, named, grades_of(self)
            encoding, places, Y = encode_added(self._encoding, *added)
            self._set_encoding(encoding)
            if self.label_names is not None:  # so that a clone can be fitted on all columns
                self.label_names = self.classes_
            is_new = np.ones(Y.shape[1], dtype=bool)
            is_new[places] = False
            texts = texts_of_new(self, label_features, rows.shape[1], rows.dense, is_new)
            self._set_support(extended_support(self._support, pattern_of(Y), weight, places))
            with Scratch(self.scratch) as scratch:
                problem = OneVsRestProblem.of(self, rows, Y, weight, scratch.empty, is_new, texts)
                # By the penalties of fit, so that scores of old and new labels have one scale.
                problem = problem.with_factors(*self.penalty_factors_)
                result = fit_classes(
                    problem,
                    self._settings(problem.penalties),
                    dual=None,
                    **self._ways(),
                    progress=Progress(self, self.verbose),
                    scratch=scratch,
                )
                self._n_visits = result["n_visits"]
                result["coef"] = problem.in_all_columns(result["coef"])
            # Same samples can only be told by their number; texts would be further columns of the
            # duals.
            no_texts = vars(self).get("_n_dual_texts", 0) == texts.n == 0
            joined = join_columns(before, places, result, no_texts)
            self._keep_joined(joined, weights, result["n_iter"])
        self._warn_if_late(result["gap"][is_new])
        return self

    def _keep_joined(self, joined: WeightColumns, weights: WeightStore, n_iter: int) -> None:
        """Become the model of old and new labels, with weights in the form that they had."""
        self.n_iter_ = max(self.n_iter_, n_iter)
        self.dual_gap_, self.n_active_ = joined.gap, joined.n_active
        vars(self).pop("dual_coef_", None)
        if self.warm_start and joined.dual is not None:
            self.dual_coef_ = joined.dual
        self._set_linear_model(weights.in_form(joined.coef), joined.intercept)

    def _names_of_added(self, names: ArrayLike | None, Y_new: LabelsLike) -> np.ndarray | None:
        """Return the names given for new columns, or those that an indicator has."""
        if names is not None:
            return require_names(np.asarray(plain_labels(names)), "names")
        return label_names(Y_new) if self._encoding.kind == "multilabel" else None

    _choices = chosen_penalties
    _places = "scratch", "checkpoint"

    def _may_keep_few(self) -> bool:
        """Return that weights of columns without entries are zero, and need not be kept."""
        return True

    def _require_size(self, n_classes: int, n_features: int) -> None:
        """Require memory for the result, and for the classes that are solved together."""
        super()._require_size(n_classes, n_features)
        require_workspace(n_classes, n_features, self.n_jobs)

    _warn_if_late = warn_if_late
    _warn_if_empty = warn_if_empty

    def _check_loaded(self, mapped: bool) -> None:
        """Check the attributes of a model from a file."""
        super()._check_loaded(mapped)
        check_loaded(self, mapped)

    def _settings(
        self, penalties: Penalties, checkpoint: Checkpoint | None = None
    ) -> dict[str, Any]:
        """Return the kernel's `Settings`; the seed is that of the fit that a checkpoint is of."""
        # Drawn in any case, so that a fit with a checkpoint leaves a generator as one without does.
        seed = check_random_state(self.random_state).randint(2**31)
        return {
            **penalties.strengths(),
            # a comparison of classes begins with a fit of each
            "loss": LOSSES.get(self.loss, LOSSES["squared_hinge"]),
            "intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": min(self.max_iter, LARGEST_INDEX),
            "n_select": 0 if self.n_select == "auto" else min(self.n_select, LARGEST_INDEX),
            "sparsify": self.sparsification == "random",
            "delta": self.delta,
            "prune": self.pruning,
            "seed": seed if checkpoint is None else checkpoint.begin(seed),
        }

    def _ways(self) -> dict[str, Any]:
        """Return the keyword arguments of `fit_classes` that depend on parameters."""
        return {
            "feature_threshold": self.feature_threshold,
            "keep_dual": self.warm_start,
            "n_jobs": self.n_jobs,
        }
