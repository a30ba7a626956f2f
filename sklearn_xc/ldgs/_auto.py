"""Automatic settings of LDGSClassifier: layer, gradient, rate, ridge, passes."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..base._validation import search_params
from ..softmax._full_softmax import BATCH, RATE
from ..training._convergence import number_of_passes
from ..training._rows_seen import RowsSeen
from ..training._schedules import share_of_part
from ._layers import StepSettings

# X with fewer entries other than zero, as a share, is taken feature by feature, whatever holds it.
MOSTLY_ZEROS = 0.1
HIDDEN_DIM = 100
MOST_WEIGHTS = 2**27  # of words by classes without a layer: half a GB, and as much for the model
# A class that is searched for costs as much time as this many in a matrix product: measured
# on 1600 to 20 000 classes, see the page "Embeddings of labels (LDGS)".
SEARCHED = 20
# Classes from which on, and up to which, steps of one rate on all of them are taken where "auto"
# may choose, and how many weights they may have: 4 GB.
PLAIN_FROM, PLAIN_TO, PLAIN_WEIGHTS = 1000, 50_000, 2**30
PASSES = 10
# Few weights learnt from more samples bear many steps, and need them to come near the optimum; with
# more weights than samples the passes are part of the regularisation.
STEPS_BY_COLUMN = 5000
# On rows of unit length. By feature a step moves each weight of a row's words, by column one
# direction; with a layer the scores are products of two of them.
RATES = {"features": 2.0, "columns": 10.0, "rows": 10.0, "hidden": 0.5}
RATES_SGD = {"features": 4.0, "columns": 4.0, "rows": 4.0, "hidden": 1.0}  # 2 over the curvature
# The ridge of these steps from which "auto" sets out: a score is as likely 5 as the own class of
# one sample in 20 is missed.
PRIOR = 0.04

NAMED_TOGETHER = 4  # times the root of the number of classes: what all chunks name for a sample


class Plan(NamedTuple):
    """How a model is trained."""

    # "hidden": with a layer. Without one by "features" of sparse rows, by "columns" of dense rows
    # in units of their own, or by dense "rows" as they are.
    form: str
    hidden_dim: int | None
    gradient: str
    learning_rate: float
    in_units: bool  # whether the rate is for rows in units of their own (`_units`)
    plain: bool = False  # whether steps are those of `_plain_steps`


class LDGSCall(NamedTuple):
    """Parameters and plan of a call, as the functions that make its passes read them."""

    params: BaseEstimator  # an LDGSClassifier, of which parameters are read and nothing else
    plan: Plan
    n_passes: int  # at most
    seed: int
    n_threads: int


def is_plain(model: BaseEstimator, n_features: int, n_classes: int) -> bool:
    """Return whether steps of one rate on all classes serve, where rows have one label each."""
    # "auto" may choose these steps only where the user has not chosen otherwise.
    free = (model.solver, model.learning_rate) == ("auto", "auto")
    free = free and model.gradient in ("auto", "exact") and model.hidden_dim in ("auto", None)
    of_loss = (model.loss, model.similarity) == ("cross_entropy", "linear")
    fits = n_classes * n_features <= PLAIN_WEIGHTS
    return free and of_loss and fits and PLAIN_FROM <= n_classes <= PLAIN_TO


def make_plan(
    model: BaseEstimator, few: bool, n_features: int, n_classes: int, single: bool = False
) -> Plan:
    """Return the plan of a fit, from the parameters of the model and what X is.

    `few` says that rows have few entries other than zero or, where the rate is given, are sparse;
    `single` that all samples are at hand, with one label each.
    """
    if single and is_plain(model, n_features, n_classes):
        # RATE is for mini-batches of up to twice BATCH samples, the default here: with half of it
        # three of ten sets ended 8 to 11 % above the log-loss that they reach in the same passes,
        # and the others gain at most 1 %. Larger ones take a lower one.
        rate = RATE * min(1.0, 2 * BATCH / model.batch_size)
        return Plan("features" if few else "columns", None, "exact", rate, True, True)
    linear, automatic = model.similarity == "linear", model.learning_rate == "auto"
    hidden_dim = model.hidden_dim
    if hidden_dim == "auto":
        # Distances to sparse rows as they are would have to be of all features.
        too_wide = n_classes * n_features > MOST_WEIGHTS or not linear
        hidden_dim = HIDDEN_DIM if few and too_wide else None
    by_feature = hidden_dim is None and linear and few
    gradient = model.gradient
    if gradient == "auto":
        # About sqrt(K) classes for each chunk and as many drawn, each as dear as SEARCHED classes
        # in a matrix product.
        retrieved = (model.n_chunks + 1) * np.sqrt(n_classes)
        gradient = "exact" if by_feature or n_classes <= SEARCHED * retrieved else "decomposed"
    if hidden_dim is not None:
        form = "hidden"
    elif by_feature and gradient == "exact":
        form = "features"
    else:
        # Columns of one unit help where the rate is to suit any X; distances have the unit of X.
        form = "columns" if linear and automatic and not few else "rows"
    return Plan(form, hidden_dim, gradient, rate_of(model, form), automatic and linear)


def rate_of(model: BaseEstimator, form: str) -> float:
    """Return the first rate."""
    if model.learning_rate != "auto":
        return float(model.learning_rate)
    rates = RATES_SGD if model.solver == "sgd" else RATES  # "auto" is Adagrad elsewhere
    return rates["hidden" if model.similarity == "sqeuclidean" else form]


def query_size_of(model: BaseEstimator, gradient: str, n_classes: int, n_chunks: int) -> int:
    """Return how many classes an index names, or are drawn."""
    size = model.query_size
    if size == "auto":
        # Section 4: spherical clustering needs Q >= sqrt(K), for lists of K / C <= Q rows and C <=
        # Q centroids.
        size = NAMED_TOGETHER / n_chunks if gradient == "decomposed" else 1
        size *= np.sqrt(n_classes)
    elif size < 1:
        size *= n_classes
    return min(int(np.ceil(size)), n_classes)


def passes(model: BaseEstimator, form: str, n_samples: int, n_weights: int) -> int:
    """Return the passes of a fit over this many samples."""
    found = number_of_passes(model.max_iter, PASSES, n_samples, model.batch_size)
    if model.max_iter == "auto" and form == "columns":
        steps = STEPS_BY_COLUMN * min(1.0, n_samples / n_weights)
        # Up to STEPS_BY_COLUMN steps; by the share, with fewer samples than weights only a few.
        found = max(found, int(np.ceil(steps / -(-n_samples // model.batch_size))))
    return found


def settings_of(
    params: BaseEstimator, plan: Plan, shape: tuple[int, int], n_samples: int, seen: RowsSeen | None
) -> StepSettings:
    """Return the settings of the steps of a call.

    `shape` is of classes and features, `n_samples` counts those of calls before too; `seen` are the
    samples of a fit in parts, None where all are at hand.
    """
    batch_size, rate = params.batch_size, plan.learning_rate
    if seen is None:
        # A step is on the sum over the size of a mini-batch: of few samples it would be short.
        batch_size = max(1, min(batch_size, n_samples))
    elif params.decay != "inverse_steps":  # of which steps know by themselves
        rate *= share_of_part(params.decay, seen)
    (n_classes, n_features), gradient = shape, plan.gradient
    dim = n_features if plan.hidden_dim is None else plan.hidden_dim
    # An index needs a column at least; only "decomposed" cuts.
    n_chunks = min(params.n_chunks, dim) if gradient == "decomposed" else 1
    of_search = search_params(params)
    n_centroids = of_search["n_centroids"]
    if n_centroids is None:
        # C = sqrt(K) balances the centroids and the rows of a list that a query compares (section
        # 4).
        n_centroids = max(1, round(np.sqrt(n_classes)))
    return StepSettings(
        loss=params.loss,
        score=params.similarity,
        gradient=gradient,
        n_chunks=n_chunks,
        n_message_passes=params.n_message_passes if gradient == "decomposed" else 0,
        query_size=query_size_of(params, gradient, n_classes, n_chunks),
        index=params.index,
        n_centroids=min(n_centroids, n_classes),
        n_probes=of_search["n_probes"],
        tau=float(params.tau),
        mu=float(params.mu),
        unretrieved=params.unretrieved,
        fit_intercept=bool(params.fit_intercept),
        warmup=params.warmup,
        solver="sgd" if params.solver == "sgd" else "adagrad",
        batch_size=batch_size,
        learning_rate=rate,
        decay=params.decay,
        max_iter=passes(params, plan.form, n_samples, n_classes * n_features),
        alpha=0.0,
        of_parts=seen is not None,
        query_threshold=params.query_threshold,
    )
