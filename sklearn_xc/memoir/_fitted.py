"""Checks of the attributes of a fitted MemoirSVC."""

from ..base._classifier import BaseXCClassifier
from ..utils._records import is_a, is_not_negative, is_number, is_text, require_attributes
from ._state import MemoirState


def check_loaded(model: BaseXCClassifier, mapped: bool) -> None:
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _state=is_a(MemoirState),
        alpha_=is_not_negative,
        eta0_=is_not_negative,
        eta_step_=is_not_negative,
        search_=is_text,
        recall_=is_number,
        n_scored_=is_not_negative,
    )
    state = vars(model).get("_state")
    if state is None or state.saved is None:
        return
    if state.coordinates.sizes() - {model.n_features_in_}:
        raise ValueError("the coordinates of the samples do not fit the features")
    if not mapped:  # kernels follow them in training only
        state.saved.require_lists(model._n_kept, len(model.classes_))
