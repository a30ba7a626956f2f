"""Features of a row and a label, from which the second stage learns."""

import numpy as np

from ..model_selection._out_of_fold import NO_SCORE
from ._parts import MARGIN, VOTES, StackPart

CUT = 2.0  # scales beyond which the score of a margin tells no more
STEEPNESS = 4.0
SMALLEST = 1e-3  # of a share of votes, in its logarithm
FORMS = {MARGIN: ("score", "sigmoid", "gap"), VOTES: ("log", "share", "score")}


def names_of_part(part: StackPart) -> list[str]:
    """Return the names of the features of one part."""
    return [f"{part.name}: {form}" for form in FORMS[part.kind]]


def fitted_part(
    name: str, codes: np.ndarray | None, scores: np.ndarray, hits: np.ndarray, best: np.ndarray
) -> StackPart:
    """Return a part whose scale is that of its scores on rows that were held out.

    Parameters
    ----------
    name : str
    codes : ndarray of int32, or None
    scores : ndarray of float32 (n_pairs,)
    hits : ndarray of bool (n_pairs,)
    best : ndarray of float32 (n_rows,)
    """
    known = scores > NO_SCORE
    best = best[best > NO_SCORE]
    if not known.any() or not len(best):
        return StackPart(name, codes)
    if scores[known].min() >= 0:
        scale = float(np.mean(best[best > 0])) if (best > 0).any() else 1.0
        return StackPart(name, codes, VOTES, 0.0, scale)
    wrong = scores[known & ~hits]
    middle = float(np.mean(wrong, dtype=np.float64)) if len(wrong) else 0.0
    spread = float(np.std(scores[known], dtype=np.float64))
    return StackPart(name, codes, MARGIN, middle, spread if spread > 0 else 1.0)


def part_features(part: StackPart, scores: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the features of one part, float64 (n_pairs, 3).

    Parameters
    ----------
    part : StackPart
    scores : ndarray of float32 (n_pairs,)
    best : ndarray of float32 (n_pairs,)
        The highest score of the pair's row.
    """
    scores, best = scores.astype(np.float64), best.astype(np.float64)
    unknown, nothing = scores <= NO_SCORE, best <= NO_SCORE
    scores = np.where(unknown, part.middle, scores)
    best = np.where(nothing, scores, np.maximum(best, scores))
    if part.kind == VOTES:
        votes, most = np.maximum(scores, 0) / part.scale, np.maximum(best, 0) / part.scale
        share = votes / np.where(most > 0, most, 1)
        return np.stack([np.log(votes + SMALLEST), share, votes], axis=1)
    z = (scores - part.middle) / part.scale
    gap = np.maximum((scores - best) / part.scale, -2 * CUT * 2)
    cut = np.clip(z, -4 * CUT, 4 * CUT)
    return np.stack([cut, 1 / (1 + np.exp(2 - cut)), gap], axis=1)
