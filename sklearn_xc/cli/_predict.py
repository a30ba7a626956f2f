"""`sklearn-xc predict`: the best labels of samples that stream in."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

from ..datasets._samples import AT_ONCE, NUMBERS, numbers_of, parts_of
from ..datasets._text_rows import format_of
from ..datasets._text_writers import ANSWER_WRITERS, AS_TEXT
from ..serve._requests import as_label
from ..topk._predict import predict_topk
from ..utils._unwrap import find_inner
from ._model import columns_of, opened
from ._options import JOBS, MODEL, SEVERAL, TEXT, Model, Options

HELP = """Write the best labels of samples.
Examples:
  echo "a history of lighthouses" | sklearn-xc predict tagger.sxc -k 3
  sklearn-xc predict tagger.sxc new.csv --to csv -o labels.csv
  sklearn-xc predict tagger.sxc texts.txt --exclude fiction --threshold 0.2

Without FILE every line of the standard input is a text. CSV has a line for each label, JSON lines
one for each sample. Samples are read, answered and forgotten, some at a time."""
OPTIONS = {
    **MODEL,
    "file": {"metavar": "FILE", "nargs": "?", "default": "-"},
    "-k": {"type": int, "default": 5, "help": "labels of a sample, at most (default: 5)"},
    "-o --output": {"metavar": "FILE", "help": "default: the standard output"},
    "--to": {"choices": ANSWER_WRITERS, "default": "jsonl", "help": "default: jsonl"},
    "--threshold": {"type": float, "help": "drop labels of a lower probability or score"},
    "--only": {**SEVERAL, "metavar": "LABEL", "help": "a label that answers may hold"},
    "--exclude": {**SEVERAL, "metavar": "LABEL", "help": "a label that answers may not hold"},
    **TEXT,
    "--batch": {"type": int, "default": AT_ONCE, "metavar": "N", "help": "samples at a time"},
    **JOBS,
}


def run(options: Options) -> None:
    """Answer batch after batch."""
    if options.batch < 1 or options.k < 1:
        raise ValueError("-k and --batch must be 1 at least")
    model, notes = opened(options.model, options.jobs)
    inner = find_inner(model, "predict_topk").estimator
    given = options.only, options.exclude
    only, exclude = ([as_label(one, inner.classes_) for one in some] for some in given)
    kind = "probability" if hasattr(inner, "predict_proba") else "score"
    kept = {"labels": only or None, "exclude": exclude or None}
    kept["scores"] = "proba" if kind == "probability" else "decision"
    n_left = len({*(only or inner.classes_.tolist())} - {*exclude})
    answers = _answers(model, options, notes, max(1, min(options.k, n_left)), kept)
    to = options.output
    with open(to, "w", **AS_TEXT) if to else nullcontext(sys.stdout) as file:
        ANSWER_WRITERS[options.to](file, answers, kind)


def _answers(model: Model, options: Options, notes: dict, k: int, kept: dict) -> Iterator[tuple]:
    """Yield the line of each sample, and its labels with their scores."""
    columns = replace(columns_of(options, notes), labels=None)
    if options.text and format_of(options.file, columns) == "lines":
        raise ValueError("--text names a column, and lines of text have none; give --format")
    numbers = numbers_of(options.file, columns, notes, model)
    if numbers is None and format_of(options.file, columns) in NUMBERS:
        columns = replace(columns, format="lines")  # whose first looks like numbers
    size = 1 if sys.stdin.isatty() and options.file == "-" else options.batch
    least = -float("inf") if options.threshold is None else options.threshold
    for lines, X, _ in parts_of(options.file, columns, numbers, size):
        names, scores = predict_topk(model, X, k, **kept)
        for line, *row in zip(lines, names.tolist(), scores.astype(float).tolist(), strict=True):
            yield line, [pair for pair in zip(*row, strict=True) if pair[1] >= least]
