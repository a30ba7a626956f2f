"""How labels fall into the folds of four splitters.

Makes records with a few of many labels, most of them rare, and splits them into five folds: with
scikit-learn's KFold, with its StratifiedKFold on whole sets of labels, and with the two splitters
of sklearn_xc.model_selection. Prints and draws which labels a training part lacks, and how unevenly
the positives of each label are spread.

    python examples/rare_labels.py
    python examples/rare_labels.py --rows 500 --labels 100 --output folds.png
"""

import argparse
import warnings
from itertools import pairwise

import numpy as np
from _passages import pyplot
from sklearn.model_selection import KFold, StratifiedKFold

from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.model_selection import IterativeStratifiedKFold, RareLabelKFold

N_SPLITS = 5
OPTIONS = {"n_splits": N_SPLITS, "shuffle": True, "random_state": 0}
COLOURS = ["tab:gray", "tab:orange", "tab:blue", "tab:green"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=5_000)
    parser.add_argument("--output", default="rare_labels.png")
    options = parser.parse_args()
    _, Y = make_xc_classification(options.rows, 500, options.labels, n_labels=2.5, random_state=0)
    sets = [tuple(row) for row in np.split(Y.indices, Y.indptr[1:-1])]
    numbers = {labels: number for number, labels in enumerate(dict.fromkeys(sets))}
    powerset = np.array([numbers[labels] for labels in sets])
    splitters = {
        "KFold": (KFold(**OPTIONS), Y),
        "StratifiedKFold on sets of labels": (StratifiedKFold(**OPTIONS), powerset),
        "RareLabelKFold": (RareLabelKFold(**OPTIONS), Y),
        "IterativeStratifiedKFold": (IterativeStratifiedKFold(**OPTIONS), Y),
    }
    total = np.bincount(Y.indices, minlength=Y.shape[1])
    n_rare = (total == 2).sum()
    print(f"{Y.shape[0]} rows, {(total > 0).sum()} labels, {n_rare} of them with two positives\n")
    print(f"{'':35}rows tested   labels missing   of two positives   within one")
    found = {}
    for name, (splitter, y) in splitters.items():
        with warnings.catch_warnings():  # StratifiedKFold says that sets are rarer than folds
            warnings.simplefilter("ignore", UserWarning)
            tests = [test for _, test in splitter.split(np.zeros((Y.shape[0], 1)), y)]
        counts = np.array([np.bincount(Y[test].indices, minlength=Y.shape[1]) for test in tests])
        missing = (counts == total).any(axis=0) & (total > 0)
        spread = np.ptp(counts, axis=0)
        print(
            f"{name:35}{sum(map(len, tests)):11d}{missing.sum():17d}"
            f"{(missing & (total == 2)).sum() / max(1, n_rare):19.1%}"
            f"{(spread[total > 0] <= 1).mean():13.1%}"
        )
        found[name] = missing, counts
    save_picture(options.output, found, total)


def save_picture(path, found, total):
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    few = np.arange(1, 8)
    ranges = np.unique(np.geomspace(2, total.max() + 1, 12).astype(int))
    for shift, (colour, (name, (missing, counts))) in enumerate(
        zip(COLOURS, found.items(), strict=True)
    ):
        share = [missing[total == n].mean() if (total == n).any() else 0 for n in few]
        left.bar(few + 0.2 * (shift - 1.5), np.multiply(100, share), 0.2, color=colour, label=name)
        unevenness = np.ptp(counts, axis=0)
        shown = []
        for low, high in pairwise(ranges):
            group = unevenness[(total >= low) & (total < high)]
            if len(group):
                shown.append((low, group.mean()))
        right.plot(*zip(*shown, strict=True), "o-", color=colour, label=name)
    left.set(xlabel="positives of a label", ylabel="labels missing from a training part, %")
    right.set(
        xlabel="positives of a label, at least",
        ylabel="most minus fewest positives in a fold",
        xscale="log",
    )
    right.grid(alpha=0.3)
    left.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
