"""`sklearn-xc info`: what a model file holds."""

import json
import os

from ..inspection._measures import support_of, table
from ..meta._label_text import LabelTextClassifier
from ..utils._unwrap import find_inner, learner_of
from ._model import opened
from ._options import JSON, MODEL, Options

HELP = """Describe a model file.
Example:
  sklearn-xc info tagger.sxc --json"""
OPTIONS = {**MODEL, **JSON}


def run(options: Options) -> None:
    """Print sizes, parameters and the measures of training."""
    model, notes = opened(options.model)
    last, inner = learner_of(model), find_inner(model, "predict_topk")
    steps = [*inner.transformers, inner.estimator]
    if isinstance(inner.estimator, LabelTextClassifier):
        steps[-1:] = inner.estimator.vectorizer_, last
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
        "steps": [type(step).__name__ for step in steps],
        "labels": len(inner.estimator.classes_),
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
