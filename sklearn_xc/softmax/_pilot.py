"""The ridge and the rate of softmax models, found by short fits of some of the classes.

How strong a ridge serves best depends on how clean labels are, how many samples classes have and
how alike samples are: from a thousandth of the constant to ten times it. None of these puts sets in
order by itself (samples of bibtex and of docstrings are equally alike, and ten times apart in what
is best), and no rule in several was tried. Fits of some classes with all their samples find it.
Fewer samples of each class would want a weaker one, fewer classes want nearly the same. They are
judged by the log-loss of held-out samples.
"""

from typing import NamedTuple

import numpy as np

from ..training._schedules import share_of_rate
from ..utils._column_map import ColumnMap
from ..utils._random import stream
from ..utils._rows import Rows
from ._full_softmax import BATCH, INTERCEPT, RIDGE, ExactSteps, exact_weights
from ._probabilities import log_softmax

# A fifth of the classes with their samples make fits of a twenty-fifth of the operations. Fewer
# than three hundred, or all, are too unlike the whole; more than some thousand samples tell little
# more.
SHARE, FEWEST_CLASSES, MOST_ROWS = 0.2, 300, 3000
HELD_OUT, FEWEST_HELD_OUT = 0.2, 50
MOST_PASSES = 10
LOWEST, HIGHEST = -3.0, 1.0  # powers of ten of the constant
LEAST_RATE, HALF_DECADE = 0.1, 10**0.5
# Log-loss that another ridge must gain, and standard errors. Samples to come are less like those of
# training than held-out samples: digits, whose test samples are of other writers, lose by gains of
# 0.01.
WORTH_MORE, CHANCE = 0.02, 2
CLEAR_GAIN = 0.8  # times the log-loss


class RidgePilot(NamedTuple):
    """Some classes with their samples, a part of which is held out.

    Attributes
    ----------
    rows, held_out : Rows
        Of length 1 about, with the features that `rows` have.
    whole : bool
        Whether these are all classes.
    share : float
        Of all samples of these classes, that are trained on. Of ten times the samples of
        cooking_fasttext thirty times the ridge is best, of five times those of generated dense
        samples the same.
    intercept : float
        The constant feature of the intercepts; 0 without.
    """

    rows: Rows
    held_out: Rows
    y: np.ndarray
    y_held_out: np.ndarray
    weight: np.ndarray | None
    weight_held_out: np.ndarray | None
    n_classes: int
    n_passes: int
    batch_size: int
    whole: bool
    share: float
    intercept: float
    seed: int
    n_threads: int

    def losses(self, ridge: float | np.ndarray, rate: float) -> np.ndarray:
        """Return the log-loss of each held-out sample after a fit, times its weight: float64."""
        W, b = exact_weights(None, np.zeros(self.n_classes), self.rows.shape[1])
        samples = np.arange(len(self.y))
        steps = ExactSteps(
            self.rows,
            self.y,
            self.weight,
            W,
            b,
            samples,
            # Fewer samples of a class want a weaker ridge.
            alpha=np.sqrt(self.share) * ridge,
            intercept=self.intercept,
            adaptive=False,
            n_threads=self.n_threads,
        )
        for number in range(self.n_passes):
            order = stream(self.seed, "pass", number).permutation(samples).astype(np.int32)
            now = rate * float(share_of_rate("linear", number + 0.5, self.n_passes))
            steps.calm_epoch(order, self.batch_size, now, self.seed, number)
        steps.finish()
        scores = self.held_out.matrix() @ W[:, : self.n_classes] + b[: self.n_classes]
        own = np.arange(len(self.y_held_out)), self.y_held_out
        losses = -log_softmax(np.ascontiguousarray(scores, dtype=np.float32))[own]
        if self.weight_held_out is not None:
            losses = losses * (self.weight_held_out / self.weight_held_out.mean())
        # A fit that diverged has lost, and must not stop the search.
        return np.nan_to_num(losses, nan=1e30, posinf=1e30)


def pilot_of(
    rows: Rows,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    samples: np.ndarray,
    n_passes: int,
    seed: int,
    *,
    fit_intercept: bool,
    batch_size: int = BATCH,
    n_texts: int = 0,
    n_threads: int = 1,
) -> RidgePilot | None:
    """Return the RidgePilot of a fit of `n_passes` over these samples, None where too few could be
    held out.

    Rows have length 1 about; the last `n_texts` are texts of labels, which are not held out. The
    number of threads never changes the result.
    """
    # Whole classes with all their samples, up to MOST_ROWS: see the module for why.
    rng = stream(seed, "pilot")
    classes = rng.permutation(np.unique(y[samples]))
    n_classes, share = len(classes), min(SHARE, MOST_ROWS / max(len(samples), 1))
    classes = np.sort(classes[: max(FEWEST_CLASSES, int(share * n_classes))])
    of_them = samples[np.isin(y[samples], classes)]
    chosen = rng.permutation(of_them)[:MOST_ROWS]
    codes = np.searchsorted(classes, y[chosen]).astype(np.int32)
    first = np.unique(codes, return_index=True)[1]  # every class keeps a sample
    free = np.setdiff1d(np.flatnonzero(chosen < len(y) - n_texts), first)
    held_out = np.sort(rng.permutation(free)[: int(HELD_OUT * len(chosen))])
    if len(held_out) < FEWEST_HELD_OUT:
        return None
    parts = np.setdiff1d(np.arange(len(chosen)), held_out), held_out
    weights = [None if sample_weight is None else sample_weight[chosen[p]] for p in parts]
    trained, held = (rows.take(chosen[p]) for p in parts)
    used = np.zeros(rows.shape[1], dtype=bool)
    used[trained.features()] = True
    if 0 < 2 * used.sum() < len(used) and not rows.dense:
        # Weights of other features stay zero. Of 61,969 features 3,938 were used, and a fit took
        # 0.09 s instead of 0.20 s.
        columns = ColumnMap(np.flatnonzero(used), len(used))
        trained, held = trained.narrowed(columns), held.narrowed(columns)
    return RidgePilot(
        trained,
        held,
        *(codes[p] for p in parts),
        *weights,
        n_classes=len(classes),
        n_passes=min(n_passes, MOST_PASSES),
        batch_size=batch_size,
        whole=len(classes) == n_classes,
        share=len(parts[0]) / len(of_them),
        intercept=INTERCEPT if fit_intercept else 0.0,
        seed=seed,
        n_threads=n_threads,
    )


def ridge_by(pilot: RidgePilot | None, rate: float, usual: float = RIDGE) -> float:
    """Return the ridge for samples of length 1 that serves a RidgePilot best at this rate, the
    usual one for None.
    """
    if pilot is None:
        return usual
    tried = {}

    def losses(power: float) -> np.ndarray:
        if power not in tried:
            tried[power] = pilot.losses(usual * 10**power, rate)
        return tried[power]

    # From the usual one it goes down or up a decade at a time for as long as that gains more than
    # chance, and comes back half a decade if that loses no more.
    power = 0.0
    for step in (-1.0, 1.0):
        while LOWEST <= power + step <= HIGHEST and gains(losses(power + step), losses(power)):
            power += step
    half = power - np.sign(power) / 2
    return usual * 10 ** (power if gains(losses(power), losses(half)) else half)


def rate_by(pilot: RidgePilot | None, ridge: float | np.ndarray, rate: float) -> float:
    """Return the rate that serves a RidgePilot best: the given one, a higher one if the gain is
    clear, or lower ones where all classes are there.
    """
    if pilot is None:
        return rate
    # Fits of fewer samples make fewer steps, and scores of fewer classes grow further, which asks
    # for higher rates. So a higher one has to gain a fifth of the log-loss: three times the rate
    # gains 29 % on clean generated words, where it is best by 32 % on all classes, and 12 % on
    # misspellings, where it loses as much.
    # Chance alone must not decide: on 2,189 classes of misspellings it gained 17 %, three standard
    # errors, where all classes lose 10 %; on 3,108 commands in 39 languages 3 %, as many errors,
    # where all gain 1.7 % and 2 points. Pilots of as many steps, five times as long, turn the
    # commands down too.
    if not pilot.whole:
        higher = rate * HALF_DECADE
        better = pilot.losses(ridge, higher).mean() < CLEAR_GAIN * pilot.losses(ridge, rate).mean()
        return higher if better else rate
    before, lower = pilot.losses(ridge, rate), rate / HALF_DECADE
    while lower > LEAST_RATE and gains(found := pilot.losses(ridge, lower), before):
        before, rate, lower = found, lower, lower / HALF_DECADE
    return rate


def ridge_and_rate(
    pilot: RidgePilot | None, rate: float, usual: float = RIDGE
) -> tuple[float, float]:
    """Return the ridge that serves a RidgePilot best, and a rate that suits it."""
    ridge = ridge_by(pilot, rate, usual)
    if pilot is None or pilot.whole:
        return ridge, rate
    return ridge, rate_by(pilot, ridge, rate)


def gains(losses: np.ndarray, before: np.ndarray) -> bool:
    """Return whether losses of the same samples are less than those before, by more than chance."""
    gain = before - losses
    return gain.mean() > max(WORTH_MORE, CHANCE * gain.std() / np.sqrt(len(gain)))
