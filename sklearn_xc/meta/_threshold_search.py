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
    score, hit, sample, label : (n_pairs,)
    weight : (n_samples,), of the samples
    sample_true : (n_samples,), number of true labels of each sample, among the pairs or not
    label_true : (n_labels,), weight of the samples that have each label
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
    """Return the one threshold that is best for all labels, and the measure with it.

    Of equally good ones that with the fewest predictions.
    """
    if not len(pairs.score):
        return np.inf, 0.0  # nothing to predict
    pairs = pairs.falling()
    # A threshold cannot part equal scores: only after the last of them is a place for one. argmax
    # takes the first of equal values, which predicts the fewest.
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
    # Each sample counts with its weight as a whole: inside one the pairs count alike.
    ones = np.ones(len(weight))
    steps = _steps(pairs.sample, pairs.hit * ones, ones, pairs.sample_true, beta)
    return np.cumsum(steps * weight) / pairs.weight.sum()


def label_thresholds(
    metric: str, pairs: ScoredPairs, beta: float = 1.0, min_positives: int = 5
) -> tuple[np.ndarray, float]:
    """Return the thresholds, one a label, that are best together, and the measure with them.

    Labels with fewer than `min_positives` held-out positives share one threshold.
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
    # A sum over labels, each of which has its own best threshold; those that share one are a global
    # problem of their own. Divided by all labels, both values add up.
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
    # A ratio of sums: (1 + beta^2) sum tp / (beta^2 n_true + sum n_pred). For a ratio r the sum of
    # (1 + beta^2) tp - r n_pred is largest group by group; if it exceeds r beta^2 n_true, r can be
    # beaten. Dinkelbach (1967): the ratio reached is the next r, which rises to the best in a few
    # steps. Equality, but for rounding, ends it.
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
    """Return cumulative sums that begin again at each start."""
    sums = np.cumsum(values)
    before = np.append(0.0, sums)[starts]
    return sums - np.repeat(before, np.diff(np.append(starts, len(values))))


def _best_ends(
    values: np.ndarray, pairs: ScoredPairs, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first place of the highest value in each group, and where the group ends."""
    # Only the last of equal scores is a place for a threshold; the last of a group always is one,
    # though the next group may begin with the same score.
    ends = np.append(starts[1:], len(values))
    last = _last_of_equal(pairs.score)
    last[ends - 1] = True
    values = np.where(last, values, -np.inf)
    highest = np.repeat(np.maximum.reduceat(values, starts), ends - starts)
    places = np.where(values == highest, np.arange(len(values)), len(values))
    return np.minimum.reduceat(places, starts), ends


def _below(score: np.ndarray, places: np.ndarray | int, ends: np.ndarray | int) -> np.ndarray:
    """Return thresholds that keep the scores up to some places, before their ends."""
    # Halfway to the next lower score: new scores fall between those that were seen. Of the last
    # score in a group, which has no next one, the score itself.
    following = np.minimum(places + 1, ends - 1)
    return score[places] + (score[following] - score[places]) / 2


def _last_of_equal(score: np.ndarray) -> np.ndarray:
    """Return which of falling scores are the last of equal ones."""
    return np.append(score[1:] != score[:-1], True)


def _steps(
    group: np.ndarray, tp: np.ndarray, n_pred: np.ndarray, n_true: np.ndarray, beta: float
) -> np.ndarray:
    """Return by how much each pair, added after the ones before, changes the F of its group."""
    # Sums within a group need its pairs together; a stable sort keeps them by falling score. Then
    # the steps go back to the places of their pairs, where a running sum is the average at each
    # threshold.
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
    """Return the F measure of weights of hits, predictions and true pairs."""
    return (1 + beta**2) * tp / (beta**2 * n_true + n_pred)
