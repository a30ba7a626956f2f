"""The rate search of the implicit SGD paper, and the training objective by which it judges."""

import numpy as np

from ._double_sum import DivergenceError
from ._parallel import run_blocks
from ._rows import Rows, as_matrix

RATES = 10.0 ** np.arange(-3, 4)
SHARE = 0.1  # of the rows, section 4.1
FEWEST_ROWS = 1000  # a tenth of fewer than 10 000 rows would say little; all where there are fewer
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
    alpha : float

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
    X = as_matrix(rows)
    with np.errstate(all="ignore"):
        for first in range(0, n_classes, CLASSES_AT_ONCE):
            w = np.ascontiguousarray(W[first : first + CLASSES_AT_ONCE].T)
            bias = b[first : first + CLASSES_AT_ONCE]
            if alpha > 0:
                square += float(np.vdot(w, w))
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
        loss = losses[used] @ weight[used] + alpha / 2 * square
    return float(loss / weight.sum())


def search_rate(train, rows, y, sample_weight, alpha, seed, n_jobs, verbose):
    """The rate of 10^-3, ..., 10^3 with the best objective on a tenth of the rows (section 4.1).

    Parameters
    ----------
    train : callable
        ``train(rows, y, sample_weight, alpha, rate)`` returns weights and intercepts; at module
        level or picklable.
    rows : Rows
    y : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or of size 0
    alpha : float
        For all rows; on a part of them the same part of it is used.
    seed : int
        Chooses the rows.
    n_jobs, verbose : as in joblib

    Returns
    -------
    rate : float
        The smallest of the best.

    Raises
    ------
    DivergenceError
        If every rate did.
    """
    counted = np.flatnonzero(sample_weight) if sample_weight.size else np.arange(len(y))
    n_rows = min(len(counted), max(FEWEST_ROWS, int(np.ceil(SHARE * len(counted)))))
    rng = np.random.default_rng([seed, len(RATES)])
    chosen = np.sort(rng.choice(counted, n_rows, replace=False))
    weight = sample_weight[chosen] if sample_weight.size else sample_weight
    share = weight.sum() / sample_weight.sum() if weight.size else n_rows / len(counted)
    part = *rows.take(chosen), y[chosen], weight, float(alpha * share)
    found = run_blocks(_trial, RATES.tolist(), train, *part, n_jobs=n_jobs, verbose=verbose)
    if not np.isfinite(found).any():
        raise DivergenceError("every rate from 0.001 to 1000 did")
    return float(RATES[np.argmin(found)])


def _trial(rate, train, *part):
    rows, (y, sample_weight, alpha) = Rows(*part[:5]), part[5:]
    try:
        W, b = train(rows, y, sample_weight, alpha, rate)
    except DivergenceError:
        return np.inf
    found = objective(rows, y, sample_weight, W, b, alpha)
    return found if np.isfinite(found) else np.inf
