"""`sklearn-xc info`: what a model file holds."""

import json
import os

from sklearn.pipeline import Pipeline

from ..inspection._measures import support_of, table
from ..meta._label_text import LabelTextClassifier
from ..utils._unwrap import find_inner, learner_of
from ._model import opened

HELP = """Describe a model file.
Example:
  sklearn-xc info tagger.sxc --json"""


def add(command):
    """Add the options of the command."""
    command.add_argument("model", metavar="MODEL")
    command.add_argument("--json", action="store_true", help="print one object of JSON")


def run(options):
    """Print sizes, parameters and the measures of training."""
    model, notes = opened(options.model)
    last, steps = learner_of(model), _steps(model)
    defaults, support = type(last)().get_params(deep=False), support_of(model)
    given = {
        name: value if isinstance(value, (int, float, str)) else repr(value)[:60]
        for name, value in last.get_params(deep=False).items()
        if name not in ("label_names", "n_jobs", "verbose") and repr(value) != repr(defaults[name])
    }
    found = {
        "file": options.model,
        "bytes": os.path.getsize(options.model),
        "model": type(last).__name__,
        "steps": steps,
        "labels": len(find_inner(model, "predict_topk").estimator.classes_),
        "features": int(getattr(last, "n_features_in_", 0)),
        "probabilities": hasattr(last, "predict_proba"),
        "parameters": given,
        "labels without samples": None if support is None else int((support == 0).sum()),
        **notes,
    }
    if options.json:
        print(json.dumps(found, indent=2))
        return
    measures = found.pop("held out", None)
    for name, value in found.items():
        print(f"{name + ':':24}{f'{value:,}' if type(value) is int else value}")
    if measures:
        print("Held-out samples, by a model of the others:", table(measures), sep="\n")


def _steps(model):
    """Return the names of the steps from texts to labels; none of a classifier."""
    if isinstance(model, Pipeline):
        return [type(step).__name__ for _, step in model.steps]
    if isinstance(model, LabelTextClassifier):
        return [type(step).__name__ for step in (model.vectorizer_, model.classifier_)]
    return []
