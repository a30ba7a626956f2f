"""The samples of a call, and a few of them on which the bound is watched."""

from typing import NamedTuple

import numpy as np

from ..softmax._coordinates import Weights
from ..softmax._probabilities import log_softmax
from ..topk._inverted_index import InvertedIndex
from ..utils._random import stream
from ..utils._rows import Rows
from ._noise_models import log_probability_of

# The bound is watched on this many samples, fewer where they would have more scores than WATCHED.
MOST_WATCHED, FEWEST_WATCHED, WATCHED = 200, 16, 4_000_000


class Samples(NamedTuple):
    """The data of a call."""

    rows: Rows
    y: np.ndarray
    weight: np.ndarray | None
    held_out: np.ndarray  # bool (n_samples,)

    @property
    def training(self) -> np.ndarray:
        """The samples to visit: those of weight zero are not."""
        visited = ~self.held_out if self.weight is None else ~self.held_out & (self.weight > 0)
        return np.flatnonzero(visited)

    def few(self, n_classes: int, seed: int) -> tuple["Watched", "Watched | None"]:
        """Return a few of the samples trained on, and of those held out, if there are any."""
        trained = self._watched(self.training, n_classes, seed)
        if not self.held_out.any():
            return trained, None
        return trained, self._watched(np.flatnonzero(self.held_out), n_classes, seed, True)

    def _watched(
        self, among: np.ndarray, n_classes: int, seed: int, held_out: bool = False
    ) -> "Watched":
        # Scores of all classes for each: fewer samples where classes are many.
        size = max(FEWEST_WATCHED, min(MOST_WATCHED, WATCHED // n_classes))
        places = np.sort(stream(seed, "watched").permutation(among)[:size]).astype(np.int32)
        weight = None if self.weight is None else self.weight[places]
        return Watched(self.rows.take(places), self.y[places], weight, places, held_out)


class Watched(NamedTuple):
    """A few of some samples, always the same for a seed, to evaluate the bound on."""

    rows: Rows
    y: np.ndarray
    weight: np.ndarray | None
    places: np.ndarray  # int32, their numbers
    held_out: bool

    def mean(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.weight))

    def log_likelihood(self, weights: Weights, model: str, n_threads: int) -> float:
        """Return their mean log-likelihood, by weights (n_classes, n_features) and intercepts."""
        psi = np.ascontiguousarray(InvertedIndex(*weights).scores(self.rows, n_threads))
        if model == "softmax":
            return self.mean(log_softmax(psi)[np.arange(len(self.y)), self.y])
        return self.mean(log_probability_of(psi, self.y, model, n_threads))
