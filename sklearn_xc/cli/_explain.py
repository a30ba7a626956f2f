"""`sklearn-xc explain`: the words that made the scores of labels."""

import json
import sys

from ..base._explain import explain
from ..serve._reasons import as_json
from ..serve._requests import as_label
from ..topk._predict import predict_topk
from ..utils._unwrap import find_inner
from ._model import opened
from ._options import JSON, MODEL, SEVERAL, Options

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


def run(options: Options) -> None:
    """Explain the labels of one text."""
    model, _ = opened(options.model)
    text = sys.stdin.read() if options.text is None else options.text
    classes = find_inner(model, "predict_topk").estimator.classes_
    labels = [as_label(one, classes) for one in options.label]
    if not labels:
        labels = predict_topk(model, [text], min(options.k, len(classes)))[0][0].tolist()
    for found in explain(model, [text], labels, options.words):
        if options.json:
            print(json.dumps(as_json(found)))
            continue
        print(repr(found).partition(", ")[2])
        for name, reasons in getattr(found, "parts", {}).items():
            print(f"{name}: {repr(reasons).partition(', ')[2]}")
