"""Parameters that a fit has chosen, for copies whose scores are compared with those of the fit."""

from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def choices_of(fitted: Any) -> dict[str, Any]:
    """Return parameters, for `set_params`, with which a fit of other samples chooses as this one.

    An estimator that chooses parameters by trial has a method `_choices`; Pipelines are looked
    into. Others, also searches, have nothing to say.
    """
    if isinstance(fitted, FrozenEstimator):  # it stays as it is, and answers for its estimator
        return {}
    if isinstance(fitted, Pipeline):
        name, last = fitted.steps[-1]
        return named_inside(name, choices_of(last))
    return fitted._choices() if hasattr(fitted, "_choices") else {}


def named_inside(name: str, choices: dict[str, Any]) -> dict[str, Any]:
    """Return choices by the names that they have outside, where the estimator is a parameter."""
    return {f"{name}__{parameter}": value for parameter, value in choices.items()}


def with_choices_of(estimator: Any, fitted: Any) -> Any:
    """Return the estimator, as a copy with the choices of `fitted`, its fit on all samples.

    Penalties that each copy chooses by trial differ up to fifty times, and its scores with them: no
    threshold or calibration of the scores of several copies would fit the estimator that predicts.
    """
    choices = choices_of(fitted)
    return clone(estimator).set_params(**choices) if choices else estimator
