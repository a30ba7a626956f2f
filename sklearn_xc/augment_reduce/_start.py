"""The weights that Augment-and-Reduce starts from, and their way into coordinates and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..softmax._base import BaseSoftmaxClassifier
from ..softmax._coordinates import Weights
from ..topk._feature_major import untouched_zeros
from ..utils._coordinates import Coordinates
from ._noise_models import slope_of_noise

CLASSES_AT_ONCE = 256  # so that Ctrl-C is heard between them


def in_memory(zeros: np.ndarray) -> np.ndarray:
    """Have the system give the memory of untouched zeros now, some classes at a time.

    The first mini-batch would otherwise wait for all of it, and with it a Ctrl-C.
    """
    for start in range(0, len(zeros), CLASSES_AT_ONCE):
        zeros[start : start + CLASSES_AT_ONCE] = 0
    return zeros


def start_of(
    model: BaseSoftmaxClassifier,
    codes: np.ndarray,
    sample_weight: np.ndarray | None,
    seed: int,
    made: bool,
) -> tuple[Any, np.ndarray]:
    """Return weights and intercepts of a cold start; the weights are None where they are zeros that
    are not to be `made`.
    """
    n_classes = len(model.classes_)
    if made:
        W, b = initial_weights(n_classes, model._n_kept, model.init_scale, seed)
    else:
        W, b = None, np.zeros(n_classes, dtype=np.float32)
    if model.init_scale == "auto":
        frequencies = np.bincount(codes, weights=sample_weight, minlength=n_classes)
        # Steps of a small rate would take thousands to find them.
        b[:] = utilities_of_frequencies(frequencies, model.model)
    return W, b


def initial_weights(n_classes: int, n_features: int, scale: float | str, seed: int) -> Weights:
    """Draw normal weights, and intercepts of a hundredth of their deviation (section 4)."""
    generator = np.random.default_rng(seed)
    W = untouched_zeros((n_classes, n_features))
    if scale == "auto" or scale == 0:
        return in_memory(W), np.zeros(n_classes, dtype=np.float32)
    for start in range(0, n_classes, CLASSES_AT_ONCE):
        block = W[start : start + CLASSES_AT_ONCE]
        generator.standard_normal(out=block, dtype=np.float32)
        block *= np.float32(scale)
    b = generator.standard_normal(n_classes, dtype=np.float32) * np.float32(scale / 100)
    return W, b


def utilities_of_frequencies(counts: np.ndarray, model: str) -> np.ndarray:
    """Return intercepts under which classes are chosen about as often as in the samples."""
    # With features that are zero, those of the softmax are the logarithms of the frequencies. A
    # class has half a sample more, so that none is impossible.
    logarithms = np.log((counts + 0.5) / (counts.sum() + 0.5 * len(counts)))
    logarithms -= logarithms.mean()
    # The tail of the logistic distribution is that of Gumbel's; the Gaussian's near the largest of
    # many draws falls off faster by about the size of that draw, of one draw less here.
    logarithms /= slope_of_noise(model, len(counts) - 1)
    return logarithms.astype(np.float32)


def to_inside(W: np.ndarray, b: np.ndarray, coordinates: Coordinates) -> None:
    """Bring weights and intercepts into coordinates, in place; some classes at a time."""
    for block, intercepts in _blocks(W, b):
        if coordinates.mean is not None:
            intercepts += (block @ coordinates.mean).astype(np.float32)
        block *= coordinates.scale.astype(np.float32)


def to_outside(W: np.ndarray, b: np.ndarray, coordinates: Coordinates) -> Weights:
    """Return the inverse, in place too; returns W and b."""
    for block, intercepts in _blocks(W, b):
        block /= coordinates.scale.astype(np.float32)
        if coordinates.mean is not None:
            intercepts -= (block @ coordinates.mean).astype(np.float32)
    return W, b


def _blocks(W: np.ndarray, b: np.ndarray) -> Iterator[Weights]:
    for start in range(0, len(b), CLASSES_AT_ONCE):
        part = slice(start, start + CLASSES_AT_ONCE)
        yield W[part], b[part]
