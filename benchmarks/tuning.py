"""What choosing penalties and weighting labels bring, and what they cost.

    python benchmarks/tuning.py [--data NAME ...] [--part penalties l2 labelled propensity]

`penalties`: PPDSparseClassifierCV with its default grid beside PPDSparseClassifier, two threads.
`l2`: PPDSparseClassifier with multiples of the l2 of the rows.
`labelled`: the same, trained on the rows alone that have a label; of data where many have none.
`propensity`: PPDSparseClassifier with and without class_weight="propensity". On test rows. Writes
measurements/tuning.md.
"""

import time
from functools import partial

import _common
import _runner
import numpy as np

DATA = ("bibtex", "cooking_fasttext", "delicious", "corel5k", "yso_finna_en_small", "oewn_hypernym")
SOME_LABELS = "yso_finna_en_1000"  # a twelfth of its rows has one
DATA += (SOME_LABELS, *_common.RUNNING_TEXT, "yso_finna_en")
L2 = ("rows", "2*rows", "4*rows", "8*rows")
MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def measures(model, split):
    """Precisions and propensity-scored precisions in per cent."""
    from sklearn_xc.metrics import precision_at_k, propensities, psprecision_at_k

    best, p = model.predict_topk(split.X_test, 5)[0], propensities(split.Y)
    plain = [precision_at_k(split.Y_test, best, k) for k in _common.CUTS]
    scored = [psprecision_at_k(split.Y_test, best, k, propensities=p) for k in _common.CUTS]
    return [100 * value for value in (*plain, *scored)]


def timed_fit(model, split):
    start = time.perf_counter()
    model.fit(split.X, split.Y)
    return time.perf_counter() - start


def penalties(name):
    from sklearn_xc import PPDSparseClassifier, PPDSparseClassifierCV

    split = _common.load(name)
    plain, chosen = (
        cls(n_jobs=2, random_state=0) for cls in (PPDSparseClassifier, PPDSparseClassifierCV)
    )
    seconds = timed_fit(plain, split), timed_fit(chosen, split)
    return {
        "seconds": seconds,
        "plain": measures(plain, split),
        "chosen": measures(chosen, split),
        "l1, l2": [chosen.l1_, chosen.l2_],
    }


def labelled(split):
    """The same, with only those rows to train on that have a label."""
    rows = np.flatnonzero(split.Y.getnnz(axis=1))
    return split._replace(X=split.X[rows], Y=split.Y[rows])


def by_value(name, parameter, values, trained_on=lambda split: split):
    """Seconds and measures of each value of a parameter, trained on what a function picks."""
    from sklearn_xc import PPDSparseClassifier

    split, found = _common.load(name), {}
    picked = trained_on(split)
    for value in values:
        model = PPDSparseClassifier(n_jobs=2, random_state=0, **{parameter: value})
        found[str(value)] = {
            "seconds": timed_fit(model, picked),
            "measures": measures(model, split),
        }
    return found


PARTS = {
    "penalties": penalties,
    "l2": partial(by_value, parameter="l2", values=L2),
    "labelled": partial(by_value, parameter="l2", values=L2, trained_on=labelled),
    "propensity": partial(by_value, parameter="class_weight", values=(None, "propensity")),
}


def table_by_value(parameter, figures):
    header = f"data | {parameter} | fit s | {' | '.join(MEASURES)}"
    rows = [
        [name, value, f"{g['seconds']:.2f}", *(f"{measure:.2f}" for measure in g["measures"])]
        for name, f in figures.items()
        for value, g in f.items()
    ]
    return _common.table(header, rows)


def write_page(found):
    rows = []
    for name, f in found.get("penalties", {}).items():
        (plain_s, chosen_s), (l1, l2) = f["seconds"], f["l1, l2"]
        rows.append([name, f"{plain_s:.2f}", f"{chosen_s:.2f}", f"{chosen_s / plain_s:.1f}"])
        rows[-1] += [f"{f['plain'][0]:.2f}", f"{f['chosen'][0]:.2f}", f"{l1:.3g}, {l2:.3g}"]
    header = "data | plain s | CV s | ratio | plain P@1 | CV P@1 | chosen l1, l2"
    _runner.write_page(
        "tuning",
        "# Choosing penalties, weighting labels",
        _runner.source("tuning"),
        "## PPDSparseClassifierCV",
        "The default grid of 4 x 5 pairs, two fifths of the training rows held out, beside one "
        "plain fit; precision@1 in per cent on test rows.",
        _common.table(header, rows),
        "## Multiples of l2",
        "Precision and propensity-scored precision in per cent on test rows.",
        table_by_value("l2", found.get("l2", {})),
        "## Rows that have a label",
        "Multiples of l2 again, trained on the rows that have one of the labels.",
        table_by_value("l2", found.get("labelled", {})),
        "## Propensities as weights",
        "Precision and propensity-scored precision in per cent on test rows.",
        table_by_value("class_weight", found.get("propensity", {})),
    )


def main():
    options = _runner.parser(__doc__, data=DATA, parts=tuple(PARTS)).parse_args()
    if not options.report:
        for part in options.part:
            for name in options.data:
                if part == "labelled" and name != SOME_LABELS:  # nearly all have one elsewhere
                    continue
                found = PARTS[part](name)
                print(part, name, found, flush=True)
                _runner.keep("tuning", part, name, found)
    write_page(_runner.kept("tuning"))


if __name__ == "__main__":
    main()
