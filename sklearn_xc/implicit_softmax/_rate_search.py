"""The rate search of the implicit SGD paper, and the objective that it compares by."""

from typing import NamedTuple

import numpy as np

from ..utils._callbacks import SILENT
from ..utils._parallel import run_blocks
from ..utils._random import stream
from ..utils._rows import Rows
from ._solvers import Data, DivergenceError

DECADE = 2  # places
RATES = 10.0 ** (np.arange(-4 * DECADE, 4 * DECADE + 1) / DECADE)  # for rows of length 1
FIRST = [3 * DECADE, 4 * DECADE, 5 * DECADE]  # places of 0.1, 1 and 10
MOST_TRIED = 8  # three, three in one direction, two between decades
FEW = 1000  # samples whose objective is enough for a first look
WORTH_MORE = 1e-3  # a gain of less than that, relatively, is not worth another fit
SHARE = 0.1  # of the rows, section 4.1
FEWEST_ROWS = 1000  # a tenth of fewer than 10 000 rows would say little; all where there are fewer
FEWEST_A_CLASS = 4
FEWEST_VALIDATION = 250
CLASSES_AT_ONCE = 256
SCORES_AT_ONCE = 2**22


def objective(rows, y, sample_weight, W, b, alpha):
    """Mean log-loss of the softmax plus the ridge of a sample.

    Parameters
    ----------
    rows : Rows
    y : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or of size 0 for weights of 1
    W, b : ndarray of float32 (n_classes, n_features) and (n_classes,)
    alpha : float, or ndarray (n_features,)

    Returns
    -------
    objective : float
        (sum of weighted log-losses + alpha / 2 ||W||^2) / sum of weights. Not finite where the
        weights are not.
    """
    n_samples, n_classes = rows.shape[0], len(b)
    top = np.full(n_samples, -np.inf)
    total = np.zeros(n_samples)
    own = np.zeros(n_samples)
    square = 0.0
    size = max(1, SCORES_AT_ONCE // CLASSES_AT_ONCE)
    X = rows.matrix()
    with np.errstate(all="ignore"):
        for first in range(0, n_classes, CLASSES_AT_ONCE):
            w = np.ascontiguousarray(W[first : first + CLASSES_AT_ONCE].T)
            bias = b[first : first + CLASSES_AT_ONCE]
            if np.ndim(alpha):
                square += float(np.einsum("jk,jk,j->", w, w, alpha))
            elif alpha > 0:
                square += alpha * float(np.vdot(w, w))
            for start in range(0, n_samples, size):
                part = slice(start, start + size)
                scores = X[part] @ w + bias
                inside = np.flatnonzero((y[part] >= first) & (y[part] < first + len(bias)))
                own[start + inside] = scores[inside, y[part][inside] - first]
                higher = np.maximum(top[part], scores.max(axis=1))
                scores -= higher[:, None].astype(np.float32)
                sums = np.exp(scores, out=scores).sum(axis=1, dtype=np.float64)
                total[part] = total[part] * np.exp(top[part] - higher) + sums
                top[part] = higher
        losses = top + np.log(total) - own
        weight = sample_weight if sample_weight.size else np.ones(n_samples)
        weight = weight.astype(np.float64)
        used = weight > 0
        loss = losses[used] @ weight[used] + square / 2
    return float(loss / weight.sum())


def few_of(data, alpha, seed):
    """So few samples that a look at their objective costs little; and the ridge's share of them."""
    counted = data.visited()
    chosen = np.sort(stream(seed, "objective").permutation(counted)[:FEW])
    weight = data.weight[chosen] if data.weight.size else data.weight
    few = Data(data.rows.take(chosen), data.y[chosen], weight)
    return few, alpha * (few.total_weight() / data.total_weight())


class Found(NamedTuple):
    """Result of a rate search.

    Attributes
    ----------
    rate : float
    at_end : bool
        Whether the last rate tried was still better than the one before.
    """

    rate: float
    at_end: bool


def search_rate(train, rows, y, sample_weight, alpha, seed, n_jobs, progress=SILENT):
    """The best rate for a tenth of the rows (section 4.1), among powers of ten and of their root.

    From 0.1, 1 and 10 on it goes in the direction of the best for as long as that gets better, and
    looks half a decade to both sides in the end. Rates are compared by the log-loss of
    validation rows, at most as many as were trained on, or, where there are hardly any, by the
    training objective.

    Parameters
    ----------
    train : callable
        ``train(rows, y, sample_weight, alpha, rate)`` returns weights and intercepts; at module
        level or picklable.
    rows : Rows
        Of length 1 about.
    y : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or of size 0
    alpha : float, or ndarray (n_features,)
        For all rows; on a part of them the same part of it is used.
    seed : int
        Chooses the rows.
    n_jobs : as in joblib
    progress : Progress
        Of the fit; told of each rate that was tried.

    Returns
    -------
    found : Found
        The smallest of the best.

    Raises
    ------
    DivergenceError
        If every rate did.
    """
    counted = np.flatnonzero(sample_weight) if sample_weight.size else np.arange(len(y))
    n_rows = rows_of_part(len(counted), len(np.unique(y[counted])))
    order = stream(seed, "rates").permutation(counted)
    chosen, others = np.sort(order[:n_rows]), np.sort(order[n_rows : 2 * n_rows])

    def part(samples):
        weight = sample_weight[samples] if sample_weight.size else sample_weight
        return *rows.take(samples), y[samples], weight

    weight = sample_weight[chosen] if sample_weight.size else sample_weight
    share = weight.sum() / sample_weight.sum() if weight.size else n_rows / len(counted)
    trials = progress.before(MOST_TRIED, "rate")
    validation = part(others) if len(others) >= FEWEST_VALIDATION else ()

    def losses(places):
        return run_blocks(
            _trial, [float(RATES[p]) for p in places], train, float(share), alpha,
            *part(chosen), *validation, n_jobs=n_jobs, progress=trials,
            reached=lambda loss: {"loss": loss},
        )  # fmt: skip

    return climb(losses)


def rows_of_part(n_rows, n_classes):
    """How many rows rates are tried on: a tenth, more where that is few, or few for each class.

    On fewer the best rate is one for steps that see each class hardly ever.
    """
    of_classes = min(FEWEST_A_CLASS * n_classes, n_rows // 3)
    return min(n_rows, max(FEWEST_ROWS, int(np.ceil(SHARE * n_rows)), of_classes))


def climb(losses):
    """The place of the least loss, looked for from the middle of the grid on.

    Parameters
    ----------
    losses : callable
        ``losses(places)`` of some places of RATES; not finite where a fit is not.
    """
    found = dict(zip(FIRST, losses(FIRST), strict=True))
    while True:
        best = _best(found)
        direction = {min(found): -1, max(found): 1}.get(best)
        if direction is None or not _gains(found, best - direction * DECADE, best):
            break
        if not 0 <= best + direction * DECADE < len(RATES):
            if not np.isfinite(found[best]):
                raise DivergenceError(f"every rate from {RATES[0]:g} to {RATES[max(found)]:g} did")
            return Found(float(RATES[best]), True)
        found[best + direction * DECADE] = losses([best + direction * DECADE])[0]
    between = [best + step for step in (-1, 1) if 0 <= best + step < len(RATES)]
    found |= zip(between, losses(between), strict=True)
    return Found(float(RATES[_best(found)]), False)


def _best(found):
    """The smallest place of the least loss; the lowest of all if no loss is finite."""
    best = min(found, key=lambda place: (found[place], place))
    return best if np.isfinite(found[best]) else min(found)


def _gains(found, before, best):
    """Whether the way to the best place has still been worth a fit."""
    if not np.isfinite(found[before]):
        return True
    return found[before] - found[best] > WORTH_MORE * abs(found[best])


def _trial(rate, train, share, alpha, *parts):
    n = len(Rows._fields) + 2
    (rows, y, sample_weight), validation = _joined(parts[:n]), parts[n:]
    try:
        W, b = train(rows, y, sample_weight, share * alpha, rate)
    except DivergenceError:
        return np.inf
    if validation:
        found = objective(*_joined(validation), W, b, 0.0)
    else:
        found = objective(rows, y, sample_weight, W, b, share * alpha)
    return found if np.isfinite(found) else np.inf


def _joined(part):
    return Rows(*part[:-2]), *part[-2:]
