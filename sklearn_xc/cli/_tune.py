"""`sklearn-xc tune`: which features and penalties suit a file of samples."""

import argparse
import json

import numpy as np

from ..datasets._samples import TextSamples, held_out
from ..inspection._measures import CUTS, measured
from ..utils._progress_line import say
from ._model import columns_of
from ._options import COLUMNS, FILE, JSON, LEARNING, Options
from ._train import fitted, source_of

HELP = """Find which features and penalties suit a file, on held-out samples.
Example:
  sklearn-xc tune titles.csv --text title --labels subjects --separator ";"

Tries words, pairs of words and pieces of words, then penalties around the best, by nDCG@5, and
prints the options to give to `sklearn-xc train`."""
HELD_OUT = {"--held-out": {"type": float, "default": 0.2, "metavar": "SHARE", "help": "to measure"}}
OPTIONS = {**FILE, **COLUMNS, **LEARNING, **HELD_OUT, **JSON}
OF_TRAIN = {"method": "ppdsparse", "scratch": None, "set": [], "label_texts": None}
FEATURES: dict[str, dict] = {"": {}, "--ngrams 2": {"ngrams": 2}, "--chars": {"chars": True}}
PENALTIES = "0.3*rows", "3*rows"  # of l2, beside "auto"


def run(options: Options) -> None:
    """Try one thing after another, and print all of it, best first."""
    if not 0 < options.held_out <= 0.5:
        raise ValueError(f"--held-out must be above 0 and 0.5 at most, got {options.held_out:g}")
    options = argparse.Namespace(**vars(options), **OF_TRAIN)
    source = source_of(options, columns_of(options))
    test = held_out(source.n, options.held_out, options.seed)
    train, tried = np.setdiff1d(np.arange(source.n), test), []

    def score(flags: str, **changes: object) -> None:
        changed = argparse.Namespace(**{**vars(options), **changes})
        model = fitted(source, changed, train, "none", f"tried {flags or 'no options'}")
        found = measured(model, source.parts(test), len(train))
        k = max(k for k in CUTS if f"nDCG@{k}" in found)
        tried.append({"options": flags, "k": k, "nDCG": found[f"nDCG@{k}"], "P@1": found["P@1"]})

    for flags, features in FEATURES.items() if isinstance(source, TextSamples) else [("", {})]:
        score(flags, **features)
    best = max(tried, key=lambda one: one["nDCG"])["options"]
    for l2 in PENALTIES:
        score(f"{best} --set l2={l2}".strip(), **FEATURES[best], set=[f"l2={l2}"])
    tried.sort(key=lambda one: -one["nDCG"])
    line = "nDCG@{k} {nDCG:.3f}  P@1 {P@1:.3f}  {options}"
    lines = [line.format(**{**one, "options": one["options"] or "(none)"}) for one in tried]
    print(json.dumps(tried, indent=2) if options.json else "\n".join(lines))
    say(f"the best options of `sklearn-xc train`: {tried[0]['options'] or 'none, the defaults'}")
