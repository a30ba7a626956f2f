"""The estimator with a certain method inside pipelines, searches and other wrappers."""

from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


class Inner(NamedTuple):
    """Estimator that has the method, and the transformers that X passes before it, in this order.

    `decided_outside` says that it is inside a meta-estimator, which may predict otherwise.
    """

    estimator: BaseEstimator
    transformers: list
    decided_outside: bool

    def transform(self, X: Any) -> Any:
        """Return X as the estimator takes it."""
        names = list(getattr(X, "columns", []))
        n_samples = len(X) if names else 0
        for step in self.transformers:
            X = step.transform(X)
        # A vectorizer reads the names of a table's columns as its texts, without an error.
        if names and getattr(X, "shape", (n_samples,))[0] != n_samples:
            raise ValueError(
                f"X is a table of {n_samples} samples, and {type(self.transformers[0]).__name__} "
                f"read {X.shape[0]} of it: give the column of texts, X[{names[0]!r}]"
            )
        return X


def find_inner(estimator: Any, method: str, *, into_meta_estimators: bool = False) -> Inner:
    """Return the estimator that has a method of ours, and what is on the way to it.

    Looks into a fitted Pipeline (its last step), a search (its ``best_estimator_``) and a
    FrozenEstimator, nested in any order; with `into_meta_estimators` also into the ``estimator_``
    of a meta-estimator, such as one that tunes a threshold.

    Raises TypeError if there is none, or a search has ``refit=False``, and
    sklearn.exceptions.NotFittedError if a search has not been fitted.
    """
    outer, transformers, decided_outside = estimator, [], False
    while not hasattr(estimator, method):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, Pipeline):
            steps = [step for _, step in estimator.steps]
            transformers += [step for step in steps[:-1] if _transforms(step)]
            estimator = steps[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif into_meta_estimators and hasattr(estimator, "estimator_"):
            estimator, decided_outside = estimator.estimator_, True
        else:
            _refuse(estimator, outer, method)
    return Inner(estimator, transformers, decided_outside)


def _transforms(step: Any) -> bool:
    """Return whether samples to predict go through a step."""
    # not where a pipeline only draws samples to train with, as those of imbalanced-learn do
    if step is None or isinstance(step, str):
        return False
    return hasattr(step, "transform") or not hasattr(step, "fit_resample")


def _refuse(estimator: Any, outer: Any, method: str) -> NoReturn:
    """Raise the error of an estimator without the method, or of a search that has kept none."""
    if hasattr(estimator, "refit"):
        check_is_fitted(estimator)
        raise TypeError(
            f"{method} needs the best estimator of {type(estimator).__name__}, "
            f"which refit={estimator.refit!r} has not kept"
        )
    name = type(estimator).__name__ if hasattr(estimator, "get_params") else repr(estimator)
    inside = "" if estimator is outer else f" (inside {type(outer).__name__})"
    scored = method == "predict_topk" and hasattr(estimator, "decision_function")
    hint = "; its best columns are np.argsort(-model.decision_function(X))[:, :k]" if scored else ""
    raise TypeError(f"{name}{inside} has no method {method}{hint}")


def learner_of(estimator: Any) -> Any:
    """Return the estimator that a model answers by: inside pipelines, and the classifier behind the
    vectorizer of a model that is both.
    """
    inner = find_inner(estimator, "predict_topk").estimator
    return getattr(inner, "classifier_", inner)


def rows_of_learner(estimator: Any, X: Any) -> Any:
    """Return samples as the estimator of :func:`learner_of` takes them."""
    inner = find_inner(estimator, "predict_topk")
    vectorizer = getattr(inner.estimator, "vectorizer_", None)
    X = inner.transform(X)
    return X if vectorizer is None else vectorizer.transform(X)


def names_after(transformers: list) -> np.ndarray | None:
    """Return the names of the features that come out of a chain of transformers.

    None without transformers, or where the last of them does not know the names, as of hashing.
    """
    names = None
    for step in transformers:
        try:
            names = step.get_feature_names_out(names)
        except (AttributeError, NotImplementedError, ValueError):
            # A hashing vectorizer, or a step of another library, has no names to give. Names are
            # shown in explanations only, so that nothing else depends on them.
            names = None
    return names
