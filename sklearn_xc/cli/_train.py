"""`sklearn-xc train`: from a file of samples to a model file."""

import ast

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from ..datasets import load_xc
from ..datasets._text_rows import format_of, read
from ..inspection._measures import measured, table
from ..memoir._classifier import MemoirSVC
from ..neighbors._classifier import TopKNeighborsClassifier
from ..persistence import save_with_notes
from ..ppdsparse._classifier import PPDSparseClassifier
from ._model import add_columns, columns_of, encoded, say, told

HELP = """Train a model on a file of samples.
Examples:
  sklearn-xc train titles.csv --text title --labels subjects --separator ";" -o tagger.sxc
  sklearn-xc train products.jsonl --text name --text brand --labels category -o products.sxc
  sklearn-xc train train.txt -o model.sxc             (XC or LIBSVM text, or lines of fastText)
  sklearn-xc train titles.tsv --text title --labels tag -o tags.sxc --set l2=0.5*rows

Columns go by their names. The file ends in .csv, .tsv, .jsonl or .parquet, also with .gz, .bz2 or
.xz. A label that holds the separator stands in double quotes within its cell. A tenth of the
samples is held out and measured first; the model that is saved is then trained on all."""
METHODS = {
    "ppdsparse": PPDSparseClassifier, "neighbors": TopKNeighborsClassifier, "memoir": MemoirSVC,
}  # fmt: skip
CALIBRATION_SHARE = 0.1  # of the samples, held out once to calibrate


def add(command):
    """Add the options of the command."""
    command.add_argument("file", metavar="FILE")
    command.add_argument("-o", "--output", metavar="MODEL", required=True, help="the model file")
    add_columns(command)
    add_text_options(command)
    more = command.add_argument
    more("--method", choices=METHODS, default="ppdsparse", help="default: ppdsparse")
    more("--probabilities", choices=["isotonic", "sigmoid", "temperature", "none"],
         default="isotonic", help="how scores become probabilities (one more fit)")  # fmt: skip
    more("--held-out", type=float, default=0.1, metavar="SHARE", help="to measure; 0 for none")
    more(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method"
    )
    more("--scratch", metavar="FOLDER", help="on a disk, for what is larger than memory")


def add_text_options(command):
    """Add the options of how texts become features, and of the run."""
    more = command.add_argument
    more("--ngrams", type=int, default=1, metavar="N", help="also sequences of up to N words")
    more("--chars", action="store_true", help="pieces of words instead of words")
    more("--min-df", type=int, default=1, metavar="N", help="drop words of fewer samples")
    more("--jobs", type=int, default=-1, metavar="N", help="threads; -1 (default) is all")
    more("--seed", type=int, default=0)


def run(options):
    """Read, measure, train on all samples and save."""
    if not 0 <= options.held_out <= 0.5:
        raise ValueError(f"--held-out must be from 0 to 0.5, got {options.held_out:g}")
    columns = columns_of(options)
    source = source_of(options, columns)
    notes = {"columns": columns.notes()} if isinstance(source, Texts) else {}
    n, found = source.n, None
    if options.held_out:
        test = held_out(n, options.held_out, options.seed)
        train = np.setdiff1d(np.arange(n), test)
        model = source.fit(train, "none", "trained on the samples not held out")
        found = measured(model, source.parts(test), len(train))
        source.warn_of_copies(test)
        print("Held-out samples, by a model of the others:", table(found), sep="\n")
    model = source.fit(np.arange(n), options.probabilities, "trained on all samples")
    save_with_notes(model, options.output, notes | {"samples": n, "held out": found})
    say(f"{options.output} is written")


def source_of(options, columns):
    """Return the samples of a file: texts, or numbers."""
    kind = format_of(options.file, columns)
    if kind in ("xc", "libsvm"):
        return Numbers(options, kind == "xc")
    if kind != "fasttext" and (not columns.text or columns.labels is None):
        raise ValueError("--text and --labels are needed: the columns of texts and of labels")
    return Texts(options, columns)


def held_out(n, share, seed):
    """Return the numbers of the samples to measure with, ascending."""
    if n < 3:
        raise ValueError(f"{n} samples with labels are too few; at least 3 are needed")
    return np.sort(np.random.default_rng(seed).permutation(n)[: max(1, round(share * n))])


def classifier(options, calibration, names):
    """Return the classifier that options describe."""
    cls = METHODS[options.method]
    parameters = {"random_state": options.seed, "n_jobs": options.jobs}
    known = cls().get_params()
    if "calibration" in known and calibration != "none":
        parameters |= {"calibration": calibration, "calibration_cv": CALIBRATION_SHARE}
    if "verbose" in known:
        parameters["verbose"] = 1
    if options.scratch is not None:
        parameters["scratch"] = options.scratch
    if names is not None:
        parameters["label_names"] = names
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise ValueError(f"--set {text}: {cls.__name__} has the parameters {', '.join(known)}")
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return cls().set_params(**parameters)


def quiet(model):
    """Return parameters of the run, as a model is saved with them."""
    values = {"n_jobs": None, "verbose": 0, "scratch": None}
    return {name: value for name, value in values.items() if name in model.get_params(deep=False)}


def vectorizer(options):
    """Return the vectorizer that options describe."""
    shape = {"ngram_range": (1, options.ngrams)}
    if options.chars:
        shape = {"analyzer": "char_wb", "ngram_range": (3, 5)}
    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, min_df=options.min_df, **shape)


class Texts:
    """Samples of a file of texts, which is read again for each pass."""

    def __init__(self, options, columns):
        self.options, self._columns = options, columns
        rows, n_empty, labels, self._hashes = self._rows(), 0, [], []
        for row in rows:
            n_empty += not row.labels
            if row.labels:
                labels.append(row.labels)
                self._hashes.append(hash(row.text))
        if not labels:
            raise ValueError(f"{options.file} has no samples with labels")
        self.n, self._labels = len(labels), labels
        several = columns.separator is not None or any(len(one) != 1 for one in labels)
        self._y, self._names = encoded(labels, several)
        left_out = f"; {n_empty:,} without labels are left out" if n_empty else ""
        n_labels = len({label for one in labels for label in one})
        say(f"{self.n:,} samples, {n_labels:,} labels in {options.file}{left_out}")

    def _rows(self):
        return read(self.options.file, self._columns)

    def _texts(self, places):
        """Yield the texts of some samples, which are ascending numbers."""
        wanted, number = iter(places.tolist()), -1
        following = next(wanted, None)
        for row in self._rows():
            number += bool(row.labels)
            if row.labels and number == following:
                yield row.text
                following = next(wanted, None)

    def fit(self, places, calibration, what):
        """Return a pipeline trained on some samples."""
        words = vectorizer(self.options)
        last = classifier(self.options, calibration, self._names)
        with told(what):
            X = words.fit_transform(self._texts(places))
            last.fit(X, self._y[places])
        last.set_params(**quiet(last))
        return Pipeline([("words", words), ("labels", last)])

    def parts(self, places):
        """Yield texts and labels of some samples."""
        texts = list(self._texts(places))
        for start in range(0, len(texts), 1024):
            some = places[start : start + 1024]
            yield texts[start : start + 1024], [self._labels[place] for place in some]

    def warn_of_copies(self, test):
        """Say it where many held-out texts stand among the others too."""
        outside = set(test.tolist())
        known = {value for place, value in enumerate(self._hashes) if place not in outside}
        share = np.mean([self._hashes[place] in known for place in test])
        if share >= 0.1:
            say(f"note: {share:.0%} of the held-out texts are in training too, which makes the "
                "measures too high; drop duplicates to see what new texts get")  # fmt: skip


class Numbers:
    """Samples of a file of features and labels that are numbers."""

    def __init__(self, options, header):
        self.options = options
        self._X, self._Y = load_xc(options.file, header=header)
        self.n = self._X.shape[0]
        say(f"{self.n:,} samples, {self._X.shape[1]:,} features, {self._Y.shape[1]:,} labels")

    def fit(self, places, calibration, what):
        """Return a classifier trained on some samples."""
        model = classifier(self.options, calibration, None)
        with told(what):
            model.fit(self._X[places], self._Y[places])
        return model.set_params(**quiet(model))

    def parts(self, places):
        """Yield features and labels of some samples."""
        labels = np.split(self._Y.indices, self._Y.indptr[1:-1])
        for start in range(0, len(places), 1024):
            some = places[start : start + 1024]
            yield self._X[some], [labels[place].tolist() for place in some]

    def warn_of_copies(self, test):
        """Leave rows of numbers as they are."""
