"""Settings of AugmentReduceClassifier: the bound, the rate and its schedule, where "auto"."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._full_softmax import BATCH as BATCH_OF_PLAIN
from ..training._convergence import number_of_passes
from ..utils._coordinates import Coordinates

PUBLISHED_RATE, PUBLISHED_LENGTH = 0.02, 68  # on Bibtex, with this many ones in a sample
# Times that, where it serves: with all classes, for gradients have no noise of drawing and rates
# fall to zero in the end; and where many classes share the steps of those drawn, or variables of
# the logistic model lag, so that 20 passes end far from the optimum. Gaussian noise and one-vs-each
# overfit with it.
QUICKER = 4
BATCH = 500  # of batch_size="auto"
# That of parts, which make few passes, so that more steps lead further. Of many classes a small
# batch names few, and each takes rare and noisy steps.
BATCH_OF_PARTS, CLASSES_OF_A_SAMPLE = 32, 4
PASSES = 20  # of max_iter="auto", where they make enough steps
PLAIN_PASSES = 10  # of plain steps
RIDGE = 1.0  # of alpha="auto", as LogisticRegression() has on standardised columns
# With some 30 times the classes that a sample of A&R sees, a step of all classes, whose weights
# stand one beside the other, takes as long; with this many it still repays what more it takes.
EXACT_CLASSES = 50
# Beyond, plain steps of all classes, in mini-batches of a few samples and without averages of
# squares, lead further in less time (esco_occupations, 3,025 classes, held out: log-loss 1.76 in
# 1.9 s, drawn classes 2.43 in 6.3 s), up to this many classes for each that a sample sees.
PLAIN_CLASSES = 2000
# Samples that gradients of automatic steps are scaled to, where there are more: so a step does not
# depend on how much data is still to come. With 500 to 5000 of them, models were about the same;
# one for each class where these are more, or a class's own samples would be a part of one.
REFERENCE = 500


@dataclass(frozen=True)
class PassSettings:
    """Settings of the passes of a fit, or of the one pass over a part."""

    model: str
    bound: str  # which never is "auto"
    batch_size: int
    n_sampled: int
    sampling: str
    local_steps: str
    max_iter: int
    learning_rate: float
    alpha: float | np.ndarray  # of each feature
    tol: float | None  # None: no end before max_iter
    n_iter_no_change: int
    n_steps: int  # made before
    seed: int
    n_threads: int
    n_whole: float  # samples that a gradient is scaled to
    entries: np.ndarray | None = None  # of each feature in all parts; None for a whole
    keeps_averages: bool = False
    plain: bool = False  # steps of one rate on all classes (see `_exact_steps`)
    falls_to_zero: bool = False  # the rate, by the end of the call; with all classes only
    shuffled: bool = True  # whether passes visit the samples in random order


def check_bound(model: BaseSoftmaxClassifier, part: bool = False) -> None:
    """Refuse a bound that is not one of the model, or of a part."""
    if model.model != "softmax" and model.bound == "one_vs_each":
        raise ValueError(
            f"bound={model.bound!r} is one of the softmax; with model={model.model!r} only "
            "bound='augment_reduce' and bound='exact' are possible"
        )
    if model.model != "softmax" and model.bound == "exact" and (part or not is_automatic(model)):
        raise ValueError(
            f"bound='exact' of model={model.model!r} has steps of its own, for fit only, with "
            "batch_size and learning_rate at 'auto'; use bound='augment_reduce'"
        )


def is_automatic(model: BaseSoftmaxClassifier) -> bool:
    """Return whether neither the size of the steps nor that of the mini-batches is given."""
    return model.learning_rate == "auto" and model.batch_size == "auto"


def bound_of(model: BaseSoftmaxClassifier, n_classes: int, part: bool = False) -> str:
    """Return the bound, where it is "auto" by what the steps cost; in a stream of many classes on
    drawn classes.
    """
    if model.bound != "auto":
        return model.bound
    # Exact gradients have no noise of drawing, and cost hardly more there.
    if model.model == "softmax" and are_few(n_classes, model):
        return "exact"
    # A stream of many classes goes on with the averages of squares that plain steps do not have.
    return "exact" if is_plain(model, "exact", n_classes, part) else "augment_reduce"


def is_plain(model: BaseSoftmaxClassifier, bound: str, n_classes: int, part: bool = False) -> bool:
    """Return whether the steps of a call are the plain ones of `_exact_steps`."""
    if bound != "exact" or part or not is_automatic(model):
        return False
    if model.model != "softmax" and model.bound == "exact":
        return True
    few, seen = are_few(n_classes, model), model.n_sampled_classes + 1
    return not few and (model.bound == "exact" or n_classes <= PLAIN_CLASSES * seen)


def are_few(n_classes: int, model: BaseSoftmaxClassifier) -> bool:
    """Return whether steps of all classes cost less than they bring."""
    return n_classes <= EXACT_CLASSES * (model.n_sampled_classes + 1)


def batch_size_of(model: BaseSoftmaxClassifier, part: bool = False) -> int:
    """Return samples of a mini-batch, of a fit or of a stream of parts."""
    if model.batch_size != "auto":
        return int(model.batch_size)
    if not part:
        return BATCH
    return min(max(BATCH_OF_PARTS, len(model.classes_) // CLASSES_OF_A_SAMPLE), BATCH)


def passes_of(model: BaseSoftmaxClassifier, n_visited: int) -> int:
    """Return the passes of a fit over this many samples."""
    n_classes = len(model.classes_)
    if is_plain(model, bound_of(model, n_classes), n_classes):
        return number_of_passes(model.max_iter, PLAIN_PASSES, n_visited, BATCH_OF_PLAIN)
    return number_of_passes(model.max_iter, PASSES, n_visited, batch_size_of(model))


def automatic_rate(entries_of_row: float) -> float:
    """Return the published rate for samples of this many entries; the intercept is one more."""
    # A step moves each weight by about the rate, and a score by the rate times the entries that its
    # sample has.
    return PUBLISHED_RATE * (PUBLISHED_LENGTH + 1) / (entries_of_row + 1)


def rate_of(
    model: BaseSoftmaxClassifier, bound: str, entries_of_row: float, part: bool
) -> tuple[float, bool]:
    """Return the first rate, and whether it falls to zero by the end of the call; a part has no
    end.
    """
    if model.learning_rate != "auto":
        return model.learning_rate, False
    rate = automatic_rate(entries_of_row)
    if bound == "exact":
        falls_to_zero = model.max_iter == "auto" and not part
        return rate * (QUICKER if falls_to_zero else 1), falls_to_zero
    # Logistic variables lag behind the weights; steps of drawn classes are shared by very many.
    lags = model.model == "logistic" or (
        bound == "augment_reduce"
        and model.model == "softmax"
        and not are_few(len(model.classes_), model)
    )
    return rate * (QUICKER if lags else 1), False


def mean_weight(sample_weight: np.ndarray) -> float:
    """Return the mean weight of the samples that count."""
    return float(sample_weight[sample_weight > 0].mean(dtype="float64"))


def settings_of(
    model: BaseSoftmaxClassifier,
    bound: str,
    sizes: tuple[int, int, np.ndarray | None],
    max_iter: int,
    part: float | None,
    **others: Any,
) -> PassSettings:
    """Return settings of the passes, with further ones in `others`.

    `sizes` are the numbers of samples, of samples trained on, and sample weights; `part` is None
    for a fit, and for a part how much of a mini-batch its last one is.
    """
    n_samples, n_training, weight = sizes
    entries_of_row, is_part = model._state.moments.entries_of_row, part is not None
    rate, falls_to_zero = rate_of(model, bound, entries_of_row, is_part)
    n_rows = model._state.seen.n_rows if is_part else n_training  # that gradients are scaled to
    # The global step scales a mini-batch to all N samples, by N / |B| (Algorithms 1 and 2).
    n_whole, tol = n_rows, model.tol
    if tol is None and model.early_stopping:
        tol = 0.0
    if model.learning_rate == "auto":
        # Steps of the published rate depend on N through 1 + sqrt(s). Automatic ones must not
        # depend on how much data is still to come.
        reference = max(REFERENCE, len(model.classes_))
        n_whole = reference if is_part else min(n_rows, reference)
        if is_part:  # of all calls
            # Sample weights count relative to their mean: twice the weights make no longer steps.
            n_whole /= model._state.seen.weight_of_visits / model._state.seen.n_visits
        elif weight is not None:
            n_whole /= mean_weight(weight)
    if is_part:
        # The step of leftover samples is as much of a step as they are of a mini-batch.
        n_whole *= part
    return PassSettings(
        model=model.model,
        bound=bound,
        batch_size=min(batch_size_of(model, is_part), n_samples),
        n_sampled=model.n_sampled_classes,
        sampling=model.sampling,
        local_steps=model.local_steps,
        max_iter=max_iter,
        learning_rate=rate,
        tol=tol if max_iter > 1 else None,
        n_iter_no_change=model.n_iter_no_change,
        n_steps=model.n_steps_,
        n_threads=model._threads(),
        n_whole=n_whole,
        falls_to_zero=falls_to_zero,
        shuffled=not is_part,
        **others,
    )


def require_memory_for(
    model: BaseSoftmaxClassifier, bound: str, n_samples: int, n_entries: int, keeps_averages: bool
) -> None:
    """Refuse a call whose weights and samples do not fit into memory."""
    # Variables, order and weights of the samples, and a copy of the values of X.
    also = 32 * n_samples + 4 * n_entries
    if bound == "exact":  # the scores of a mini-batch
        also += 4 * min(batch_size_of(model), n_samples) * len(model.classes_)
    model._require_weights(4 if keeps_averages else 2, also)


def coordinates_of(model: BaseSoftmaxClassifier, n_features: int, dense: bool) -> Coordinates:
    """Return the coordinates of the steps; published steps are on the columns as they are."""
    if model.learning_rate != "auto":
        return Coordinates(scale=np.ones(n_features))
    return model._state.moments.coordinates(dense)


def ridge_of(model: BaseSoftmaxClassifier, n_features: int, dense: bool) -> np.ndarray:
    """Return the strength of the penalty on each column's weights as they are."""
    if model.alpha != "auto":
        return np.full(n_features, float(model.alpha))
    return RIDGE * model._state.moments.coordinates(dense).scale ** 2


def alpha_of(model: BaseSoftmaxClassifier, settings: PassSettings) -> float:
    """Return the strength of the penalty as it was given; of "auto" that in units of the steps."""
    if model.alpha != "auto":
        return float(model.alpha)
    return float(settings.alpha) if settings.plain else RIDGE


def entries_of(model: BaseSoftmaxClassifier, coordinates: Coordinates) -> np.ndarray:
    """Return samples of all parts that have each feature, for the shares of the penalty."""
    # Once shifted to its mean, a column has no zeros.
    n_rows, moments = model._state.seen.n_rows, model._state.moments
    # Of rows like those that the moments are of, which may be fewer.
    entries = moments.n_entries * (n_rows / max(moments.n_rows, 1))
    return entries if coordinates.mean is None else np.where(coordinates.mean, n_rows, entries)
