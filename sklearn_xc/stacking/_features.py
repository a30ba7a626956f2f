"""Features of a sample and a label, from which the second stage learns.

All labels share the second stage, so that features must mean the same for each of them, and with
parts that were fitted on 80 % of the samples as with those fitted on all. Sums over neighbours and
margins grow with the samples of a label; logarithms, shares of the best and distances to it shift
by little.
"""

import numpy as np

from ..model_selection._out_of_fold import NO_SCORE
from ._parts import MARGIN, VOTES, StackPart

CUT = 2.0  # scales beyond which the score of a margin tells no more
SMALLEST = 1e-3  # of a share of votes, in its logarithm
# Of a margin: the score, its squashed form, and the distance to the part's best in the sample. Of
# votes: the logarithm, the share of the best, and the sum.
FORMS = {MARGIN: ("score", "sigmoid", "gap"), VOTES: ("log", "share", "score")}
PLAIN = {MARGIN: 0, VOTES: 1}  # the form of which parts are averaged


def fitted_part(
    name: str, codes: np.ndarray | None, scores: np.ndarray, hits: np.ndarray, best: np.ndarray
) -> StackPart:
    """Return a part whose scale is that of its scores on samples that were held out."""
    # Learnt from scores, not declared by classes: any estimator may be a part.
    known = scores > NO_SCORE
    best = best[best > NO_SCORE]
    if not known.any() or not len(best):
        return StackPart(name, codes)
    # Scores without a negative one are sums of what speaks for a label: zero says nothing.
    if scores[known].min() >= 0:
        scale = float(np.mean(best[best > 0])) if (best > 0).any() else 1.0
        return StackPart(name, codes, VOTES, 0.0, scale)
    # The neutral value of a label without a score is the mean of wrong candidates. The lowest score
    # would be evidence against the label, where there is none either way.
    wrong = scores[known & ~hits]
    middle = float(np.mean(wrong, dtype=np.float64)) if len(wrong) else 0.0
    spread = float(np.std(scores[known], dtype=np.float64))
    return StackPart(name, codes, MARGIN, middle, spread if spread > 0 else 1.0)


def part_features(part: StackPart, scores: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the features of one part, float64 (n_pairs, 3); `best` is that of the sample."""
    scores, best = scores.astype(np.float64), best.astype(np.float64)
    unknown, nothing = scores <= NO_SCORE, best <= NO_SCORE
    scores = np.where(unknown, part.middle, scores)
    best = np.where(nothing, scores, np.maximum(best, scores))
    if part.kind == VOTES:
        # SMALLEST keeps the logarithm of no vote finite, and votes below it alike.
        votes, most = np.maximum(scores, 0) / part.scale, np.maximum(best, 0) / part.scale
        share = votes / np.where(most > 0, most, 1)
        return np.stack([np.log(votes + SMALLEST), share, votes], axis=1)
    # Cut: a few far scores, of which regression would make much, say no more than high ones.
    z = (scores - part.middle) / part.scale
    gap = np.maximum((scores - best) / part.scale, -4 * CUT)
    cut = np.clip(z, -4 * CUT, 4 * CUT)
    return np.stack([cut, 1 / (1 + np.exp(2 - cut)), gap], axis=1)
