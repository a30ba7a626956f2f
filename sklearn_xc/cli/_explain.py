"""`sklearn-xc explain`: the words that made the scores of labels."""

import json
import sys

from ..base._explain import explain
from ..stacking._explain import StackExplanation
from ..topk._predict import predict_topk
from ..utils._unwrap import find_inner
from ._model import opened
from ._options import JSON, MODEL, SEVERAL
from ._predict import as_label

HELP = """Show which words made the scores of the labels of a text.
Examples:
  sklearn-xc explain tagger.sxc "a history of lighthouses"
  sklearn-xc explain tagger.sxc "a history of lighthouses" --label geography --json

Without --label the best labels are explained; without TEXT the standard input is the text."""
OPTIONS = {
    **MODEL,
    "text": {"metavar": "TEXT", "nargs": "?"},
    "--label": {**SEVERAL, "metavar": "LABEL", "help": "a label to explain"},
    "-k": {"type": int, "default": 3, "help": "best labels to explain (default: 3)"},
    "--words": {"type": int, "default": 8, "metavar": "N", "help": "of a label (default: 8)"},
    **JSON,
}


def run(options):
    """Explain the labels of one text."""
    model, _ = opened(options.model)
    text = sys.stdin.read() if options.text is None else options.text
    classes = find_inner(model, "predict_topk").estimator.classes_
    labels = [as_label(one, classes) for one in options.label]
    if not labels:
        labels = predict_topk(model, [text], min(options.k, len(classes)))[0][0].tolist()
    for found in explain(model, [text], labels, options.words):
        if options.json:
            print(json.dumps(_as_json(found)))
            continue
        print(repr(found).partition(", ")[2])
        for name, reasons in getattr(found, "parts", {}).items():
            print(f"{name}: {repr(reasons).partition(', ')[2]}")


def _as_json(found):
    """Return an explanation as values of JSON; of a stack with the words of its parts."""
    pairs = list(zip(found.feature_names.tolist(), found.contributions.tolist(), strict=True))
    of = {"words": pairs}
    if isinstance(found, StackExplanation):
        of = {"parts": pairs, "reasons": {name: _as_json(r) for name, r in found.parts.items()}}
    ends = {"rest": found.rest, "intercept": found.intercept}
    return {"label": found.label, "score": found.score, **of, **ends}
