"""Reasons of a score, in values that JSON takes."""

from ..base._explanation import Explanation
from ..stacking._explain import StackExplanation


def contributions(item: Explanation) -> dict[str, float]:
    """Return what each feature, sample or part gave to a score, by its name."""
    names = [str(name) for name in item.feature_names]
    return dict(zip(names, item.contributions.tolist(), strict=True))


def as_json(item: Explanation) -> dict:
    """Return an explanation; of a stack with the words of its parts."""
    pairs = list(contributions(item).items())
    of: dict = {"words": pairs}
    if isinstance(item, StackExplanation):
        of = {"parts": pairs, "reasons": {name: as_json(one) for name, one in item.parts.items()}}
    ends = {"rest": item.rest, "intercept": item.intercept}
    return {"label": item.label, "score": item.score, **of, **ends}
