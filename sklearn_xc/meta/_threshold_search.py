"""The thresholds on held-out scores that are best for an F measure; exact, in O(M log M).

A pair is a sample and one of its k best labels. With tp, n_pred and n_true the weights of the hits,
of the predicted and of the true pairs, ``F = (1 + beta^2) tp / (beta^2 n_true + n_pred)``: of all
pairs (micro), or of those of each label (macro) or sample (example), averaged. It is 0 where
nothing is true and nothing predicted. Lowering a threshold adds pairs one after another, and each
changes one F, so that all thresholds are evaluated by cumulative sums over the sorted pairs.
"""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Held-out scores to choose thresholds on.

    Attributes
    ----------
    score : ndarray of float64 (n_pairs,)
    hit : ndarray of bool (n_pairs,)
    sample, label : ndarray of int64 (n_pairs,)
    weight : ndarray of float64 (n_samples,)
        Of the samples.
    sample_true : ndarray of float64 (n_samples,)
        Number of true labels of each sample, among the pairs or not.
    label_true : ndarray of float64 (n_labels,)
        Weight of the samples that have each label.
    """

    score: np.ndarray
    hit: np.ndarray
    sample: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    sample_true: np.ndarray
    label_true: np.ndarray

    def take(self, chosen: np.ndarray) -> "ScoredPairs":
        """Take some of the pairs."""
        names = "score", "hit", "sample", "label"
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def falling(self) -> "ScoredPairs":
        """Return the pairs by falling score."""
        return self.take(np.argsort(-self.score, kind="stable"))


def global_threshold(metric: str, pairs: ScoredPairs, beta: float = 1.0) -> tuple[float, float]:
    """Return the one threshold that is best for all labels.

    Parameters
    ----------
    metric : {"micro_f1", "macro_f1", "example_f1"}

    Returns
    -------
    threshold : float
        Of those that are equally good the one with the fewest predictions. Halfway between two
        scores, or the lowest score, or just above the highest.
    value : float
        The measure with it.
    """
    if not len(pairs.score):
        return np.inf, 0.0  # nothing to predict
    pairs = pairs.falling()
    values = np.where(_last_of_equal(pairs.score), measure_curve(metric, pairs, beta), -np.inf)
    best = int(np.argmax(values))
    if values[best] <= 0:
        return float(np.nextafter(pairs.score[0], np.inf)), 0.0
    return float(_below(pairs.score, best, len(pairs.score))), float(values[best])


def measure_curve(metric: str, pairs: ScoredPairs, beta: float) -> np.ndarray:
    """Return the measure when the first 1, 2, ... pairs, by falling score, are predicted."""
    weight = pairs.weight[pairs.sample]
    if metric == "micro_f1":
        n_true = pairs.weight @ pairs.sample_true
        return _f(np.cumsum(weight * pairs.hit), np.cumsum(weight), n_true, beta)
    if metric == "macro_f1":
        steps = _steps(pairs.label, weight * pairs.hit, weight, pairs.label_true, beta)
        return np.cumsum(steps) / len(pairs.label_true)
    ones = np.ones(len(weight))
    steps = _steps(pairs.sample, pairs.hit * ones, ones, pairs.sample_true, beta)
    return np.cumsum(steps * weight) / pairs.weight.sum()


def label_thresholds(
    metric: str, pairs: ScoredPairs, beta: float = 1.0, min_positives: int = 5
) -> tuple[np.ndarray, float]:
    """Return the thresholds, one a label, that are best together.

    The macro average is a sum over labels, each of which has its own best threshold. The micro
    average is a ratio of sums: with the best ratio r, ``(1 + beta^2) tp - r n_pred`` is largest
    label by label, and Dinkelbach's iteration finds r. Labels with fewer than `min_positives`
    held-out positives share one threshold, found in the same way.

    Parameters
    ----------
    metric : {"micro_f1", "macro_f1"}

    Returns
    -------
    thresholds : ndarray of float64 (n_labels,)
    value : float
        The measure with them.
    """
    n_labels = len(pairs.label_true)
    counted = np.bincount(pairs.label[pairs.hit], minlength=n_labels)
    own = counted >= max(1, min_positives)
    group = np.where(own, np.arange(n_labels), n_labels)  # the last one is shared
    find = _macro_groups if metric == "macro_f1" else _micro_groups
    thresholds, value = find(pairs, group, beta)
    return thresholds[group], value


def _macro_groups(pairs: ScoredPairs, group: np.ndarray, beta: float) -> tuple[np.ndarray, float]:
    """Return the threshold of each group of labels, and the macro average."""
    n_labels = len(pairs.label_true)
    own = group < n_labels
    shared, value = global_threshold("macro_f1", pairs.take(~own[pairs.label]), beta)
    sorted_pairs, starts, which = _by_group(pairs.take(own[pairs.label]), group)
    thresholds = np.full(n_labels + 1, shared)
    if len(which):
        weight = sorted_pairs.weight[sorted_pairs.sample]
        tp = _sums_within(weight * sorted_pairs.hit, starts)
        n_pred = _sums_within(weight, starts)
        values = _f(tp, n_pred, sorted_pairs.label_true[sorted_pairs.label], beta)
        best, ends = _best_ends(values, sorted_pairs, starts)
        thresholds[which] = _below(sorted_pairs.score, best, ends)
        value += values[best].sum() / n_labels
    return thresholds, value


def _micro_groups(pairs: ScoredPairs, group: np.ndarray, beta: float) -> tuple[np.ndarray, float]:
    """Return the threshold of each group of labels, and the micro average."""
    sorted_pairs, starts, which = _by_group(pairs, group)
    n_true = pairs.weight @ pairs.sample_true
    thresholds = np.full(len(group) + 1, np.inf)
    if not len(which):
        return thresholds, 0.0
    weight = sorted_pairs.weight[sorted_pairs.sample]
    tp = _sums_within(weight * sorted_pairs.hit, starts)
    n_pred = _sums_within(weight, starts)
    better = 0.0
    if not n_true > 0:  # every threshold has F = 0: nothing is predicted
        thresholds[which] = np.nextafter(sorted_pairs.score[starts], np.inf)
        return thresholds, 0.0
    while True:
        best, ends = _best_ends((1 + beta**2) * tp - better * n_pred, sorted_pairs, starts)
        some = (1 + beta**2) * tp[best] > better * n_pred[best]  # of others nothing is predicted
        ratio = float(_f(tp[best[some]].sum(), n_pred[best[some]].sum(), n_true, beta))
        if ratio <= better * (1 + 1e-12):
            break
        better = ratio
    highest = np.nextafter(sorted_pairs.score[starts], np.inf)
    thresholds[which] = np.where(some, _below(sorted_pairs.score, best, ends), highest)
    return thresholds, ratio


def _by_group(pairs: ScoredPairs, group: np.ndarray) -> tuple[ScoredPairs, np.ndarray, np.ndarray]:
    """Return pairs by group and falling score, the first place of each group, and its number."""
    of_pair = group[pairs.label]
    order = np.lexsort((-pairs.score, of_pair))
    which, starts = np.unique(of_pair[order], return_index=True)
    return pairs.take(order), starts, which


def _sums_within(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return cumulative sums that begin anew at each start."""
    sums = np.cumsum(values)
    before = np.append(0.0, sums)[starts]
    return sums - np.repeat(before, np.diff(np.append(starts, len(values))))


def _best_ends(
    values: np.ndarray, pairs: ScoredPairs, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first place of the highest value in each group, and where the group ends.

    Only places where a threshold can be: the last of those with equal scores.
    """
    ends = np.append(starts[1:], len(values))
    last = _last_of_equal(pairs.score)
    last[ends - 1] = True
    values = np.where(last, values, -np.inf)
    highest = np.repeat(np.maximum.reduceat(values, starts), ends - starts)
    places = np.where(values == highest, np.arange(len(values)), len(values))
    return np.minimum.reduceat(places, starts), ends


def _below(score: np.ndarray, places: np.ndarray | int, ends: np.ndarray | int) -> np.ndarray:
    """Return thresholds that keep the scores up to some places of falling scores, before their
    ends.
    """
    following = np.minimum(places + 1, ends - 1)
    return score[places] + (score[following] - score[places]) / 2


def _last_of_equal(score: np.ndarray) -> np.ndarray:
    return np.append(score[1:] != score[:-1], True)


def _steps(
    group: np.ndarray, tp: np.ndarray, n_pred: np.ndarray, n_true: np.ndarray, beta: float
) -> np.ndarray:
    """Return by how much each pair, added after the ones before, changes the F of its group."""
    order = np.argsort(group, kind="stable")
    starts = np.unique(group[order], return_index=True)[1]
    after = _f(
        _sums_within(tp[order], starts),
        _sums_within(n_pred[order], starts),
        n_true[group[order]],
        beta,
    )
    before = np.append(0.0, after[:-1])
    before[starts] = 0
    steps = np.empty(len(group))
    steps[order] = after - before
    return steps


def _f(tp: np.ndarray, n_pred: np.ndarray, n_true: np.ndarray | float, beta: float) -> np.ndarray:
    return (1 + beta**2) * tp / (beta**2 * n_true + n_pred)
