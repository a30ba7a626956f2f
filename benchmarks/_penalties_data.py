"""Data sets for penalties.py: published ones, parts of them, and the same rows in other forms.

Names are "data, form". `DECIDED` are those in sight of which the rule was chosen; no other one was
looked at before it was settled.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks import _common

MOST_TEST_ROWS = 4000
ROWS = 4000  # of forms that are costly
DIMENSIONS = 128
N_FAMILIES, N_MEMBERS, N_RESIDUES = 150, 3000, 20
Split = _common.Split


def split_of(name):
    """The rows and indicators of a "data, form", with at most MOST_TEST_ROWS test rows."""
    data, _, form = name.partition(", ")
    split = FORMS[form](data) if form else _common.load(data)
    rows = np.random.default_rng(1).permutation(split.X_test.shape[0])[:MOST_TEST_ROWS]
    return split._replace(X_test=split.X_test[rows], Y_test=sp.csr_matrix(split.Y_test)[rows])


def one_class(split, most_test_rows):
    """Return X, y, X_test, y_test of the first labels; training rows in random order.

    Test rows are of classes that training has, `most_test_rows` at most.
    """
    (X, y), (X_test, y_test) = (_first_labels(*part) for part in (split[:2], split[2:]))
    classes, y = np.unique(y, return_inverse=True)
    known = np.isin(y_test, classes)
    X_test, y_test = X_test[known], np.searchsorted(classes, y_test[known])
    rng = np.random.default_rng(1)
    scored, order = rng.permutation(len(y_test))[:most_test_rows], rng.permutation(len(y))
    return X[order], y[order], X_test[scored], y_test[scored]


def _first_labels(X, Y):
    Y = sp.csr_matrix(Y)
    labelled = np.diff(Y.indptr) > 0
    Y = Y[labelled]
    return X[labelled], Y.indices[Y.indptr[:-1]]


# ------------------------------------------------------------------------------- parts of a set


def share(data, part):
    """Some of the training rows; test rows that have a label of these."""
    X, Y, X_test, Y_test = SOURCES.get(data, partial(_common.load, data))()
    rows = np.random.default_rng(0).permutation(X.shape[0])[: int(part * X.shape[0])]
    return _with_labels_of(X[rows], sp.csr_matrix(Y)[rows], X_test, Y_test)


def _with_labels_of(X, Y, X_test, Y_test):
    known = np.asarray(Y.sum(axis=0)).ravel() > 0
    Y_test = sp.csr_matrix(Y_test)[:, known]
    labelled = np.diff(Y_test.indptr) > 0
    return Split(X, Y[:, known], X_test[labelled], Y_test[labelled])


def rare(data, fewest, most):
    """Labels with so many training rows, and the rows that have one of them."""
    split = _common.load(data)
    counts = np.asarray((split.Y > 0).sum(axis=0)).ravel()
    kept, parts = (counts >= fewest) & (counts <= most), []
    for X, Y in (split[:2], split[2:]):
        Y = sp.csr_matrix(Y)[:, kept]
        labelled = np.diff(Y.indptr) > 0
        parts += [X[labelled], Y[labelled]]
    return Split(*parts)


# -------------------------------------------------------------------------------- other forms


def first_label(data):
    """One label a row: the first."""
    parts = []
    split = _common.load(data)
    for X, Y in (split[:2], split[2:]):
        X, y = _first_labels(X, Y)
        parts += [X, indicator(y, Y.shape[1])]
    return Split(*parts)


def noisy(data, chance):
    """One label a row, some of which are those of other training rows."""
    split, rng = first_label(data), np.random.default_rng(0)
    y, changed = split.Y.indices.copy(), rng.random(split.Y.shape[0]) < chance
    y[changed] = rng.permutation(y)[changed]
    return split._replace(Y=indicator(y, split.Y.shape[1]))


def counts(data, part=1.0):
    """Raw counts, of some of the rows."""
    X, Y, X_test, Y_test = (sp.csr_matrix(M, dtype=np.float32) for M in _common.read_raw(data))
    rows = np.random.default_rng(0).permutation(X.shape[0])[: int(part * X.shape[0])]
    return _with_labels_of(X[rows], Y[rows], X_test, Y_test)


def embedded(data, part=1.0):
    """Dense rows of a truncated SVD."""
    from sklearn.decomposition import TruncatedSVD

    X, Y, X_test, Y_test = share(data, part)
    svd = TruncatedSVD(DIMENSIONS, random_state=0).fit(X)
    X, X_test = (svd.transform(M).astype(np.float32) for M in (X, X_test))
    return Split(X, Y, X_test, Y_test)


def short(data):
    """Three to six words a row, of a few thousand rows."""
    X, Y, X_test, Y_test = raw_texts(data)
    rng = np.random.default_rng(0)
    rows = rng.permutation(X.shape[0])[:ROWS]
    X, X_test = _common.tfidf_rows(shortened(X[rows], rng), shortened(X_test, rng))
    return _with_labels_of(X, Y[rows], X_test, Y_test)


def shortened(X, rng):
    """Three to six entries of each row."""
    order = np.lexsort((rng.random(X.nnz), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    place = np.empty(X.nnz, dtype=np.int64)
    place[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], np.diff(X.indptr))
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    keep = place < rng.integers(3, 7, size=X.shape[0])[row]
    return sp.csr_matrix((X.data[keep], (row[keep], X.indices[keep])), shape=X.shape)


def characters(data):
    """Three and four characters of the words, of a few thousand rows."""
    X, Y, X_test, Y_test = (sp.csr_matrix(M, dtype=np.float32) for M in _common.read_raw(data))
    pieces = _common.characters(_common.words_of(data, X.shape[1]))
    rows = np.random.default_rng(0).permutation(X.shape[0])[:ROWS]
    X, X_test = _common.tfidf_rows(X[rows] @ pieces, X_test @ pieces)
    return _with_labels_of(X, Y[rows], X_test, Y_test)


# --------------------------------------------------------------------------------- other sources


def raw_texts(data):
    """Counts of words."""
    return _docstring_counts(None) if data == "docstrings" else counts(data)


def docstrings(libraries=None):
    X, Y, X_test, Y_test = _docstring_counts(libraries)
    X, X_test = _common.tfidf_rows(X, X_test)
    return Split(X, Y, X_test, Y_test)


def _docstring_counts(libraries):
    from sklearn.feature_extraction.text import CountVectorizer

    from sklearn_xc.datasets import load_docstrings

    docs = load_docstrings(libraries) if libraries else load_docstrings()
    words = CountVectorizer(dtype=np.float32)
    X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
    n_classes = len(docs.target_names)
    Y, Y_test = (indicator(y, n_classes) for y in (docs.target_train, docs.target_test))
    return Split(sp.csr_matrix(X), Y, sp.csr_matrix(X_test), Y_test)


def indicator(y, n_classes):
    parts = np.ones(len(y), dtype=np.float32), (np.arange(len(y)), y)
    return sp.csr_matrix(parts, shape=(len(y), n_classes))


def generated(signal):
    """Unit rows of 1,500 classes, of which the features tell much or little."""
    from sklearn.preprocessing import normalize

    from sklearn_xc.datasets import make_xc_classification

    X, y = make_xc_classification(12_000, 8000, 1500, signal=signal, random_state=0)
    X, Y = sp.csr_matrix(normalize(X), dtype=np.float32), indicator(y, 1500)
    return Split(X[:9000], Y[:9000], X[9000:], Y[9000:])


def generated_labels(signal):
    """Unit rows with three labels each, of 800."""
    from sklearn.preprocessing import normalize

    from sklearn_xc.datasets import make_xc_classification

    X, Y = make_xc_classification(9000, 6000, 800, n_labels=3, signal=signal, random_state=1)
    X, Y = sp.csr_matrix(normalize(X), dtype=np.float32), sp.csr_matrix(Y)
    return Split(X[:6000], Y[:6000], X[6000:], Y[6000:])


def digits(standardised=False):
    """Pixels of ten classes, 100 rows of each."""
    from sklearn.datasets import load_digits
    from sklearn.preprocessing import StandardScaler

    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit(X[:1000]).transform(X) if standardised else X
    X, Y = sp.csr_matrix(X, dtype=np.float32), indicator(y, 10)
    return Split(X[:1000], Y[:1000], X[1000:], Y[1000:])


def proteins(unit):
    """Counts of 3-mers of sequences drawn from families with a profile for each position.

    Families of a superfamily descend from one sequence. How far a position is kept differs among
    positions and families; members lose a stretch at either end and have some positions deleted.
    Sizes of families fall off as 1 / rank.
    """
    from sklearn.preprocessing import normalize

    rng = np.random.default_rng(0)
    background = rng.dirichlet(np.full(N_RESIDUES, 5.0))
    sizes = 1 / np.arange(1, N_FAMILIES + 1)
    y = rng.choice(N_FAMILIES, size=N_MEMBERS, p=sizes / sizes.sum())
    ancestors = [random_residues(rng, background, rng.integers(250, 550)) for _ in range(30)]
    profiles = []
    for _ in range(N_FAMILIES):
        ancestor = ancestors[rng.integers(len(ancestors))]
        consensus = mutated(rng, ancestor, np.full(len(ancestor), 0.5), background)
        profiles.append((consensus, rng.beta(1.0, rng.uniform(1.0, 4.0), size=len(consensus))))
    members = [member(rng, *profiles[family], background) for family in y]
    rows = np.repeat(np.arange(len(y)), [len(m) for m in members])
    shape = len(y), N_RESIDUES**3
    X = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, np.concatenate(members))), shape)
    X.sum_duplicates()
    X, Y = normalize(X) if unit else X, indicator(y, N_FAMILIES)
    return _with_labels_of(X[:2400], Y[:2400], X[2400:], Y[2400:])


def random_residues(rng, background, n):
    return rng.choice(N_RESIDUES, size=n, p=background)


def mutated(rng, sequence, kept, background):
    """Each residue kept with its own probability, else drawn again."""
    new = random_residues(rng, background, len(sequence))
    return np.where(rng.random(len(sequence)) < kept, sequence, new)


def member(rng, consensus, kept, background):
    """The numbers of the 3-mers of a member of a family."""
    sequence = mutated(rng, consensus, kept, background)
    a, b = rng.integers(0, len(sequence) // 8, size=2)
    sequence = sequence[a : len(sequence) - b]
    sequence = sequence[rng.random(len(sequence)) > 0.03]
    return (sequence[:-2] * N_RESIDUES + sequence[1:-1]) * N_RESIDUES + sequence[2:]


SOURCES = {"docstrings": docstrings, "digits": digits}
FORMS = {
    "all": lambda data: SOURCES[data](),
    "standard library": lambda data: docstrings(["stdlib"]),
    "clean": lambda data: generated(0.6),
    "noisy": lambda data: generated(0.15),
    "unit": lambda data: proteins(True),
    "counts of 3-mers": lambda data: proteins(False),
    "40 %": partial(share, part=0.4),
    "30 %": partial(share, part=0.3),
    "10 %": partial(share, part=0.1),
    "standardised": lambda data: digits(True),
    "pure": lambda data: generated(0.95),
    "several labels": lambda data: generated_labels(0.3),
    "labels of 1 row": partial(rare, fewest=1, most=1),
    "labels of 1 to 3 rows": partial(rare, fewest=1, most=3),
    "labels of 2 to 5 rows": partial(rare, fewest=2, most=5),
    "first label": first_label,
    "30 % of labels wrong": partial(noisy, chance=0.3),
    "counts": counts,
    "counts, 30 %": partial(counts, part=0.3),
    "svd": embedded,
    "svd, 15 %": partial(embedded, part=0.15),
    "short": short,
    "characters": characters,
}
DECIDED = [
    "bibtex",
    "bibtex, 30 %",
    "bibtex, counts",
    "corel5k",
    "cooking_fasttext",
    "cooking_fasttext, counts",
    "cooking_fasttext, svd",
    "cooking_fasttext, characters",
    "docstrings, standard library",
    "docstrings, short",
    "esco_occupations",
    "esco_occupations, 30 %",
    "esco_occupations, 30 % of labels wrong",
    "esco_occupations, labels of 1 to 3 rows",
    "codespell_fix, 10 %",
    "codespell_fix, labels of 1 row",
    "tldr_commands, 10 %",
    "delicious",
    "yso_finna_en_small, 30 %",
    "yso_finna_en_small, labels of 2 to 5 rows",
    "oewn_hypernym, 10 %",
    "oewn_hypernym, labels of 2 to 5 rows",
    "missing_word, 10 %",
    "generated, clean",
    "generated, noisy",
    "proteins, unit",
    # Measured before the rule was changed for the last time:
    "bibtex, characters",
    "codespell_fix",
    "cooking_fasttext, 10 %",
    "corel5k, counts",
    "delicious, 10 %",
    "delicious, counts",
    "docstrings, 30 %",
]
UNSEEN = [
    "codespell_fix, 30 %",
    "codespell_fix, counts, 30 %",
    "tldr_commands",
    "tldr_commands, 30 %",
    "tldr_commands, labels of 2 to 5 rows",
    "docstrings, all",
    "docstrings, 10 %",
    "oewn_hypernym",
    "oewn_hypernym, first label",
    "oewn_hypernym, svd, 15 %",
    "oewn_hypernym, labels of 1 row",
    "yso_finna_en_small",
    "yso_finna_en, 10 %",
    "esco_occupations, svd",
    "esco_occupations, counts",
    "esco_occupations, first label",
    "esco_occupations, 10 %",
    "omniglot, 40 %",
    "omniglot, 10 %",
    "next_word, 10 %",
    "eurlex4k_shape, 40 %",
    "proteins, counts of 3-mers",
    "bibtex, first label",
    "bibtex, svd",
    "corel5k, first label",
    "cooking_fasttext, first label",
    "oewn_hypernym, characters",
    "digits, all",
    "generated, pure",
    "generated, several labels",
]
