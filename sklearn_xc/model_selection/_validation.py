"""Cross-validation that takes sparse y and scores the k best labels once for all metrics."""

import time
import warnings
from contextlib import nullcontext
from numbers import Real
from traceback import format_exc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from ..metrics._scorer import TopkScorer, shared_predictions
from ..utils._matrix import in_rows, n_rows
from ..utils._typing import LabelsLike, MatrixLike
from ._routing import Routed, fit_with, part_of, route, splitter
from ._take_rows import take


def cross_validate(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    groups: ArrayLike | None = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: float | str = np.nan,
) -> dict[str, Any]:
    """Fit and score on every split; as scikit-learn's function, which refuses a sparse y.

    All scorers of :func:`sklearn_xc.metrics.make_topk_scorer` share one call of ``predict_topk``
    a split, and scikit-learn's scorers one call of each method they need.

    Parameters
    ----------
    estimator : estimator
        Copies of it are fitted.
    X : array-like, sparse, or whatever the estimator takes
    y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse
    groups : array-like of shape (n_samples,), default=None
        For splitters that look at groups.
    scoring : str, callable, list, tuple, set, dict or None, default=None
        One metric, or several: names of scikit-learn's scorers, scorers by name, or a callable
        that returns a dict. None is the estimator's ``score``.
    cv : int, splitter or iterable of (train, test), default=None
        None is 5 and an integer n :class:`RareLabelKFold` with n splits.
    n_jobs : int or None, default=None
        Splits that are fitted at once, as in joblib.
    verbose : int, default=0
        joblib's progress messages.
    params : dict, default=None
        Arguments of the estimator's ``fit``, such as ``{"sample_weight": w}``; those with one
        entry a sample are split with X. With scikit-learn's metadata routing enabled they go to who
        requests them: estimator, scorers and splitter.
    return_train_score, return_estimator, return_indices : bool, default=False
        What to return in addition to the test scores.
    error_score : "raise" or float, default=nan
        The score of a fit or a metric that fails, with a warning; "raise" lets the error out.

    Returns
    -------
    results : dict of arrays of shape (n_splits,)
        ``fit_time`` and ``score_time`` in seconds; ``test_score``, or ``test_<name>`` for each of
        several metrics; ``train_score`` or ``train_<name>``, ``estimator`` (a list) and
        ``indices`` (a dict of lists, ``train`` and ``test``) if requested.

    Raises
    ------
    ValueError
        If all fits fail, or `error_score` is neither a number nor "raise".

    Warns
    -----
    FitFailedWarning
        If some fits fail.

    See Also
    --------
    cross_val_topk : The predictions themselves.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.metrics import make_topk_scorer
    >>> from sklearn_xc.model_selection import cross_validate
    >>> X, Y = make_xc_classification(
    ...     n_samples=300, n_features=500, n_classes=40, n_labels=2, random_state=0
    ... )
    >>> scoring = {f"p{k}": make_topk_scorer("precision_at_k", k) for k in (1, 3)}
    >>> results = cross_validate(PPDSparseClassifier(random_state=0), X, Y, scoring=scoring)
    >>> sorted(results)
    ['fit_time', 'score_time', 'test_p1', 'test_p3']
    """
    if error_score != "raise" and not isinstance(error_score, Real):
        raise ValueError(f'error_score must be "raise" or a number, got {error_score!r}')
    X, y, groups = in_rows(X, y, groups, names=("X", "y", "groups"))
    cv = splitter(cv)
    scoring = _by_name(scoring)
    scorer = check_scoring(estimator, scoring=scoring, raise_exc=error_score == "raise")
    routed = route(estimator, params, owner="cross_validate", cv=cv, scorer=scorer)
    # Groups of the argument, unless metadata routing has groups for the splitter.
    folds = list(cv.split(X, y, **({"groups": groups} | routed.split)))
    shared = scorer, _largest_k(scoring), routed, return_train_score, error_score
    results = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_fit_and_score)(clone(estimator), X, y, train, test, *shared)
        for train, test in folds
    )
    _tell_failures([result["error"] for result in results], error_score)
    output = {name: np.array([result[name] for result in results]) for name in TIMES}
    if return_estimator:
        output["estimator"] = [result["estimator"] for result in results]
    if return_indices:
        output["indices"] = {
            "train": [train for train, _ in folds],
            "test": [test for _, test in folds],
        }
    for part in ("test", "train") if return_train_score else ("test",):
        output |= _arrays_of(part, [result[part] for result in results], scoring, error_score)
    return output


def _arrays_of(
    part: str, scores: list[dict | None], scoring: Any, error_score: str | float
) -> dict[str, np.ndarray]:
    """Return the scores of all folds by metric, with `error_score` for fits that failed."""
    # The names are those of a fit that did not fail.
    names = next((list(score) for score in scores if score is not None), ["score"])
    if isinstance(scoring, dict):
        names = list(scoring)
    return {
        f"{part}_{name}": np.array(
            [error_score if score is None else score[name] for score in scores]
        )
        for name in names
    }


TIMES = "fit_time", "score_time"


def cross_val_score(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    scoring: Any = None,
    cv: Any = None,
    **options: Any,
) -> np.ndarray:
    """Return the test scores of one metric, from :func:`cross_validate`.

    Parameters
    ----------
    estimator, X, y : as :func:`cross_validate`
    scoring : str, callable or None, default=None
        One metric; None is the estimator's ``score``.
    cv : int, splitter or iterable of (train, test), default=None
        As :func:`cross_validate`.
    **options : dict
        ``groups``, ``n_jobs``, ``verbose``, ``params`` and ``error_score`` of
        :func:`cross_validate`.

    Returns
    -------
    scores : ndarray of float, shape (n_splits,)

    Raises
    ------
    ValueError
        If `scoring` names several metrics.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.metrics import make_topk_scorer
    >>> from sklearn_xc.model_selection import cross_val_score
    >>> X, y = make_xc_classification(n_samples=300, n_features=500, n_classes=40, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0)
    >>> cross_val_score(model, X, y, scoring=make_topk_scorer("ndcg_at_k", 3), cv=4).shape
    (4,)
    """
    results = cross_validate(estimator, X, y, scoring=scoring, cv=cv, **options)
    # A callable that returns a dict shows itself by the names of its scores only.
    if "test_score" not in results or isinstance(scoring, (dict, list, tuple, set)):
        raise ValueError("scoring must be one metric; cross_validate takes several")
    return results["test_score"]


def _by_name(scoring: Any) -> Any:
    """Return a list of scorers and names as a dict, other `scoring` as it is; refuse our names."""
    if isinstance(scoring, str) and scoring.endswith("_at_k"):
        scorer = f"make_topk_scorer({scoring!r}, k=5)"
        raise ValueError(f"scoring={scoring!r} is no name that scikit-learn knows; give {scorer}")
    if not isinstance(scoring, (list, tuple, set)):
        return scoring
    names = [repr(scorer) if isinstance(scorer, TopkScorer) else scorer for scorer in scoring]
    if len(set(names)) < len(names):
        raise ValueError(f"scoring names a metric twice: {sorted(map(str, names))}")
    return dict(zip(names, scoring, strict=True))


def _largest_k(scoring: Any) -> int | None:
    """Return the largest k of several scorers of the top k, None where there are not several."""
    if not isinstance(scoring, dict):
        return None
    # A single scorer of the top k predicts no more than it needs by itself.
    cuts = [scorer.k for scorer in scoring.values() if isinstance(scorer, TopkScorer)]
    return max(cuts) if len(cuts) > 1 else None


def _fit_and_score(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    train: np.ndarray,
    test: np.ndarray,
    scorer: Any,
    largest: int | None,
    routed: Routed,
    return_train_score: bool,
    error_score: float | str,
) -> dict[str, Any]:
    """Fit on a split and return scores, times and the traceback of a fit that failed."""
    result = {"error": None, "test": None, "train": None, "score_time": 0.0}
    start = time.perf_counter()
    try:
        fit_with(estimator, X, y, train, routed.fit)
    except Exception:
        if error_score == "raise":
            raise
        result["error"] = format_exc()
    result["fit_time"] = time.perf_counter() - start
    result["estimator"] = estimator
    if result["error"] is None:
        for part, rows in [("test", test), ("train", train)][: 1 + return_train_score]:
            start = time.perf_counter()
            # One prediction of the largest k serves all scorers of the top k.
            with nullcontext() if largest is None else shared_predictions(largest):
                result[part] = _score(estimator, X, y, rows, scorer, routed.score, error_score)
            if part == "test":
                result["score_time"] = time.perf_counter() - start
    return result


def _score(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    rows: np.ndarray,
    scorer: Any,
    params: dict[str, Any],
    error_score: float | str,
) -> dict[str, float]:
    """Return the scores of a fitted estimator on some samples, by name."""
    params = part_of(params, n_rows(X), rows)
    try:
        scores = scorer(estimator, take(X, rows), take(y, rows), **params)
    except Exception:
        if error_score == "raise":
            raise
        scores = format_exc()
    # Of several scorers scikit-learn's own returns the message of one that fails in its place.
    scores = scores if isinstance(scores, dict) else {"score": scores}
    for name, score in scores.items():
        if isinstance(score, str):
            warnings.warn(
                f"Scoring failed; {name} of this split will be {error_score}. Details:\n{score}",
                UserWarning,
                stacklevel=2,
            )
    return {
        name: error_score if isinstance(score, str) else _number(name, score)
        for name, score in scores.items()
    }


def _number(name: str, score: Any) -> float:
    """Return a score as a float."""
    # A score may be an array without dimensions.
    score = score.item() if hasattr(score, "item") else score
    if not isinstance(score, Real):
        raise ValueError(f"scoring must return a number, {name} is {score!r}")
    return float(score)


def _tell_failures(errors: list[str | None], error_score: float | str) -> None:
    """Warn of fits that failed, or raise ValueError if all have."""
    failed = [error for error in errors if error is not None]
    if not failed:
        return
    if len(failed) == len(errors):
        raise ValueError(f"All the {len(errors)} fits failed. The first error:\n{failed[0]}")
    warnings.warn(
        f"{len(failed)} fits failed out of a total of {len(errors)}; their scores will be "
        f'{error_score}. error_score="raise" shows where. The first error:\n{failed[0]}',
        FitFailedWarning,
        stacklevel=3,
    )
