"""`sklearn-xc add-labels`: labels that join those of a model."""

import numpy as np

from ..datasets._samples import indicator_of, labels_of_one
from ..datasets._text_rows import read
from ..meta._label_text import LabelTextClassifier
from ..persistence import load, read_notes, save_with_notes
from ..utils._progress_line import say, told
from ..utils._unwrap import find_inner, learner_of
from ._model import columns_of
from ._options import COLUMNS, FILE, JOBS, MODEL, OUTPUT, Options

HELP = """Train new labels, and leave all others as they are.
Example:
  sklearn-xc add-labels tagger.sxc titles_with_new_subjects.csv -o tagger2.sxc

The file has samples of the new labels and others, which are their negatives. Words that the model
does not know are passed over. Probabilities are lost: they were fitted without the new labels."""
OPTIONS = {**MODEL, **FILE, **OUTPUT, **COLUMNS, **JOBS}


def run(options: Options) -> None:
    """Train the labels of a file that the model lacks."""
    model, notes = load(options.model), read_notes(options.model)
    last = learner_of(model)
    if not hasattr(last, "add_labels") or "l1" not in last.get_params(deep=False):
        raise ValueError(f"{type(last).__name__} takes no more labels: train again")
    rows = [row for row in read(options.file, columns_of(options, notes)) if row.labels]
    y = labels = [row.labels for row in rows]
    new = sorted({one for some in labels for one in some} - set(last.classes_.tolist()))
    if not new:
        raise ValueError(f"{options.file} has no label that the model lacks")
    if last.calibration is not None:
        say("note: the new model has scores and no probabilities; train again to have them")
        last.calibration = None
        vars(last).pop("calibration_", None)
    last.set_params(n_jobs=options.jobs)
    if last.label_names is None:
        y = labels_of_one(rows, options.file)
    X = find_inner(model, "predict_topk").transform([row.text for row in rows])
    with told(f"trained {len(new):,} new labels"):
        if isinstance(model, LabelTextClassifier):
            model.add_labels({label: [] for label in new}, X, y)
        elif last.label_names is None:
            last.add_labels(X, y)
        else:
            last.add_labels(X, indicator_of(labels, new), names=np.array(new, dtype=object))
    save_with_notes(model, options.output, {**notes, "held out": None})
    say(f"{options.output} is written, with {len(last.classes_):,} labels")
