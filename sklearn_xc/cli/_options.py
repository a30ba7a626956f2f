"""Options of several commands: each is described once, and means the same wherever it stands."""

from argparse import Namespace
from typing import TypeAlias

from sklearn.base import BaseEstimator

from ..datasets._text_rows import FORMATS

Options: TypeAlias = Namespace  # what a command is run with
Model: TypeAlias = BaseEstimator  # that answers `predict_topk`, alone or behind other steps
MODEL, FILE = {"model": {"metavar": "MODEL"}}, {"file": {"metavar": "FILE"}}
OUTPUT = {"-o --output": {"metavar": "FILE", "required": True, "help": "the file to write"}}
JSON = {"--json": {"action": "store_true", "help": "print JSON instead of a table"}}
SEVERAL = {"action": "append", "default": []}
COLUMNS = {
    "--text": {**SEVERAL, "metavar": "COLUMN", "help": "of the text; several are joined"},
    "--labels": {"metavar": "COLUMN", "help": "column of the labels"},
    "--separator": {"metavar": "CHARACTER", "help": "between several labels of a cell"},
    "--format": {"choices": FORMATS, "help": "of the file, where its ending does not name it"},
    "--no-header": {"action": "store_true", "help": "columns are numbers, from 1"},
    "--no-quotes": {"action": "store_true", "help": "quotation marks are letters"},
}
TEXT = {name: COLUMNS[name] for name in COLUMNS if name not in ("--labels", "--separator")}
JOBS = {"--jobs": {"type": int, "default": -1, "metavar": "N", "help": "threads; -1 is all"}}
LEARNING = {
    "--ngrams": {"type": int, "default": 1, "metavar": "N", "help": "also up to N words in a row"},
    "--chars": {"action": "store_true", "help": "pieces of words instead of words"},
    "--min-df": {"type": int, "default": 1, "metavar": "N", "help": "drop words of fewer samples"},
    "--seed": {"type": int, "default": 0},
    **JOBS,
}
