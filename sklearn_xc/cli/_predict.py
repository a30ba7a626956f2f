"""`sklearn-xc predict`: the best labels of samples that stream in."""

import csv
import json
import sys
from dataclasses import replace

from ..datasets import iter_xc
from ..datasets._samples import AT_ONCE, batches
from ..datasets._text_rows import format_of, read
from ..topk._predict import predict_topk
from ..utils._unwrap import find_inner
from ._model import add_columns, columns_of, opened

HELP = """Write the best labels of samples.
Examples:
  echo "a history of lighthouses" | sklearn-xc predict tagger.sxc -k 3
  sklearn-xc predict tagger.sxc new.csv --to csv -o labels.csv
  sklearn-xc predict tagger.sxc texts.txt --exclude fiction --threshold 0.2

Without FILE every line of the standard input is a text. CSV has a line for each label, JSON lines
one for each sample. Samples are read, answered and forgotten, some at a time."""


def add(command):
    """Add the options of the command."""
    more = command.add_argument
    more("model", metavar="MODEL")
    more("file", metavar="FILE", nargs="?", default="-")
    more("-k", type=int, default=5, help="labels of a sample, at most (default: 5)")
    more("-o", "--output", metavar="FILE", help="default: the standard output")
    more("--to", choices=["jsonl", "csv"], default="jsonl", help="default: jsonl")
    more("--threshold", type=float, help="leave out labels whose probability or score is below")
    more("--only", action="append", metavar="LABEL", help="a label that answers may hold")
    more("--exclude", action="append", metavar="LABEL", help="a label that answers may not hold")
    add_columns(command, labels=False)
    more("--batch", type=int, default=AT_ONCE, metavar="N", help="samples at a time (1024)")
    more("--jobs", type=int, default=-1, metavar="N", help="threads; -1 (default) is all")


def run(options):
    """Answer batch after batch."""
    if options.batch < 1 or options.k < 1:
        raise ValueError("-k and --batch must be 1 at least")
    model, notes = opened(options.model, options.jobs)
    inner = find_inner(model, "predict_topk").estimator
    with_proba = hasattr(inner, "predict_proba")
    labels = [as_label(one, inner.classes_) for one in options.only or inner.classes_[:0]]
    kept = {"labels": labels or None, "scores": "proba" if with_proba else "decision"}
    kept["exclude"] = [as_label(one, inner.classes_) for one in options.exclude or []] or None
    n_left = len(labels or inner.classes_) - len({*(kept["exclude"] or [])} & {*inner.classes_})
    k = max(1, min(options.k, n_left))
    answers, kind = (
        _answers(model, options, notes, k, kept),
        "probability" if with_proba else "score",
    )
    write = _csv if options.to == "csv" else _jsonl
    if options.output is None:
        write(sys.stdout, answers, kind, options.threshold)
    else:
        with open(options.output, "w", encoding="utf-8", newline="") as file:
            write(file, answers, kind, options.threshold)


def as_label(text, classes):
    """Return a label that was given as a text: an integer where labels are integers."""
    return int(text) if classes.dtype.kind in "iu" and text.lstrip("-").isdecimal() else text


def _answers(model, options, notes, k, kept):
    """Yield the line of each sample, its labels and their scores."""
    for lines, X in samples(options, notes, options.batch):
        names, scores = predict_topk(model, X, k, **kept)
        yield from zip(lines, names.tolist(), scores.astype(float).tolist(), strict=True)


def samples(options, notes, size):
    """Yield numbers of lines and what a model predicts for, some samples at a time."""
    columns = replace(columns_of(options, notes), labels=None)
    kind = format_of(options.file, columns)
    if options.text and kind == "lines":
        raise ValueError("--text names a column, and lines of text have none; give --format")
    if "columns" not in notes and options.file != "-" and kind == "xc":
        number = 1
        for X, _ in iter_xc(options.file, size):
            yield range(number + 1, number + 1 + X.shape[0]), X
            number += X.shape[0]
        return
    for rows in batches(read(options.file, columns), 1 if sys.stdin.isatty() else size):
        yield [row.line for row in rows], [row.text for row in rows]


def _jsonl(file, answers, kind, threshold):
    for line, labels, scores in answers:
        kept = [pair for pair in zip(labels, scores, strict=True) if _passes(pair[1], threshold)]
        found = [{"label": label, kind: round(score, 6)} for label, score in kept]
        json.dump({"line": line, "labels": found}, file, ensure_ascii=False)
        file.write("\n")


def _csv(file, answers, kind, threshold):
    writer = csv.writer(file)
    writer.writerow(["line", "rank", "label", kind])
    for line, labels, scores in answers:
        for rank, (label, score) in enumerate(zip(labels, scores, strict=True), 1):
            if _passes(score, threshold):
                writer.writerow([line, rank, label, f"{score:.6g}"])


def _passes(score, threshold):
    return threshold is None or score >= threshold
