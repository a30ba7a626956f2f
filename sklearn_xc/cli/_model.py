"""Models and files of commands: how they are opened."""

from ..datasets._text_rows import TextColumns
from ..persistence import load, read_notes
from ..utils._unwrap import learner_of
from ._options import Model, Options


def columns_of(options: Options, notes: dict | None = None) -> TextColumns:
    """Return the columns that are given, and for all others those of training."""
    known = {"text": [], **((notes or {}).get("columns") or {})}
    labels = getattr(options, "labels", None)
    given = {"text": options.text, "labels": labels}
    given["separator"] = getattr(options, "separator", None)
    known |= {name: value for name, value in given.items() if value not in (None, [])}
    same = known.get("format") == "fasttext" and labels is None
    known["format"] = options.format or ("fasttext" if same else None)
    known["header"] = not options.no_header and known.get("header", True)
    known["quotes"] = not options.no_quotes and known.get("quotes", True)
    return TextColumns(**known)


def opened(path: str, jobs: int | None = None) -> tuple[Model, dict]:
    """Return the model of a file, mapped, and its notes."""
    model = load(path, mmap_mode="r")
    learner = learner_of(model)
    if "n_jobs" in learner.get_params(deep=False):
        learner.set_params(n_jobs=jobs)
    return model, read_notes(path)
