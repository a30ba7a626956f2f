"""`sklearn-xc evaluate`: measures of a model on a file of samples."""

import json

from ..datasets._samples import numbers_of, parts_of
from ..datasets._text_rows import format_of
from ..inspection._measures import measured, table
from ._model import columns_of, opened
from ._options import COLUMNS, FILE, JOBS, JSON, MODEL, Options

HELP = """Measure a model on samples that it has not seen.
Examples:
  sklearn-xc evaluate tagger.sxc more_titles.csv
  sklearn-xc evaluate tagger.sxc other.tsv --text heading --labels topics --separator "|" --json

Columns are those of training unless they are given. Labels that the model does not know count as
true and are never found."""
THRESHOLD = {"--threshold": {"type": float, "help": "also F1 of the labels from it on"}}
OPTIONS = {**MODEL, **FILE, **THRESHOLD, **JSON, **COLUMNS, **JOBS}


def run(options: Options) -> None:
    """Predict batch after batch, and measure."""
    model, notes = opened(options.model, options.jobs)
    columns = columns_of(options, notes)
    numbers = numbers_of(options.file, columns, notes, model)
    known = numbers or columns.labels is not None
    if not known and format_of(options.file, columns) != "fasttext":
        raise ValueError("--labels is needed: the column of the labels")
    parts = (part[1:] for part in parts_of(options.file, columns, numbers, only_labelled=True))
    found = measured(model, parts, notes.get("samples"), options.threshold)
    print(json.dumps(found, indent=2) if options.json else table(found))
