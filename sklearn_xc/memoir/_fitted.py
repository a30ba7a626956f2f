"""Checks of the state of a fitted MemoirSVC."""

from ..utils._coordinates import Coordinates
from ..utils._records import either, is_a, is_count, is_not_negative, require_attributes
from ..utils._rows_seen import RowsSeen
from ..utils._sizes_seen import Columns
from ._growing_weights import Iterates


def check_loaded(model, mapped):
    """Raise ValueError if attributes that were loaded do not fit together."""
    if "_saved" not in vars(model):
        return
    require_attributes(
        model, _saved=is_a(Iterates), _seen=is_a(RowsSeen), _squares=is_not_negative,
        _n_visited=is_count, _new=is_not_negative, _coordinates=is_a(Coordinates),
        _weight_of_squares=is_not_negative, _columns=either(None, is_a(Columns)),
        _bias=is_not_negative, alpha_=is_not_negative, eta0_=is_not_negative,
        eta_step_=is_not_negative,
    )  # fmt: skip
    if vars(model).get("_coordinates", Coordinates()).sizes() - {model.n_features_in_}:
        raise ValueError("the coordinates of the samples do not fit the features")
    if not mapped:  # kernels follow them in training only
        model._saved.require_lists(model.n_features_in_, len(model.classes_))
    if "_seen" in vars(model) and "_columns" not in vars(model):  # of 0.1: coordinates stay
        model._columns, model._weight_of_squares = None, model._seen.weight_of_visits
    if "_n_batches" in vars(model):  # of a version that kept less: rates begin anew
        del model._n_batches
        model._coordinates = Coordinates()
        model._seen, model._squares, model._n_visited, model._new = RowsSeen(), 0.0, 0, 0.0
        model._weight_of_squares, model._columns = 0.0, Columns()
