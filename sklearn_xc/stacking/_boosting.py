"""Boosted trees of scikit-learn, kept as plain arrays."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from .._kernels.stacking import _trees as kernel
from ..neighbors._cached import Cached
from ..utils._records import is_array, is_count, is_number, record

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

# Trees of 31 leaves, on twice the pairs, take 1.8 times as long; nDCG@5 was 0.1 points higher on
# two of seven sets, 0.1 to 0.9 lower on five. 60 trees, which lose up to 0.3, suffice to judge by.
N_TREES, RATE, N_LEAVES, SMALLEST_LEAF, RIDGE = 100, 0.1, 15, 100, 1.0
TREES_OF_TRIALS, RATE_OF_TRIALS = 60, 0.15
# Of about 90 candidates of a sample one or two are right. A quarter of the wrong ones teaches as
# well as all (nDCG@5 27.9 both) in a quarter of the time; of few pairs all are kept.
NEGATIVES, ENOUGH_PAIRS = 0.25, 50_000
LEAF = -1  # instead of a feature
MOST_LEAVES = 64  # of a tree: the kernel has a bit for each


@record(
    starts=is_array(np.int64, least=0),
    feature=is_array(np.int32, least=LEAF),
    threshold=is_array(np.float64),
    left=is_array(np.int32, least=0),
    right=is_array(np.int32, least=0),
    value=is_array(np.float64),
    baseline=is_number,
    shift=is_number,
    gain=is_array(np.float64, least=0),
    n_features=is_count,
)
class Trees(Cached):
    """Sum of regression trees, node by node.

    Parameters
    ----------
    starts : where the nodes of each tree begin; the first is its root
    feature : what a node looks at, -1 in a leaf
    threshold : pairs with a feature up to it go to the left
    left, right : the children, as places behind the root of the tree; larger than that of the node
    value : of a leaf what it adds, of another node the mean of its leaves by training pairs
    baseline, shift : what all pairs have; what is added since not all wrong pairs were trained on
    gain : of the splits by each feature
    n_features : the length of gain
    """

    def __init__(
        self,
        starts: np.ndarray,
        feature: np.ndarray,
        threshold: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        value: np.ndarray,
        baseline: float,
        shift: float,
        gain: np.ndarray,
        n_features: int,
    ) -> None:
        self.starts, self.feature, self.threshold = starts, feature, threshold
        self.left, self.right, self.value = left, right, value
        self.baseline, self.shift, self.gain = baseline, shift, gain
        self.n_features = n_features

    def _check_record(self) -> None:
        """Refuse trees that a walk would leave, or never end in."""
        # Plain arrays, not a pickle of scikit-learn's class: a file is checked, and runs no code.
        n, starts = len(self.feature), self.starts
        arrays = self.threshold, self.left, self.right, self.value
        if any(len(array) != n for array in arrays) or len(self.gain) != self.n_features:
            raise ValueError("arrays of trees that differ in length")
        sizes = np.diff(starts)
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != n or (sizes < 1).any():
            raise ValueError("trees that do not follow one another")
        # A child behind its node, within the tree: walks go down and end.
        inner = np.flatnonzero(self.feature != LEAF)
        size, root = np.repeat(sizes, sizes)[inner], np.repeat(starts[:-1], sizes)[inner]
        for child in (self.left[inner], self.right[inner]):
            if ((child <= inner - root) | (child >= size)).any():
                raise ValueError("a node of a tree has a child that is not behind it")
        leaves = np.add.reduceat(self.feature == LEAF, starts[:-1])
        if (leaves > MOST_LEAVES).any():
            raise ValueError(f"a tree of more than {MOST_LEAVES} leaves")
        if (self.feature >= self.n_features).any():
            raise ValueError("a tree looks at a feature that there is not")

    def raw(self, features: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return the sums of the trees, float64: `_raw_predict` of scikit-learn, bit by bit."""
        if features.shape[1] != self.n_features:
            raise ValueError(f"{features.shape[1]} features, but the trees have {self.n_features}")
        out = np.full(len(features), self.baseline)
        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        masks = self.once("masks", lambda: masks_of(self))
        kernel.add_trees(columns, *masks, out, max(1, n_threads))
        return out

    def log_odds(self, features: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return the log-odds of pairs, float64."""
        return self.raw(features, n_threads) + self.shift

    def importances(self) -> np.ndarray:
        """Return how much each feature says, not normalised."""
        return self.gain

    def contributions(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each feature adds to the log-odds of each pair, and what is there before."""
        # On its way down a tree a pair moves from the mean of a node to that of a child. The
        # difference goes to the feature that the node looks at (A. Palczewska et al.: Interpreting
        # random forest models using a feature contribution method. IRI 2013).
        parts = np.zeros((len(features), self.n_features))
        before = np.full(len(features), self.baseline + self.shift)
        for start in self.starts[:-1]:
            before += self.value[start]
            for i, row in enumerate(features):
                node = start
                while self.feature[node] != LEAF:
                    j = self.feature[node]
                    down = self.left if row[j] <= self.threshold[node] else self.right
                    child = start + down[node]
                    parts[i, j] += self.value[child] - self.value[node]
                    node = child
        return parts, before


def fit_trees(
    features: np.ndarray,
    hits: np.ndarray,
    weight: np.ndarray | None,
    rng: np.random.RandomState,
    trial: bool = False,
) -> Trees:
    """Return trees that are boosted on pairs, with some of the wrong ones left out."""
    # Of n wrong pairs m are kept, so that odds among them are n / m of those among all: log(m / n)
    # is added to the log-odds.
    n_wrong = int((~hits).sum())
    share = min(1.0, max(NEGATIVES, ENOUGH_PAIRS / max(1, len(hits))))
    kept = hits | (rng.random_sample(len(hits)) < share)
    n_kept = int((kept & ~hits).sum())
    # Here, as `import sklearn_xc` need not wait for all of scikit-learn's forests.
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=TREES_OF_TRIALS if trial else N_TREES,
        learning_rate=RATE_OF_TRIALS if trial else RATE,
        max_leaf_nodes=N_LEAVES,
        min_samples_leaf=min(SMALLEST_LEAF, max(1, int(kept.sum()) // 100)),
        l2_regularization=RIDGE,
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(limits=1, user_api="openmp"):  # sums of threads differ in their bits
        model.fit(features[kept], hits[kept], None if weight is None else weight[kept])
    shift = float(np.log(n_kept / n_wrong)) if n_kept else 0.0
    return trees_of(model, shift)


def trees_of(model: "HistGradientBoostingClassifier", shift: float = 0.0) -> Trees:
    """Return the trees of a fitted HistGradientBoostingClassifier of two classes.

    Its features hold no missing values and no categories.
    """
    # `_predictors` and their nodes are private to scikit-learn; tests/stacking/oracles compare the
    # sums with its `_raw_predict`, bit by bit, and fail if a version changes them.
    parts = [trees[0].nodes for trees in model._predictors]
    nodes = np.concatenate(parts)
    starts = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    leaf = nodes["is_leaf"].astype(bool)
    inner = ~leaf
    n_features = model.n_features_in_
    gain = np.bincount(
        nodes["feature_idx"][inner].astype(np.int64),
        np.maximum(nodes["gain"][inner], 0),
        minlength=n_features,
    )
    left, right = (np.where(leaf, 0, nodes[side]).astype(np.int32) for side in ("left", "right"))
    value = np.where(leaf, nodes["value"], 0).astype(np.float64)
    _fill_means(starts, leaf, left, right, value, nodes["count"].astype(np.float64))
    return Trees(
        starts,
        np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
        np.where(leaf, 0, nodes["num_threshold"]).astype(np.float64),
        left,
        right,
        value,
        float(np.ravel(model._baseline_prediction)[0]),
        shift,
        gain.astype(np.float64),
        int(n_features),
    )


def _fill_means(
    starts: np.ndarray,
    leaf: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    count: np.ndarray,
) -> None:
    """Set the value of each inner node to the mean of its children; these stand behind it."""
    for start, stop in pairwise(starts):
        for node in range(stop - 1, start - 1, -1):
            if not leaf[node]:
                children = start + np.array([left[node], right[node]])
                total = count[children].sum()
                value[node] = (value[children] * count[children]).sum() / max(total, 1)


def masks_of(trees: Trees) -> tuple[np.ndarray, ...]:
    """Return the trees as the kernel takes them: inner nodes with masks, and leaves."""
    # The leaves of a tree are numbered from the left to the right. The mask of a node lacks those
    # below its left child: bits from the first leaf there to the last, which is known only when
    # that side is done.
    features, thresholds, masks, leaves, counts = [], [], [], [], [(0, 0)]
    for start in trees.starts[:-1]:
        n_leaves = 0
        # Entries are nodes, or the end of the left side of one: its first leaf and its mask.
        stack: list[tuple[int, tuple[int, int] | None]] = [(0, None)]
        while stack:
            node, closing = stack.pop()
            if closing is not None:
                first, place = closing
                masks[place] = ~(((1 << n_leaves) - 1) & ~((1 << first) - 1)) & (2**64 - 1)
                continue
            at = start + node
            if trees.feature[at] == LEAF:
                leaves.append(trees.value[at])
                n_leaves += 1
                continue
            features.append(trees.feature[at])
            thresholds.append(trees.threshold[at])
            masks.append(0)
            stack.append((int(trees.right[at]), None))
            stack.append((0, (n_leaves, len(masks) - 1)))
            stack.append((int(trees.left[at]), None))
        counts.append((len(features), len(leaves)))
    starts, leaf_starts = np.array(counts, dtype=np.int64).T.copy()
    return (
        starts,
        np.array(features, np.int32),
        np.array(thresholds, np.float64),
        np.array(masks, np.uint64),
        leaf_starts,
        np.array(leaves, np.float64),
    )
