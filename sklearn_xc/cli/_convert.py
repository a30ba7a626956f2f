"""`sklearn-xc convert`: samples in the formats of other programs, and back."""

import os
from contextlib import suppress

from ..datasets._number_files import KINDS, names_of, read_numbers, write_names, write_numbers
from ..datasets._samples import indicator_of
from ..datasets._text_rows import format_of, labelled
from ..datasets._text_writers import AS_TEXT, WRITERS
from ..persistence._file import MAGIC
from ..persistence._other_programs import write_for
from ..utils._progress_line import say
from ..utils._unwrap import learner_of, rows_of_learner
from ._model import columns_of, opened
from ._options import COLUMNS, FILE, OUTPUT, Model, Options

HELP = """Write samples, or a linear model, in the format of another program.
Examples:
  sklearn-xc convert t.csv --text title --labels subjects --separator ";" --to fasttext -o t.txt
  sklearn-xc convert titles.csv --model tagger.sxc --to omikuji -o titles.txt
  sklearn-xc convert titles.txt --to pecos -o folder
  sklearn-xc convert folder --to xc -o titles.txt
  sklearn-xc convert tagger.sxc --to onnx -o tagger.onnx

fasttext, csv and jsonl hold texts. xc (which omikuji and napkinXC read) and pecos (X.npz and Y.npz
in a folder) hold numbers: texts become what --model makes of them, in the order of its labels,
whose names are written beside. A linear model goes to PECOS and ONNX, without its vectorizer; other
models and programs are refused by name."""
OPTIONS = {
    **FILE,
    **OUTPUT,
    "--to": {"choices": sorted([*WRITERS, *KINDS, "onnx"]), "required": True},
    "--model": {"metavar": "MODEL", "help": "whose features and labels are written"},
    **COLUMNS,
}


def run(options: Options) -> None:
    """Convert a model, or a file of texts or of numbers."""
    with suppress(OSError), open(options.file, "rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            _write_model(options, opened(options.file)[0])
            return
    if options.to == "onnx":
        raise ValueError("onnx holds models, and this is a file of samples")
    model, notes = opened(options.model) if options.model else (None, {})
    columns, names, folder = columns_of(options, notes), None, os.path.isdir(options.file)
    kind = "pecos" if folder else format_of(options.file, columns)
    numbers = kind in ("pecos", "xc", "libsvm")
    if options.to in WRITERS:
        if numbers:
            raise ValueError(f"{options.to} holds texts, and {options.file} holds numbers")
        rows = labelled(options.file, columns)
        with open(options.output, "w", **AS_TEXT) as file:
            WRITERS[options.to](file, rows, columns.separator or ";")
        return
    if numbers:
        X, Y = read_numbers(options.file, kind)
    elif model is None:
        raise ValueError(f"--model is needed: {options.to} holds numbers, and these are texts")
    else:
        rows = list(labelled(options.file, columns))
        X, names = rows_of_learner(model, [row.text for row in rows]), model.classes_.tolist()
        Y = indicator_of([row.labels for row in rows], names)
        if lost := sum(len(row.labels) for row in rows) - Y.nnz:
            say(f"note: {lost:,} labels that the model does not know are left out")
    write_numbers(options.output, options.to, X, Y, names)
    say("{}: {:,} samples, {:,} features, {:,} labels".format(options.output, *X.shape, Y.shape[1]))


def _write_model(options: Options, model: Model) -> None:
    """Write a linear model, and the names of its labels next to it; others are refused by name."""
    linear, labels = learner_of(model), model.classes_
    write_for(options.to, linear, options.output)
    write_names(names_of(options.output, options.to), labels)
    say(f"{options.output}: {linear.n_features_in_:,} features, {len(labels):,} labels")
