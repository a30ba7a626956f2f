"""Checks of the state of a fitted MemoirSVC."""

from ..utils._coordinates import Coordinates
from ..utils._records import is_a, is_count, is_not_negative, require_attributes
from ..utils._rows_seen import RowsSeen
from ._growing_weights import Iterates


def check_loaded(model, mapped):
    """Raise ValueError if attributes that were loaded do not fit together."""
    if "_saved" not in vars(model):
        return
    require_attributes(
        model, _saved=is_a(Iterates), _seen=is_a(RowsSeen), _squares=is_not_negative,
        _n_visited=is_count, _new=is_not_negative, _coordinates=is_a(Coordinates),
        _bias=is_not_negative, alpha_=is_not_negative, eta0_=is_not_negative,
        eta_step_=is_not_negative,
    )  # fmt: skip
    if vars(model).get("_coordinates", Coordinates()).sizes() - {model.n_features_in_}:
        raise ValueError("the coordinates of the samples do not fit the features")
    if not mapped:  # kernels follow them in training only
        model._saved.require_lists(model.n_features_in_, len(model.classes_))
    if "_n_batches" in vars(model):  # of a version that kept less: rates begin anew
        del model._n_batches
        model._coordinates = Coordinates()
        model._seen, model._squares, model._n_visited, model._new = RowsSeen(), 0.0, 0, 0.0
