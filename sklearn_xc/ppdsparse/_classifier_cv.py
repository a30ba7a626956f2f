"""PPDSparseClassifier with penalties that are chosen on held-out samples."""

from collections.abc import Callable, Hashable, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring

from ..base._classifier import BaseXCClassifier
from ..base._label_texts import params_of_parts
from ..base._labels import without_grades
from ..base._validation import StrOptions, validate_with_texts
from ..metrics._scorer import TopkScorer, make_topk_scorer
from ..model_selection._out_of_fold import read_labels, splits_of
from ..model_selection._take_rows import take
from ..utils._callbacks import Progress, with_callbacks
from ..utils._matrix import in_rows
from ..utils._records import is_a, is_array, is_not_negative, require_attributes, savable
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._classifier import PPDSparseClassifier
from ._parameters import CONSTRAINTS
from ._penalty_search import SEARCHES, TOL, HeldOutPart, PairScores, n_pairs
from ._problem import in_units

L1S = "0.2*rows", "rows", "4*rows"
L2S = "0.1*rows", "0.3*rows", "rows", "3*rows", "10*rows"
OWN = "l1s", "l2s", "search", "cv", "scoring", "refit"
ADOPTED = "l1_", "l2_", "n_iter_", "dual_gap_", "n_active_"


@savable
class PPDSparseClassifierCV(BaseXCClassifier):
    """PPDSparseClassifier with the penalties that are best on held-out samples.

    Each part of `cv` is fitted with pairs of `l1s` and `l2s`, one after the other, every fit from
    the dual variables of an earlier one, from weak to strong `l1`; the pair with the best mean
    score then is fitted on all samples.

    Parameters
    ----------
    l1s, l2s : sequence of (float, "rows" or a multiple such as "0.3*rows"), default="auto"
        The penalties to try. "auto" is 0.2, 1 and 4 times, and 0.1, 0.3, 1, 3 and 10 times, what
        the samples suggest (see `l1` and `l2` of :class:`PPDSparseClassifier`), which may have any
        scale; 0.1 is for labels whose samples are nearly alike, 10 for labels that are mostly
        chance, such as the next word of a text.
    search : {"lines", "grid"}, default="lines"
        Which pairs are tried. "lines": with the middle one of `l2s`, from the middle one of `l1s`
        to weaker ones as long as scores rise, else to stronger ones; then with the best of them
        from the middle `l2` to stronger ones as long as scores rise, else to weaker ones, and the
        `l1s` beside it if another `l2` has won. "grid": all pairs, for three times the time and
        hardly ever another choice that is better on new samples.
    cv : int, float, splitter or iterable of splits, default=0.4
        An int is the number of folds of :class:`~sklearn_xc.model_selection.RareLabelKFold`, a
        float the share of samples held out once. To tell a dozen pairs apart takes many samples to
        score, and not all to train on, hence the large share.
    scoring : str, callable or None, default=None
        A scorer, such as of :func:`~sklearn_xc.metrics.make_topk_scorer`. None is nDCG@5 for an
        indicator and precision@1, which is the accuracy, for one class a sample.
    refit : bool, default=True
        Whether to fit the best pair on all samples. Otherwise only `l1_`, `l2_`, `scores_` and
        the attributes whose names begin with ``best_`` are there.
    loss, fit_intercept, max_iter, tol, pruning, class_weight, n_jobs, random_state, verbose, \
label_names, graded, label_feature_weight : object
        As of :class:`PPDSparseClassifier`.

    Attributes
    ----------
    l1_, l2_ : float
        The chosen penalties in units of X, of the fit on all samples; with ``refit=False`` as
        given.
    best_params_ : dict
        The chosen penalties as given, ``{"l1": ..., "l2": ...}``: parameters of
        :class:`PPDSparseClassifier`.
    best_score_ : float
        Their mean score over the splits, on held-out samples.
    best_index_ : tuple of int
        Their places in `l1s` and `l2s`.
    scores_ : ndarray of float64, shape (n_l1s, n_l2s, n_splits)
        nan for pairs that were not tried.
    coef_, intercept_, dual_gap_, n_active_, n_iter_ : object
        Of the fit on all samples, as of :class:`PPDSparseClassifier`.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X was a DataFrame with string column names.

    See Also
    --------
    PPDSparseClassifier : One pair of penalties.
    sklearn.linear_model.LogisticRegressionCV : The same idea for logistic regression.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifierCV
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(n_samples=500, n_features=1000, n_classes=50, random_state=0)
    >>> model = PPDSparseClassifierCV(l1s=[0.05, 0.1], l2s=[1.0], random_state=0).fit(X, Y)
    >>> model.scores_.shape
    (2, 1, 1)
    >>> model.predict_topk(X[:3], k=2)[0].shape
    (3, 2)
    """

    _not_merged_since = None
    _parameter_constraints = {  # noqa: RUF012
        "l1s": ["array-like", str],
        "l2s": ["array-like", str],
        "search": [StrOptions(set(SEARCHES))],
        "cv": [Integral, Real, "cv_object"],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        **{
            name: CONSTRAINTS[name]
            for name in (
                "loss",
                "fit_intercept",
                "max_iter",
                "tol",
                "pruning",
                "class_weight",
                "n_jobs",
                "random_state",
                "verbose",
                "label_names",
                "graded",
                "label_feature_weight",
            )
        },
    }

    def __init__(
        self,
        l1s: Sequence[float | str] | str = "auto",
        l2s: Sequence[float | str] | str = "auto",
        *,
        search: str = "lines",
        cv: Any = 0.4,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 0.03,
        pruning: float = 0.02,
        class_weight: str | dict[Hashable, float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        label_names: ArrayLike | None = None,
        graded: bool = False,
        label_feature_weight: float = 3.0,
    ) -> None:
        self.l1s = l1s
        self.l2s = l2s
        self.search = search
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.pruning = pruning
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
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
        """Choose the penalties, and fit with them.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None
            Of fits and scores.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels, as in :meth:`PPDSparseClassifier.fit`: of all fits, and never
            held out.
        classes : array-like of shape (n_classes,), default=None
            With y of one class a sample: all classes, also those that no sample has.

        Returns
        -------
        self : PPDSparseClassifierCV

        Raises
        ------
        ValueError
            If a parameter or the data is not as described.
        """
        progress = Progress.of_fit(self, X, y, sample_weight)
        with self._all_or_nothing():
            _, _, weight, _ = validate_with_texts(
                self, X, y, sample_weight, label_features, classes
            )
            of_labels = params_of_parts(self, label_features, classes)
            grid = _grid(self.l1s, L1S, "l1s"), _grid(self.l2s, L2S, "l2s")
            X, y = in_rows(X, y, names="Xy")
            y = y if self._encoding.kind == "multilabel" else np.ravel(y)
            kind = read_labels(y, self.classes_ if "classes" in of_labels else None).kind
            splits = splits_of(self.cv, X, y, kind, weight=weight)
            n_fits = n_pairs(self.search, *map(len, grid)) * len(splits) + bool(self.refit)
            progress.start(n_fits, name="fit")
            parts = [self._part(X, y, weight, split, of_labels) for split in splits]
            pairs = PairScores(*grid, parts, progress)
            SEARCHES[self.search](pairs, *map(_weak_to_strong, grid))
            self.scores_, self.best_index_ = pairs.scores, pairs.best()
            l1, l2 = (values[i] for values, i in zip(grid, self.best_index_, strict=True))
            self.best_params_ = {"l1": l1, "l2": l2}
            self.best_score_ = float(self.scores_[self.best_index_].mean())
            if self.refit:
                progress.begin()
                best = self._plain(**self.best_params_)
                self._adopt(best.fit(X, y, sample_weight, **of_labels))
                progress.end()
            else:
                self.l1_, self.l2_ = l1, l2
            progress.finish()
        return self

    def _plain(self, **others: Any) -> PPDSparseClassifier:
        """Return the estimator that is fitted."""
        parameters = self.get_params(deep=False)
        parameters = {name: value for name, value in parameters.items() if name not in OWN}
        return PPDSparseClassifier(**{**parameters, "verbose": 0, **others})

    def _part(
        self,
        X: MatrixLike,
        y: LabelsLike,
        weight: np.ndarray | None,
        split: tuple[np.ndarray, np.ndarray],
        of_labels: dict[str, Any],
    ) -> HeldOutPart:
        """Return the part that fits training samples of a split and scores its test samples."""
        train, test = split
        held_out = take(X, test), take(y, test)
        if self.graded:
            # Metrics know labels, not grades.
            held_out = held_out[0], without_grades(held_out[1])
        training = take(X, train), take(y, train), None if weight is None else weight[train]
        # Duals are handed from pair to pair, which pruned weights would not match; a coarse fit
        # ranks pairs as a fine one does.
        model = self._plain(warm_start=True, tol=max(self.tol, TOL), pruning=0.0)
        options = {} if weight is None else {"sample_weight": weight[test]}
        return HeldOutPart(model, training, held_out, self._scorer(model), options, of_labels)

    def _choices(self) -> dict[str, Any]:
        """Return the pair of penalties that the fit has chosen, for copies."""
        return {"l1s": [self.best_params_["l1"]], "l2s": [self.best_params_["l2"]]}

    def _scorer(self, model: PPDSparseClassifier) -> Callable[..., float]:
        """Return what scores a fit on held-out samples."""
        if self.scoring is None:
            several = self._encoding.kind == "multilabel"
            return make_topk_scorer(*(("ndcg_at_k", 5) if several else ("precision_at_k", 1)))
        if isinstance(self.scoring, TopkScorer):
            return self.scoring
        return check_scoring(model, scoring=self.scoring)

    def _adopt(self, model: PPDSparseClassifier) -> None:
        """Become the model of the best pair."""
        for name in ADOPTED:
            setattr(self, name, getattr(model, name))
        self._set_linear_model(model.coef_, model.intercept_)

    def __sklearn_is_fitted__(self) -> bool:
        return "intercept_" in vars(self)  # not after refit=False

    def _check_loaded(self, mapped: bool) -> None:
        """Check the attributes of a model from a file."""
        super()._check_loaded(mapped)
        require_attributes(
            self,
            l1_=is_not_negative,
            l2_=is_not_negative,
            scores_=is_array(np.float64, ndim=3, finite=False),
            best_index_=is_a(tuple),
            best_params_=is_a(dict),
            best_score_=is_a(float),
            dual_gap_=is_array(np.float64, finite=False),
            n_active_=is_array(np.int64),
        )


def _grid(
    given: Sequence[float | str] | str, default: tuple[str, ...], name: str
) -> Sequence[float | str]:
    """Return the penalties to try, checked."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"{name} must be 'auto' or a sequence of penalties, got {given!r}")
        return default
    values = list(given)
    if not values:
        raise ValueError(f"{name} is empty; give at least one penalty")
    values = [v if isinstance(v, str) else float(v) for v in values]
    for value in values:
        number, _ = in_units(value, name)
        if number == "auto" or (number != "rows" and not 0 <= number <= 1e12):
            raise ValueError(
                f"{name} holds {value!r}; penalties are numbers from 0 to 1e12, 'rows' or "
                "multiples of it such as '0.3*rows'"
            )
    return values


def _weak_to_strong(penalties: Sequence[float | str]) -> list[int]:
    """Return places of the penalties, the weakest first; of numbers and multiples of "rows" as
    given.
    """
    # A number and a multiple of "rows" cannot be compared before the rows are known.
    multiples = [in_units(penalty, "") for penalty in penalties]
    if len({number == "rows" for number, _ in multiples}) > 1:
        return list(range(len(penalties)))
    sizes = [factor if number == "rows" else number for number, factor in multiples]
    return [int(i) for i in np.argsort(sizes, kind="stable")]
