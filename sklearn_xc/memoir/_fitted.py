"""Checks of a fitted MemoirSVC: of its state, and whether it had time enough."""

from ..base._classifier import BaseXCClassifier
from ..training._convergence import still_rose, warn_not_converged
from ..utils._callbacks import FIT_CALLER
from ..utils._records import (
    is_a,
    is_not_negative,
    is_number,
    is_text,
    require_attributes,
)
from ._state import MemoirState
from ._train import MemoirOutcome


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


def warn_if_still_rising(model: BaseXCClassifier, outcome: MemoirOutcome) -> None:
    """Warn where the score of the samples kept apart still rose when `max_iter` ended a fit."""
    if outcome.scores and not outcome.stopped and still_rose(outcome.scores):
        warn_not_converged(
            f"the macro-averaged F1 of the samples kept apart was still rising within "
            f"n_iter_no_change={model.n_iter_no_change} passes when max_iter ended the fit "
            f"after {model.n_iter_}: use a larger max_iter",
            stacklevel=FIT_CALLER + 1,
        )
