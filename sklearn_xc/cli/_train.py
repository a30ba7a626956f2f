"""`sklearn-xc train`: from a file of samples to a model file."""

import ast
from typing import TypeAlias

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from ..datasets._samples import NUMBERS, NumberSamples, TextSamples, held_out, texts_of_labels
from ..datasets._text_rows import TextColumns, format_of
from ..inspection._measures import measured, table
from ..memoir._classifier import MemoirSVC
from ..meta._label_text import LabelTextClassifier
from ..neighbors._classifier import TopKNeighborsClassifier
from ..persistence import save_with_notes
from ..ppdsparse._classifier import PPDSparseClassifier
from ..stacking._classifier import TopKStackingClassifier
from ..utils._progress_line import Counted, say, told
from ._model import columns_of
from ._options import COLUMNS, FILE, LEARNING, OUTPUT, SEVERAL, Model, Options

HELP = """Train a model on a file of samples.
Examples:
  sklearn-xc train titles.csv --text title --labels subjects --separator ";" -o tagger.sxc
  sklearn-xc train products.jsonl --text name --text brand --labels category -o products.sxc
  sklearn-xc train train.txt -o model.sxc             (XC or LIBSVM text, or lines of fastText)
  sklearn-xc train titles.tsv --text title --labels tag -o tags.sxc --set l2=0.5*rows

Columns go by their names. The file ends in .csv, .tsv, .jsonl or .parquet, also with .gz, .bz2 or
.xz. A label that holds the separator stands in double quotes within its cell. A tenth of the
samples is held out and measured first; the model that is saved is then trained on all. With
--label-texts labels without samples are found too, by their texts."""
METHODS = {
    "ppdsparse": PPDSparseClassifier,
    "neighbors": TopKNeighborsClassifier,
    "memoir": MemoirSVC,
    "stack": TopKStackingClassifier,
}
Samples: TypeAlias = TextSamples | NumberSamples
CALIBRATIONS = "auto", "isotonic", "sigmoid", "temperature", "top_label", "none"
CALIBRATION_SHARE = 0.1  # of the samples, held out once to calibrate
OPTIONS = {
    **FILE,
    **OUTPUT,
    **COLUMNS,
    "--method": {"choices": METHODS, "help": "default: ppdsparse; with --label-texts stack"},
    "--probabilities": {"choices": CALIBRATIONS, "default": "auto", "help": "of answers"},
    "--held-out": {"type": float, "default": 0.1, "metavar": "SHARE", "help": "to measure, or 0"},
    "--set": {**SEVERAL, "metavar": "NAME=VALUE", "help": "a parameter of the method"},
    "--label-texts": {"metavar": "FILE", "help": "a table with the columns label and text"},
    "--scratch": {"metavar": "FOLDER", "help": "on a disk, for what is larger than memory"},
    **LEARNING,
}
OF_THIS_RUN = {"n_jobs": None, "verbose": 0, "scratch": None}  # parameters as a model file has them


def run(options: Options) -> None:
    """Read, measure, train on all samples and save."""
    if not 0 <= options.held_out <= 0.5:
        raise ValueError(f"--held-out must be from 0 to 0.5, got {options.held_out:g}")
    columns = columns_of(options)
    source = source_of(options, columns)
    notes: dict = {"samples": source.n, "held out": None, **source.notes()}
    if options.held_out:
        test = held_out(source.n, options.held_out, options.seed)
        train = np.setdiff1d(np.arange(source.n), test)
        model = fitted(source, options, train, "none", "trained on the samples not held out")
        notes["held out"] = measured(model, source.parts(test), len(train))
        if (share := source.share_of_copies(test)) >= 0.1:
            say(f"note: {share:.0%} of the held-out texts are in training too: drop duplicates")
        print("Held-out samples, by a model of the others:", table(notes["held out"]), sep="\n")
    whole = np.arange(source.n), options.probabilities, "trained on all samples"
    save_with_notes(fitted(source, options, *whole), options.output, notes)
    say(f"{options.output} is written")


def source_of(options: Options, columns: TextColumns) -> Samples:
    """Return the samples of a file: texts, or numbers."""
    kind = format_of(options.file, columns)
    if options.file == "-":
        raise ValueError("training reads its file several times: give a file, not '-'")
    if kind in NUMBERS:
        if options.label_texts:
            raise ValueError("--label-texts is for files of texts")
        source = NumberSamples(options.file, kind == "xc", options.scratch)
    elif kind != "fasttext" and (not columns.text or columns.labels is None):
        raise ValueError("--text and --labels are needed: the columns of texts and of labels")
    else:
        texts_of = texts_of_labels(options.label_texts) if options.label_texts else {}
        source = TextSamples(options.file, columns, Counted(), texts_of)
    for mark in "" if columns.separator or source.classes is None else ";|":
        if (share := np.mean([mark in label for label in source.y.tolist()])) >= 0.1:
            say(f"note: {share:.0%} of the labels hold {mark!r}; --separator {mark!r} splits them")
    left_out = f"; {source.n_empty:,} without labels are left out" if source.n_empty else ""
    say(f"{source.n:,} samples, {source.n_labels:,} labels in {options.file}{left_out}")
    return source


def fitted(
    source: Samples, options: Options, places: np.ndarray, calibration: str, what: str
) -> Model:
    """Return a model of some samples: one that takes texts, or a classifier."""
    last, X = classifier(options, calibration, source), source.rows(places)
    model, y = last, source.y[places]
    if isinstance(source, TextSamples):
        shape = {"ngram_range": (1, options.ngrams), "min_df": options.min_df}
        if options.chars:
            shape |= {"analyzer": "char_wb", "ngram_range": (3, 5)}
        words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **shape)
        model = Pipeline([("words", words), ("labels", last)])
        if source.texts_of:
            model = LabelTextClassifier(last, words, label_texts=source.texts_of)
            X, y = list(X), source.labels_of(places)
    with told(what):
        model.fit(X, y)
    for learner in [last, model.classifier_] if source.texts_of else [last]:
        known = OF_THIS_RUN.keys() & learner.get_params(deep=False).keys()
        learner.set_params(**{name: OF_THIS_RUN[name] for name in known})
    return model


def classifier(options: Options, calibration: str, source: Samples) -> Model:
    """Return the classifier that options describe for samples."""
    method = options.method or ("stack" if source.texts_of else "ppdsparse")
    cls = METHODS[method]
    known = cls().get_params()
    parameters = {"random_state": options.seed, "n_jobs": options.jobs, "verbose": 1}
    if calibration == "auto" and source.classes is None:
        calibration = "isotonic"
    if calibration != "none":
        parameters |= {"calibration": calibration, "calibration_cv": CALIBRATION_SHARE}
    parameters = {name: value for name, value in parameters.items() if name in known}
    if options.scratch is not None:
        parameters["scratch"] = options.scratch
    if source.names is not None:
        if "label_names" not in known:
            raise ValueError(f"--method {method} is for one label a sample")
        parameters["label_names"] = source.names
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise ValueError(f"--set {text}: {cls.__name__} has the parameters {', '.join(known)}")
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return cls().set_params(**parameters)
