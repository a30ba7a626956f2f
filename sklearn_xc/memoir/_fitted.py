"""Checks of a fitted MemoirSVC: of its state, and whether it had time enough."""

import numpy as np

from ..training._convergence import still_rose, warn_not_converged
from ..training._rows_seen import RowsSeen
from ..utils._callbacks import FIT_CALLER
from ..utils._coordinates import Coordinates
from ..utils._records import (
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_number,
    is_text,
    require_attributes,
)
from ._growing_weights import Iterates


def check_loaded(model, mapped):
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _saved=is_a(Iterates),
        _seen=is_a(RowsSeen),
        _squares=is_not_negative,
        _n_visited=is_count,
        _new=is_not_negative,
        _coordinates=is_a(Coordinates),
        _bias=is_not_negative,
        alpha_=is_not_negative,
        eta0_=is_not_negative,
        eta_step_=is_not_negative,
        search_=is_text,
        recall_=is_number,
        n_scored_=is_not_negative,
        _totals=is_array(np.float64, least=0),
    )
    if "_saved" not in vars(model):
        return
    if vars(model).get("_coordinates", Coordinates()).sizes() - {model.n_features_in_}:
        raise ValueError("the coordinates of the samples do not fit the features")
    if not mapped:  # kernels follow them in training only
        model._saved.require_lists(model._n_kept, len(model.classes_))


def warn_if_still_rising(model, outcome):
    """Warn where the score of the samples kept apart still rose when `max_iter` ended a fit."""
    if outcome.scores and not outcome.stopped and still_rose(outcome.scores):
        warn_not_converged(
            f"the macro-averaged F1 of the samples kept apart was still rising within "
            f"n_iter_no_change={model.n_iter_no_change} passes when max_iter ended the fit "
            f"after {model.n_iter_}: use a larger max_iter",
            stacklevel=FIT_CALLER + 1,
        )
