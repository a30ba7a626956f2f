"""Models of the command line: how they are made, saved with their columns, and measured."""

import logging
import re
import sys
import time
from contextlib import contextmanager, redirect_stdout
from io import StringIO

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from ..datasets._text_rows import FORMATS, Columns
from ..inspection._label_frequency import counts_by_frequency
from ..metrics import f1_at_k, macro_f1, micro_f1, ndcg_at_k, precision_at_k, psprecision_at_k
from ..persistence import load, read_notes
from ..topk._predict import predict_topk
from ..utils._propensity import propensities_of
from ..utils._unwrap import find_inner

CUTS = 1, 3, 5
AT_ONCE = 1024  # texts that are predicted together
STEP = re.compile(r"(\d+) of (\d+),.* (about .* left)")  # of a line of `verbose`


def add_columns(command, labels=True):
    """Add the options that say where text and labels stand in a file."""
    add = command.add_argument
    add("--text", action="append", metavar="COLUMN", help="column of the text; several are joined")
    if labels:
        add("--labels", metavar="COLUMN", help="column of the labels")
        add("--separator", metavar="CHARACTER", help="between several labels of a cell")
    add("--format", choices=FORMATS, help="of the file, where its ending does not name it")
    add("--no-header", dest="header", action="store_false", help="columns are numbers, from 1")
    add("--no-quotes", dest="quotes", action="store_false", help="quotation marks are letters")


def columns_of(options, notes: dict | None = None) -> Columns:
    """Return the columns that are given, and in their place those of training."""
    known = dict((notes or {}).get("columns") or {})
    given = {name: getattr(options, name, None) for name in ("text", "labels", "separator")}
    known |= {name: value for name, value in given.items() if value is not None}
    same = known.get("format") if getattr(options, "labels", None) is None else None
    known["format"] = options.format or (same if same == "fasttext" else None)
    known["header"] = options.header and known.get("header", True)
    known["quotes"] = options.quotes and known.get("quotes", True)
    known.setdefault("text", [])
    return Columns(**known)


def opened(path: str, jobs: int | None = None):
    """Return the model of a file, mapped, and its notes."""
    model = load(path, mmap_mode="r")
    inner = find_inner(model, "predict_topk").estimator
    if "n_jobs" in inner.get_params(deep=False):
        inner.set_params(n_jobs=jobs)
    return model, read_notes(path)


def encoded(labels: list[list[str]], several: bool):
    """Return y and the names of its columns, None where a sample has one label."""
    if not several:
        return np.array([one for (one,) in labels], dtype=object), None
    names = MultiLabelBinarizer(sparse_output=True)
    return sparse.csr_matrix(names.fit_transform(labels)), names.classes_


def say(text: str):
    """Tell the user about the progress."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def told(what: str):
    """Context of something that takes time: its progress on a terminal, and how long it took."""
    start, shown = time.perf_counter(), sys.stderr.isatty()

    class Bar(logging.Handler):
        def emit(self, record):
            if found := STEP.search(record.getMessage()):
                done, whole, left = int(found[1]), int(found[2]), found[3]
                bar = "#" * (24 * done // max(whole, 1))
                print(f"\r{what} [{bar:24}] {left}\x1b[K", end="", file=sys.stderr, flush=True)

    logger, bar = logging.getLogger("sklearn_xc"), Bar(logging.INFO)
    level = logger.level
    if shown:
        logger.addHandler(bar)
        logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(StringIO()):  # where lines of `verbose` are printed too
            yield
    finally:
        logger.removeHandler(bar)
        logger.setLevel(level)
    say(f"{chr(13) if shown else ''}{what}: {time.perf_counter() - start:.1f} s"
        + "\x1b[K" * shown)  # fmt: skip


def batches(rows, size: int = AT_ONCE):
    """Yield lists of rows."""
    waiting = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def support_of(model) -> np.ndarray | None:
    """Return the training samples of each label, where the model has kept them."""
    try:
        linear = find_inner(model, "explain", into_meta_estimators=True).estimator
        return linear.label_report_.support
    except (TypeError, AttributeError, ValueError):
        return None


def measured(model, parts, n_train: int | None) -> dict:
    """Return the measures of a model on samples that come in parts of (X, lists of labels).

    Labels that the model does not know count as true, and are never found.
    """
    classes = find_inner(model, "predict_topk").estimator.classes_
    most, truth, best, sets = min(max(CUTS), len(classes)), [], [], []
    for X, labels in parts:
        truth += labels
        best.append(predict_topk(model, X, most)[0])
        decided = model.predict(X)
        if sparse.issparse(decided):
            decided = sparse.csr_array(decided)
            found = np.split(decided.indices, decided.indptr[1:-1])
            sets += [classes[one].tolist() for one in found]
        else:
            sets += [[one] for one in decided.tolist()]
    if not truth:
        raise ValueError("there are no samples with labels to measure with")
    best = np.concatenate(best)
    cuts, support = [k for k in CUTS if k <= most], support_of(model)
    found = {"samples": len(truth), "labels": len(classes)}
    found |= {f"P@{k}": precision_at_k(truth, best, k, classes=classes) for k in cuts}
    found |= {f"nDCG@{k}": ndcg_at_k(truth, best, k, classes=classes) for k in cuts}
    if support is not None and (n_train or 0) >= 3:  # labels that training lacks have one too
        more = sorted({label for one in truth for label in one} - set(classes.tolist()))
        values = propensities_of(np.append(support, np.zeros(len(more))), n_train)
        options = {"classes": [*classes.tolist(), *more], "propensities": values}
        found |= {f"PSP@{k}": psprecision_at_k(truth, best, k, **options) for k in cuts}
    found |= {f"F1@{k}": f1_at_k(truth, best, k, classes=classes) for k in cuts}
    indicators = _indicators(truth, sets)
    found |= {"micro-F1": micro_f1(*indicators), "macro-F1": macro_f1(*indicators)}
    found = {
        name: value if isinstance(value, int) else float(value) for name, value in found.items()
    }
    if support is not None:
        found["by frequency"] = _by_frequency(truth, best, classes, support)
    return found


def _indicators(truth, sets):
    """Return true and predicted labels as indicators with the columns of all labels in them."""
    names = MultiLabelBinarizer(sparse_output=True).fit([*truth, *sets])
    return names.transform(truth), names.transform(sets)


def _by_frequency(truth, best, classes, support):
    """Return the share of true labels among the best, by training samples of the label."""
    parts = counts_by_frequency(truth, best, best.shape[1], classes, None, support, None, True)
    bins, n_labels, n_true, _, n_hits = parts
    return [
        {
            "training samples": [int(low), int(high)],
            "labels": int(n),
            "recall": float(hits / true) if true else None,
        }
        for (low, high), n, true, hits in zip(bins, n_labels, n_true, n_hits, strict=True)
    ]


def table(found: dict) -> str:
    """Return measures as lines of text."""
    lines = [f"{found['samples']:,} samples, {found['labels']:,} labels known"]
    cuts = [k for k in CUTS if f"P@{k}" in found]
    lines.append("".join(["measure".ljust(10), *(f"{f'at {k}':>8}" for k in cuts)]))
    for name in ("P", "nDCG", "PSP", "F1"):
        if f"{name}@{cuts[0]}" in found:
            values = [f"{found[f'{name}@{k}']:8.3f}" for k in cuts]
            lines.append("".join([name.ljust(10), *values]))
    sets = [f"{kind} {found[kind]:.3f}" for kind in ("micro-F1", "macro-F1")]
    lines.append(f"sets of labels: {', '.join(sets)}")
    if found.get("by frequency"):
        lines.append(f"{'training samples of a label':29}{'labels':>8}{'recall':>8}")
        for line in found["by frequency"]:
            low, high = line["training samples"]
            span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            recall = "-" if line["recall"] is None else f"{line['recall']:.3f}"
            lines.append(f"  {span:27}{line['labels']:8,}{recall:>8}")
    return "\n".join(lines)
