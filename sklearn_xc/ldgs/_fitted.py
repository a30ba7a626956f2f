"""State of a fitted LDGSClassifier, and where training resumes."""

import numpy as np

from ..base._linear_model import checked_weights
from ..topk._feature_major import feature_major
from ..training._rows_seen import RowsSeen
from ..training._waiting import Waiting, take_back
from ..utils._records import (
    either,
    is_a,
    is_array,
    is_count,
    is_not_negative,
    is_number,
    is_one_of,
    is_positive,
    is_truth,
    require_attributes,
)
from ._auto import Plan
from ._prediction import dense
from ._train import Start, State, require_weights
from ._units import Units


def keep(model, outcome):
    """Set the attributes of a model by what training has come to.

    Parameters
    ----------
    model : LDGSClassifier
    outcome : Outcome
    """
    state = outcome.state
    model.hidden_dim_, model.gradient_ = state.plan.hidden_dim, state.plan.gradient
    model.learning_rate_, model.alpha_ = state.plan.learning_rate, outcome.alpha
    model._form, model._units, model._seen = state.plan.form, state.units, state.seen
    model._n_visited, model._searching = state.n_visited, state.searching
    model._n_threshold, model._waiting = state.n_threshold, None
    model._squares, model.n_scored_ = outcome.squares, outcome.n_scored
    model.n_iter_, model.loss_curve_ = len(outcome.loss_curve), np.array(outcome.loss_curve)
    vars(model).pop("validation_scores_", None)
    if outcome.scores:
        model.validation_scores_ = np.array(outcome.scores)
    set_model(model, *outcome.model)


# Attributes that go with lasting steps, and those that tell of a call.
LASTING = "_squares", "_n_visited", "_searching", "_n_threshold"
TOLD = "loss_curve_", "n_scored_"


def keep_weights(model, outcome, told, cold):
    """Keep weights of a step that the next call takes back, and of its state what counts rows.

    Parameters
    ----------
    model : LDGSClassifier
    outcome : Outcome
    told : bool
        Whether lasting steps have been told of in this call.
    cold : bool
        Whether there has been no lasting step at all.
    """
    kept = (() if cold else LASTING) + (TOLD if told else ())
    before = {name: vars(model)[name] for name in kept}
    keep(model, outcome)
    vars(model).update(before)


def tables_of(model):
    """Return the label embeddings, intercepts and, if there is one, the table of features."""
    table = model._kept_table()
    tables = [_kept_weights(model), np.asarray(model.intercept_ + model._threshold)]
    return tables if table is None else [*tables, table]


def _kept_weights(model):
    """Return the label embeddings; without a layer of the columns that are kept."""
    if model._kept_table() is None:
        return dense(model._kept_weights())
    return dense(checked_weights(model.coef_))


def put_back(model, coef, intercept, table=None):
    """Set what `tables_of` returned."""
    coef = model._as_coef(coef) if table is None else coef
    model.coef_, model.intercept_ = coef, intercept - model._threshold
    model.input_embeddings_ = table


def state_of(model):
    """Return the state from which training resumes, beside the weights."""
    plan = Plan(model._form, model.hidden_dim_, model.gradient_, model.learning_rate_, False)
    return State(
        plan,
        model._units,
        model._seen,
        model._n_visited,
        model._searching,
        float(model._threshold),
        model._n_threshold,
    )


def start_of(model):
    """Return the label embeddings, intercepts, feature embeddings and sums of squares to go on
    from.
    """
    if model._squared != (model.similarity == "sqeuclidean"):
        raise ValueError(
            f"similarity={model.similarity!r} is not that of the fit before, on whose weights "
            "training cannot go on with it"
        )
    W = _kept_weights(model)
    b = np.asarray(model.intercept_, dtype=np.float32) + model._threshold
    if len(W) == 1:  # two classes, one score
        W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
    return Start(W, b, model._kept_table(), tuple(part.copy() for part in model._squares))


def set_model(model, coef, intercept, table, threshold):
    """Predict with these label embeddings, intercepts and table of features from now on."""
    # Training goes on without the threshold: a constant in all rows would hide their
    # directions from an index.
    model._threshold = threshold
    model._squared = model.similarity == "sqeuclidean"  # of these weights, whatever is set later
    intercept = intercept - threshold
    model.input_embeddings_ = table
    if table is not None:
        table.flags.writeable = False
    for array in (coef, intercept):
        if not np.isfinite(array).all():
            raise ValueError(
                "the weights left the range of float32: use a smaller learning_rate, or "
                "scale the features"
            )
    if model._encoding.kind == "binary" and model.similarity == "linear":
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    elif _is_to_turn(model, coef, table):
        coef = feature_major(coef)[:, : len(coef)].T
    set_weights = model._set_kept_model if table is None else model._set_linear_model
    set_weights(coef, intercept.astype(np.float32))


def _is_to_turn(model, coef, table):
    """Return whether weights are to lie feature by feature, and do not."""
    kept = table is None and model._columns is not None  # which lie so in their index
    return model.similarity == "linear" and not kept and coef.strides[0] != coef.itemsize


def place_classes(model, places):
    """Bring weights and sums of the classes before to their places among those of now."""
    n_classes = len(model.classes_)
    width = model._n_kept if model.hidden_dim_ is None else model.hidden_dim_
    require_weights(model.hidden_dim_, n_classes, model._n_kept, width)

    def placed(rows):
        grown = np.zeros((n_classes, *rows.shape[1:]), dtype=np.float32)
        grown[places] = rows
        return grown

    waiting = take_back(model, tables_of, put_back)
    W, b, table, (squares_W, squares_U) = start_of(model)
    if len(squares_W):
        squares_W = placed(squares_W)
    model._squares = squares_W, squares_U
    set_weights = model._set_kept_model if table is None else model._set_linear_model
    set_weights(placed(W), placed(b) - model._threshold)
    if waiting is not None:
        model._waiting = waiting.placed(places, tables_of(model))


def check_loaded(model):
    """Raise ValueError if attributes that were loaded do not fit together."""
    require_attributes(
        model,
        _squares=is_a(tuple),
        _searching=is_truth,
        input_embeddings_=either(None, is_array(np.float32, ndim=2, finite=False)),
    )
    sizes = [{0, len(model.classes_)}, {0, model._n_kept}]
    for squares, allowed in zip(model._squares, sizes, strict=True):
        if not is_array(np.float32, finite=False)(squares) or len(squares) not in allowed:
            raise ValueError("the sums of squared gradients do not fit the weights")
    require_attributes(
        model,
        _form=is_one_of("hidden", "features", "columns", "rows"),
        _seen=is_a(RowsSeen),
        _n_visited=is_not_negative,
        _units=either(None, is_a(Units)),
        _threshold=is_number,
        _squared=is_truth,
        hidden_dim_=either(None, is_count),
        gradient_=is_one_of("exact", "decomposed", "sampled", "mips"),
        learning_rate_=is_positive,
        alpha_=is_not_negative,
        n_scored_=is_not_negative,
        _n_threshold=is_count,
        _waiting=either(None, is_a(Waiting)),
    )
    table, units = model._kept_table(), model._units
    if table is not None and len(table) != model._n_kept:
        raise ValueError("the embeddings of features are not one for each feature")
    if units is not None and len(units.mean) not in (0, model.n_features_in_):
        raise ValueError("the units do not fit the features")
    if (waiting := vars(model).get("_waiting")) is not None:
        weights = model._like_kept_weights() if table is None else model.coef_
        tables = [weights, model.intercept_, *([] if table is None else [table])]
        waiting.check(tables, len(model.classes_), model.n_features_in_)
