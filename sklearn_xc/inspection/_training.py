"""What a model knows of its training, also inside pipelines and other wrappers."""

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..base._label_counts import LabelReport
from ..utils._unwrap import find_inner


def report_of_training(estimator: Any, instead: str) -> LabelReport:
    """Return the `label_report_` of the linear estimator inside a model, with the model's labels.

    Raises TypeError if there is no linear estimator of this package inside; it says what to give
    `instead`.
    """
    inner = find_inner(estimator, "predict_topk", into_meta_estimators=True).estimator
    check_is_fitted(inner)
    # A vectorizer and a classifier in one, which may know its labels by number.
    if hasattr(inner, "classifier_"):
        return replace(report_of_training(inner.classifier_, instead), labels=inner.classes_)
    if hasattr(inner, "estimator_"):
        return report_of_training(inner.estimator_, instead)
    if not hasattr(type(inner), "label_report_"):
        name = type(inner).__name__
        inside = "" if inner is estimator else f" (inside {type(estimator).__name__})"
        raise TypeError(
            f"{name}{inside} does not know training samples and weights of its labels, as linear "
            f"estimators of this package do: {instead}"
        )
    return inner.label_report_
