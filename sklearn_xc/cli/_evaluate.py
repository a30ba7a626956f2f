"""`sklearn-xc evaluate`: measures of a model on a file of samples."""

import json

import numpy as np

from ..datasets import iter_xc
from ..datasets._samples import AT_ONCE, batches
from ..datasets._text_rows import format_of, read
from ..inspection._measures import measured, table
from ._model import add_columns, columns_of, opened

HELP = """Measure a model on samples that it has not seen.
Examples:
  sklearn-xc evaluate tagger.sxc more_titles.csv
  sklearn-xc evaluate tagger.sxc other.tsv --text heading --labels topics --separator "|" --json

Columns are those of training unless they are given. Labels that the model does not know count as
true and are never found."""


def add(command):
    """Add the options of the command."""
    command.add_argument("model", metavar="MODEL")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--threshold", type=float, help="also F1 of the labels from it on")
    command.add_argument("--json", action="store_true", help="print one object of JSON")
    add_columns(command)
    command.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads; -1 is all")


def run(options):
    """Predict batch after batch, and measure."""
    model, notes = opened(options.model, options.jobs)
    columns = columns_of(options, notes)
    if "columns" not in notes and format_of(options.file, columns) == "xc":
        parts = _numbers(options.file)
    else:
        if columns.labels is None and columns.format != "fasttext":
            raise ValueError("--labels is needed: the column of the labels")
        parts = _texts(options.file, columns)
    found = measured(model, parts, notes.get("samples"), options.threshold)
    print(json.dumps(found, indent=2) if options.json else table(found))


def _texts(path, columns):
    for rows in batches(row for row in read(path, columns) if row.labels):
        yield [row.text for row in rows], [row.labels for row in rows]


def _numbers(path):
    for X, Y in iter_xc(path, AT_ONCE):
        kept = np.flatnonzero(np.diff(Y.indptr))
        if len(kept):
            labels = np.split(Y[kept].indices, Y[kept].indptr[1:-1])
            yield X[kept], [one.tolist() for one in labels]
