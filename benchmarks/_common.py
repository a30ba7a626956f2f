"""Shared by the benchmarks: prepared data, measuring, the machine, tables.

Only NumPy and SciPy are imported at the top, so that the peers' virtual environment can use this
file too; what needs sklearn_xc or scikit-learn imports it in the function.
"""

import lzma
import os
import platform
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
DOC = ROOT / "doc"
DATA = Path(os.environ.get("SKLEARN_XC_DATA", ROOT / ".." / "shared" / "data"))
NOT_TEXT = {"omniglot"}  # pixels: used as they are, not as counts of words
TOP = 5
CUTS = (1, 3, 5)


class Split(NamedTuple):
    """A data set's training and test part: float32 CSR rows and CSR indicators."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    X_test: sp.csr_matrix
    Y_test: sp.csr_matrix


def data_folder(name):
    folder = DATA / name
    if not (folder / "train.txt.xz").exists():
        raise SystemExit(f"no data set in {folder}; set SKLEARN_XC_DATA to the folder of data sets")
    return folder


def tfidf_rows(X, *others):
    """Unit rows of TF-IDF, fitted on the first matrix."""
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer().fit(X)
    return [sp.csr_matrix(transformer.transform(M), dtype=np.float32) for M in (X, *others)]


def read_raw(name):
    """The two parts of a data set as they stand in its files."""
    from sklearn_xc.datasets import load_xc

    folder = data_folder(name)
    return *load_xc(folder / "train.txt.xz"), *load_xc(folder / "test.txt.xz")


def read_corpus(name):
    """The text of a file beside the corpus, unpacked."""
    path = DATA / "corpus" / name
    if not path.exists():
        raise SystemExit(f"no {path}; set SKLEARN_XC_DATA to the folder of data sets")
    data = path.read_bytes()
    return (lzma.decompress(data) if name.endswith(".xz") else data).decode()


def words_of(name, n_features):
    """What the features of a data set are, or None where its folder does not say."""
    path = data_folder(name) / "features.txt.xz"
    if not path.exists():
        return None
    return lzma.decompress(path.read_bytes()).decode().split("\n")[:n_features]


def characters(words, longest=4):
    """How often each word holds each three characters up to `longest`, its ends being spaces."""
    from sklearn.feature_extraction.text import CountVectorizer

    grams = CountVectorizer(analyzer="char_wb", ngram_range=(3, longest), dtype=np.float32)
    return sp.csr_matrix(grams.fit_transform(words))


def prepare(name):
    """The cached file of a data set after preprocessing, written if it is missing or stale."""
    path = BUILD / "data" / f"{name}.npz"
    if name in GENERATED:
        return path if path.exists() else _write(path, GENERATED[name]())
    sources = [data_folder(name) / f"{part}.txt.xz" for part in ("train", "test")]
    if path.exists() and path.stat().st_mtime > max(s.stat().st_mtime for s in sources):
        return path
    X, Y, X_test, Y_test = read_raw(name)
    if name not in NOT_TEXT:
        X, X_test = tfidf_rows(X, X_test)
    return _write(path, (X, Y, X_test, Y_test))


# Rows to train on and to test on, and parameters of generated data sets with the numbers of rows,
# words and labels of published ones. Those of long texts have 265 and 828 words a row, few of which
# tell of labels, so that no single one decides.
LONG_TEXTS = {"class_exponent": 0.6, "feature_shift": 20, "topic_share": 0.7, "topic_signal": 0.1}
SHAPES = {
    "amazon670k_shape": (490_449, 2000, {"preset": "amazon-670k"}),
    "eurlex4k_shape": (
        *(15_539, 3809),
        {"n_features": 5000, "n_classes": 3993, "n_labels": 5.5, "n_tokens": 330}
        | {"n_characteristic": 12, "signal": 0.05, "n_topics": 300, **LONG_TEXTS},
    ),
    "wiki10_shape": (
        *(14_146, 6616),
        {"n_features": 101_938, "n_classes": 30_938, "n_labels": 19, "n_tokens": 1150}
        | {"n_characteristic": 8, "signal": 0.15, "n_topics": 800, **LONG_TEXTS},
    ),
}


def _in_shape(name):
    """The rows of `SHAPES`; TF-IDF."""
    from sklearn_xc.datasets import make_xc_classification

    n, n_test, parameters = SHAPES[name]
    X, Y = make_xc_classification(n + n_test, random_state=0, **parameters)
    X, X_test = tfidf_rows(X[:n], X[n:])
    return X, Y[:n], X_test, Y[n:]


# The labels of these that have 2 to 5 training rows, and the rows that have any of them.
RARE = {f"{name}_rare": name for name in ("yso_finna_en", "yso_finna_en_small", "oewn_hypernym")}


def _rare_labels(name):
    split = load(RARE[name])
    counts = np.bincount(split.Y.indices, minlength=split.Y.shape[1])
    rare = (counts >= 2) & (counts <= 5)
    parts = []
    for X, Y in (split[:2], split[2:]):
        Y = sp.csr_matrix(Y)[:, rare]
        labelled = np.diff(Y.indptr) > 0
        parts += [X[labelled], Y[labelled]]
    return parts


def _yso_finna_en_1000():
    """All rows of yso_finna_en, 1,000 of its labels drawn at random; test rows that have any.

    Where labels are trained one by one, these get what they get among all, in a 26th of the time.
    """
    X, Y, X_test, Y_test = load("yso_finna_en")
    picked = np.random.default_rng(0).choice(Y.shape[1], 1000, replace=False)
    Y, Y_test = (sp.csr_matrix(M.tocsc()[:, np.sort(picked)]) for M in (Y, Y_test))
    labelled = np.diff(Y_test.indptr) > 0
    return X, Y, X_test[labelled], Y_test[labelled]


# Rows of the pieces of three to five characters of their words, of those that two rows have.
IN_CHARACTERS = {
    f"{name}_chars": name for name in ("cooking_fasttext", "oewn_hypernym", "yso_finna_en_small")
}


def _in_characters(name):
    X, Y, X_test, Y_test = read_raw(name)
    pieces = characters(words_of(name, X.shape[1]), longest=5)
    X, X_test = sp.csr_matrix(X @ pieces), sp.csr_matrix(X_test @ pieces)
    known = X.getnnz(axis=0) >= 2
    X, X_test = tfidf_rows(X[:, known], X_test[:, known])
    return X, Y, X_test, Y_test


def _texts_in_characters(name):
    """Rows of the pieces of one to three characters of the words of a set that has its texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    grams = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True, dtype=np.float32
    )
    texts, test = (
        lzma.decompress((data_folder(name) / f"{part}_texts.txt.xz").read_bytes()).decode()
        for part in ("train", "test")
    )
    _, Y, _, Y_test = read_raw(name)
    X = sp.csr_matrix(grams.fit_transform(texts.splitlines()))
    return X, Y, sp.csr_matrix(grams.transform(test.splitlines())), Y_test


CORPUS = "all_permissive.txt.xz"
RUNNING_TEXT = "next_word", "missing_word"


def _of_running_text(name):
    """The rows of _words_data.py."""
    from benchmarks import _words_data

    return getattr(_words_data, name)()


SIZES = "places", "lemmas"
SHARES = {0.01: "_1_percent", 0.1: "_10_percent", 1.0: ""}  # of their labels


def _of_size(name, share):
    """The rows of _sizes_data.py."""
    from benchmarks import _sizes_data

    return _sizes_data.made(name, share)


GENERATED = {name: partial(_in_shape, name) for name in SHAPES}
GENERATED |= {name: partial(_in_characters, of) for name, of in IN_CHARACTERS.items()}
OF_TEXTS = "codespell_fix", "esco_occupations"
GENERATED |= {f"{name}_chars": partial(_texts_in_characters, name) for name in OF_TEXTS}
GENERATED |= {name: partial(_rare_labels, name) for name in RARE}
GENERATED |= {"yso_finna_en_1000": _yso_finna_en_1000}
GENERATED |= {name: partial(_of_running_text, name) for name in RUNNING_TEXT}
GENERATED |= {n + of: partial(_of_size, n, share) for n in SIZES for share, of in SHARES.items()}


def _write(path, split):
    arrays = {}
    for field, M in zip(Split._fields, split, strict=True):
        M = sp.csr_matrix(M, dtype=np.float32)
        M.sort_indices()  # PECOS asks for it
        arrays |= {f"{field}_{part}": getattr(M, part) for part in ("data", "indices", "indptr")}
        arrays[f"{field}_shape"] = M.shape
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def load(name):
    """A prepared data set."""
    with np.load(prepare(name)) as f:
        parts = ("data", "indices", "indptr")
        return Split(
            *(
                sp.csr_matrix(tuple(f[f"{m}_{p}"] for p in parts), shape=tuple(f[f"{m}_shape"]))
                for m in Split._fields
            )
        )


def timed(function, *args):
    """Seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


class PeakMemory:
    """Peak resident memory of this process and its children, in MB: as `mb` beyond the start.

    Read from /proc, hence None elsewhere than on Linux. The kernel's own high-water mark catches
    short peaks of this process; children are added by looking every ten milliseconds.
    """

    def __enter__(self):
        self.mb = self.resident_mb = None
        self._linux = Path("/proc/self/clear_refs").exists()
        if self._linux:
            Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
            self._base = self._peak = resident_with_children(os.getpid())
            self._stop = threading.Event()
            self._watch = threading.Thread(target=self._look, daemon=True)
            self._watch.start()
        return self

    def _look(self):
        while not self._stop.wait(0.01):
            self._peak = max(self._peak, resident_with_children(os.getpid()))

    def __exit__(self, *exception):
        if self._linux:
            self._stop.set()
            self._watch.join()
            peak = max(self._peak, status_kb(os.getpid(), "VmHWM"))
            self.mb, self.resident_mb = (peak - self._base) / 1024, peak / 1024


def status_kb(pid, field):
    """A figure of /proc/<pid>/status in kB, 0 for a process that has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field + ":")), 0)


def resident_with_children(pid):
    """Resident memory of a process and all its descendants in kB."""
    total = status_kb(pid, "VmRSS")
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(resident_with_children(int(child)) for child in children)
    return total


def machine():
    """Processor, number of cores and system in one line."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        processor = next((x.split(":")[1].strip() for x in lines if "model name" in x), processor)
        flags = next((x for x in lines if x.startswith("flags")), "").split()
        widest = [name for name in ("avx512f", "avx2") if name in flags]
        processor += f" ({widest[0]})" if widest else ""
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{processor}, {os.cpu_count()} cores, {system}"


def commit():
    """The project's commit, with a + if the working tree differs from it."""
    try:
        short = ["git", "rev-parse", "--short", "HEAD"]
        name = subprocess.run(short, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        clean = subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False)
    except (OSError, subprocess.CalledProcessError):
        return "none yet"
    return name.strip() + ("+" if clean.returncode else "")


def command(script, argv):
    """How a script was called, to be printed in its document."""
    module = ".".join(Path(script).resolve().relative_to(ROOT).with_suffix("").parts)
    return " ".join(["python -m", module, *argv])


def table(header, rows):
    """A Markdown table; the first column is text, the others are figures.

    The header may be one text, " | " between its cells.
    """
    header = header.split(" | ") if isinstance(header, str) else header
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def figure(value, digits=3):
    """A number with some significant digits and no exponent, or a dash where there is none."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{decimals}f}"
