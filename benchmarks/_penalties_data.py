"""Rows of several forms for defaults_forms.py: words in five ways, pixels, counts of 3-mers."""

from typing import NamedTuple

import _common
import numpy as np
import scipy.sparse as sp

TEXTS = ["bibtex", "cooking_fasttext", "delicious", "docstrings", "yso_finna_en_small"]
TEXTS += ["oewn_hypernym", "yso_finna_en"]
FORMS = {name: ["text", "short", "counts", "svd", "characters"] for name in TEXTS}
FORMS |= {"corel5k": ["text", "short", "counts", "svd"]}  # its words are numbers of clusters
FORMS |= {"omniglot": ["pixels"], "proteins": ["unit", "counts"]}
MOST_ROWS = {"text": 60_000, "pixels": 60_000}  # of all rows
ROWS = 4000  # of other forms
DIMENSIONS = 256
N_FAMILIES, N_MEMBERS, N_RESIDUES = 150, 3000, 20


class Parts(NamedTuple):
    """Rows and indicators to fit, and those held out."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    X_held: sp.csr_matrix
    Y_held: sp.csr_matrix


def parts_of(name, form):
    """Four fifths and a fifth of the training rows, or of some of them, in a form."""
    counts, Y, words = proteins() if name == "proteins" else training_rows(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(counts.shape[0])[: MOST_ROWS.get(form, ROWS)]
    counts, Y = counts[order], Y[order]
    if form == "short":
        counts = shortened(counts, rng)
    if form == "characters":
        counts = counts @ _common.characters(words)
    fit, held = counts[len(order) // 5 :], counts[: len(order) // 5]
    if form == "unit":
        fit, held = unit(fit), unit(held)
    if form in ("text", "short", "svd", "characters"):
        fit, held = _common.tfidf_rows(fit, held)
    if form == "svd":
        fit, held = embedded(fit, held)
    return Parts(fit, Y[len(order) // 5 :], held, Y[: len(order) // 5])


def training_rows(name):
    """Counts of words, an indicator, and the words; of the training part."""
    if name == "docstrings":
        return docstrings()
    X, Y, *_ = _common.read_raw(name)
    return sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y), _common.words_of(name, X.shape[1])


def docstrings():
    from sklearn.feature_extraction.text import CountVectorizer

    from sklearn_xc.datasets import load_docstrings

    docs = load_docstrings()
    words = CountVectorizer(min_df=2, dtype=np.float32)
    X = words.fit_transform(docs.data_train)
    return sp.csr_matrix(X), indicator(docs.target_train), words.get_feature_names_out()


def indicator(y):
    return sp.csr_matrix((np.ones(len(y), dtype=np.float32), (np.arange(len(y)), y)))


def shortened(X, rng):
    """Three to six words of each row."""
    order = np.lexsort((rng.random(X.nnz), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    place = np.empty(X.nnz, dtype=np.int64)
    place[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], np.diff(X.indptr))
    keep = place < np.repeat(rng.integers(3, 7, size=X.shape[0]), np.diff(X.indptr))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[keep]
    return sp.csr_matrix((X.data[keep], (rows, X.indices[keep])), shape=X.shape)


def unit(X):
    from sklearn.preprocessing import normalize

    return normalize(X)


def embedded(fit, held):
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(DIMENSIONS, random_state=0).fit(fit)
    return [svd.transform(part).astype(np.float32) for part in (fit, held)]


def proteins():
    """Counts of 3-mers of sequences drawn from families with a profile for each position.

    Families of a superfamily descend from one sequence. How far a position is kept differs among
    positions and families; members lose a stretch at either end and have some positions deleted.
    Sizes of families fall off as 1 / rank.
    """
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
    return X, indicator(y), None


def random_residues(rng, background, n):
    return rng.choice(N_RESIDUES, size=n, p=background)


def mutated(rng, sequence, kept, background):
    """Each residue kept with its own probability, else drawn anew."""
    new = random_residues(rng, background, len(sequence))
    return np.where(rng.random(len(sequence)) < kept, sequence, new)


def member(rng, consensus, kept, background):
    """The numbers of the 3-mers of a member of a family."""
    sequence = mutated(rng, consensus, kept, background)
    a, b = rng.integers(0, len(sequence) // 8, size=2)
    sequence = sequence[a : len(sequence) - b]
    sequence = sequence[rng.random(len(sequence)) > 0.03]
    return (sequence[:-2] * N_RESIDUES + sequence[1:-1]) * N_RESIDUES + sequence[2:]
