"""Parameters that a fit has chosen, for copies whose scores are compared with those of the fit."""

from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def choices_of(fitted: Any, searches: bool = False) -> dict[str, Any]:
    """Return parameters, for `set_params`, with which a fit of other samples chooses as this one.

    An estimator that chooses parameters by trial has a method `_choices`; Pipelines are looked
    into. With `searches` the best estimator takes the place of a search that ends a Pipeline.
    """
    if isinstance(fitted, FrozenEstimator):  # it stays as it is, and answers for its estimator
        return {}
    if isinstance(fitted, Pipeline):
        name, last = fitted.steps[-1]
        if searches and _is_search(last):
            return {name: with_choices_of(last, last)}
        return named_inside(name, choices_of(last))
    return fitted._choices() if hasattr(fitted, "_choices") else {}


def named_inside(name: str, choices: dict[str, Any]) -> dict[str, Any]:
    """Return choices by the names that they have outside, where the estimator is a parameter."""
    return {f"{name}__{parameter}": value for parameter, value in choices.items()}


def with_choices_of(estimator: Any, fitted: Any, params: dict[str, Any] | None = None) -> Any:
    """Return the estimator, as a copy with the choices of `fitted`, its fit on all samples.

    Penalties that each copy chooses by trial differ up to fifty times, and its scores with them: no
    threshold or calibration of the scores of several copies would fit the estimator that predicts.
    A search gives way to its best estimator, unless fit has `params`: its own may be among them,
    such as groups, which the best estimator would not take.
    """
    if not params and _is_search(fitted):
        estimator = fitted = fitted.best_estimator_
    choices = choices_of(fitted, searches=not params)
    return clone(estimator).set_params(**choices) if choices else estimator


def _is_search(fitted: Any) -> bool:
    """Return whether `fitted` is GridSearchCV or its like, and predicts by its best estimator."""
    return hasattr(fitted, "best_params_") and hasattr(fitted, "best_estimator_")
