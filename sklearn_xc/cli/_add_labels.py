"""`sklearn-xc add-labels`: labels that join those of a model."""

import numpy as np
from scipy import sparse

from ..datasets._text_rows import read
from ..meta._label_text import LabelTextClassifier
from ..persistence import load, read_notes, save_with_notes
from ..utils._unwrap import find_inner, learner_of
from ._model import add_columns, columns_of, say, told

HELP = """Train new labels, and leave all others as they are.
Example:
  sklearn-xc add-labels tagger.sxc titles_with_new_subjects.csv -o tagger2.sxc

The file has samples of the new labels and others, which are their negatives. Words that the model
does not know are passed over. Probabilities are lost: they were fitted without the new labels."""


def add(command):
    """Add the options of the command."""
    command.add_argument("model", metavar="MODEL")
    command.add_argument("file", metavar="FILE")
    command.add_argument(
        "-o", "--output", metavar="MODEL", required=True, help="the new model file"
    )
    add_columns(command)
    command.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads; -1 is all")


def run(options):
    """Train the labels of a file that the model lacks."""
    model, notes = load(options.model), read_notes(options.model)
    inner = find_inner(model, "predict_topk")
    last = learner_of(model)
    if not hasattr(last, "add_labels") or "l1" not in last.get_params(deep=False):
        raise ValueError(f"{type(last).__name__} takes no more labels: train again")
    rows = [row for row in read(options.file, columns_of(options, notes)) if row.labels]
    labels = [row.labels for row in rows]
    new = sorted({one for some in labels for one in some} - set(last.classes_.tolist()))
    if not new:
        raise ValueError(f"{options.file} has no label that the model lacks")
    if last.get_params()["calibration"] is not None:
        say("note: the new model has scores and no probabilities; train again to have them")
        last.set_params(calibration=None)
        vars(last).pop("calibration_", None)
    last.set_params(n_jobs=options.jobs)
    X = inner.transform([row.text for row in rows])
    one_a_row = last.label_names is None
    with told(f"trained {len(new):,} new labels"):
        if isinstance(model, LabelTextClassifier):
            y = np.array([some[0] for some in labels]) if one_a_row else labels
            model.add_labels({label: [] for label in new}, X, y)
        elif one_a_row:
            last.add_labels(X, np.array([some[0] for some in labels], dtype=object))
        else:
            last.add_labels(X, indicator(labels, new), names=np.array(new, dtype=object))
    save_with_notes(model, options.output, {**notes, "held out": None})
    say(f"{options.output} is written, with {len(last.classes_):,} labels")


def indicator(labels, names):
    """Return the indicator of some labels, in sparse rows."""
    places = {name: place for place, name in enumerate(names)}
    found = [[places[one] for one in some if one in places] for some in labels]
    indptr = np.append(0, np.cumsum([len(one) for one in found]))
    indices = np.array([place for one in found for place in one], dtype=np.int64)
    ones = np.ones(len(indices), dtype=np.int8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(labels), len(names)))
