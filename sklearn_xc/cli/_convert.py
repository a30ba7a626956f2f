"""`sklearn-xc convert`: samples in the formats of other programs, and back."""

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

from ..datasets import dump_xc, load_xc
from ..datasets._text_rows import format_of, read
from ..datasets._text_writers import WRITERS
from ..persistence._file import MAGIC
from ..persistence._pecos import write_pecos
from ..utils._unwrap import find_inner
from ._add_labels import indicator
from ._model import add_columns, columns_of, opened, say

HELP = """Write samples in the format of another program.
Examples:
  sklearn-xc convert t.csv --text title --labels subjects --separator ";" --to fasttext -o t.txt
  sklearn-xc convert titles.csv --model tagger.sxc --to omikuji -o titles.txt
  sklearn-xc convert titles.txt --to pecos -o folder
  sklearn-xc convert folder --to xc -o titles.txt
  sklearn-xc convert tagger.sxc --to pecos -o model

fasttext, csv and jsonl hold texts. xc (which omikuji and napkinXC read) and pecos (X.npz and Y.npz
in a folder) hold numbers: texts become what --model makes of them, in the order of its labels,
whose names are written beside. A linear model goes to PECOS, without its vectorizer; other models
and programs are refused by name."""
KINDS = "csv", "fasttext", "jsonl", "omikuji", "pecos", "xc"
REASONS = {
    "omikuji": "its models are trees whose nodes multiply probabilities",
    "fasttext": "its models are two dense layers over its own hashes of words",
    "onnx": "skl2onnx writes dense weights only, here {gigabytes:.3g} GB",
}


def add(command):
    """Add the options of the command."""
    command.add_argument("file", metavar="FILE")
    command.add_argument("-o", "--output", metavar="FILE", required=True)
    command.add_argument("--to", choices=[*KINDS, "onnx"], required=True)
    command.add_argument("--model", metavar="MODEL", help="whose features and labels are written")
    add_columns(command)


def run(options):
    """Convert a file of texts or of numbers."""
    with suppress(OSError), open(options.file, "rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            return _write_model(options, *opened(options.file))
    if options.to == "onnx":
        raise ValueError("onnx holds models, and this is a file of samples")
    if os.path.isdir(options.file):
        X, Y = (sparse.load_npz(Path(options.file, f"{name}.npz")) for name in "XY")
        return _write_numbers(options, X, Y, None)
    model, notes = opened(options.model) if options.model else (None, {})
    columns = columns_of(options, notes)
    kind = format_of(options.file, columns)
    if kind in ("xc", "libsvm"):
        return _write_numbers(options, *load_xc(options.file, header=kind == "xc"), None)
    rows = (row for row in read(options.file, columns) if row.labels)
    if options.to in ("csv", "fasttext", "jsonl"):
        with open(options.output, "w", encoding="utf-8", newline="") as file:
            return WRITERS[options.to](file, rows, columns.separator or ";")
    if model is None:
        raise ValueError(f"--model is needed: {options.to} holds numbers, and these are texts")
    inner, rows = find_inner(model, "predict_topk"), list(rows)
    names = inner.estimator.classes_.tolist()
    Y = indicator([row.labels for row in rows], names)
    return _write_numbers(options, inner.transform([row.text for row in rows]), Y, names)


def _write_model(options, model, _):
    """Write a linear model for PECOS; others are refused by name."""
    last = find_inner(model, "predict_topk").estimator
    n_labels, n_features = len(last.classes_), getattr(last, "n_features_in_", 0)
    if options.to != "pecos":
        reason = REASONS.get(options.to, "that is a format of samples")
        reason = reason.format(gigabytes=4e-9 * n_labels * n_features)
        raise ValueError(f"a model cannot be written for {options.to}: {reason}")
    write_pecos(last, Path(options.output))
    _write_names(Path(options.output, "labels.txt"), last.classes_)
    say(f"{options.output} is written for PECOS: {n_features:,} features, {n_labels:,} labels")


def _write_names(path, names):
    lines = (" ".join(str(name).split()) for name in names)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_numbers(options, X, Y, names):
    if options.to == "pecos":
        os.makedirs(options.output, exist_ok=True)
        sparse.save_npz(Path(options.output, "X.npz"), sparse.csr_matrix(X, dtype=np.float32))
        sparse.save_npz(Path(options.output, "Y.npz"), sparse.csr_matrix(Y, dtype=np.float32))
        beside = Path(options.output, "labels.txt")
    elif options.to in ("omikuji", "xc"):
        dump_xc(options.output, X, Y)
        beside = Path(f"{options.output}.labels")
    else:
        raise ValueError(f"{options.to} holds texts, and {options.file} holds numbers")
    if names is not None:
        _write_names(beside, names)
    say(f"{options.output}: {X.shape[0]:,} samples, {X.shape[1]:,} features, {Y.shape[1]:,} labels")
    return None
