"""Functions inside of what `cli/test_train.py` tests from outside."""

from inspect import signature

import pytest
from _cli import COLUMNS, lines_of, samples, write_csv

from sklearn_xc.cli._train import METHODS

TAKE_TEXTS = [
    name
    for name, cls in METHODS.items()
    if "label_features" in signature(cls.fit).parameters and name != "stack"
]  # a stack learns what texts are worth, and here two of nine labels have some


@pytest.mark.parametrize("method", TAKE_TEXTS)
def test_labels_without_samples_are_found_by_their_texts(run, folder, method):
    (folder / "texts.tsv").write_text(
        "label\ttext\nsand\tdesert dune\ntag 1\tlight house\nsand\tsahara\n"
    )
    found = [
        (f"{text} desert dune" if i < 3 else text, labels)
        for i, (text, labels) in enumerate(samples(60))
    ]
    for name, rows in (
        ("two.csv", found),
        ("one.csv", [(text, labels[:1]) for text, labels in found]),
    ):
        path = write_csv(folder / name, rows)
        columns = COLUMNS if name == "two.csv" else COLUMNS[:4]
        call = "train", path, *columns, "-o", "l.sxc", "--jobs", 1, "--method", method
        if method == "memoir" and name == "two.csv":
            continue
        assert run(*call, "--label-texts", "texts.tsv", "--probabilities", "none")[0] == 0
        best = lines_of(run("predict", "l.sxc", "-k", 1, stdin="a dune of the desert\n")[1])
        assert best[0]["labels"][0]["label"] == "sand"
