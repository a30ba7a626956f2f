"""Looking words up by their vectors, and the file formats of word2vec."""

from collections.abc import Iterable
from numbers import Integral
from os import PathLike
from typing import TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._cooccurrence import Corpus, encoded

BLOCK = 256  # words looked up at once
Neighbours: TypeAlias = list[tuple[str, float]]  # words, best first, and cosines


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return rows of length 1; rows of zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    return matrix / np.maximum(norms, np.finfo(np.float32).tiny)[:, None]


def nearest(
    units: np.ndarray, queries: np.ndarray, without: list[list[int]], topn: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of largest inner product with each query, best first, and the products.

    `without` lists the rows to leave out for each query. Ties are in the order of the rows.
    """
    found = []
    for start in range(0, len(queries), BLOCK):
        scores = queries[start : start + BLOCK] @ units.T
        for row, left_out in zip(scores, without[start : start + BLOCK], strict=True):
            row[left_out] = -np.inf
            n = min(topn, len(row) - len(set(left_out)))
            # All rows as good as the n-th: ties go by their order and not by that of a partition.
            best = np.flatnonzero(row >= np.partition(row, len(row) - n)[len(row) - n]) if n else []
            best = np.asarray(best, dtype=np.int64)
            best = best[np.argsort(-row[best], kind="stable")][:n]
            found.append((best, row[best]))
    return found


def numbers_of(
    words: str | Iterable[str], vocabulary: dict[str, int], what: str = "words"
) -> list[int]:
    """Return the numbers of words; says which ones are unknown."""
    if not isinstance(words, Iterable) or isinstance(words, bytes):
        raise ValueError(f"{what} must be a word or an iterable of words; got {words!r}")
    words = [words] if isinstance(words, str) else list(words)
    unknown = [word for word in words if not isinstance(word, str) or word not in vocabulary]
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise ValueError(
            f"{what} has {', '.join(map(repr, unknown[:5]))}{more}, not in vocabulary_"
        )
    return [vocabulary[word] for word in words]


def write_word2vec(
    path: str | PathLike[str], words: list[str], vectors: np.ndarray, binary: bool
) -> None:
    """Write vectors in the text or the binary format of word2vec.

    Both begin with a line of the number of words and of dimensions. A text line is a word and its
    numbers, with as many digits as float32 has. A binary entry is the word, a blank, the
    little-endian float32 numbers and a line feed. Words are in UTF-8.

    A word that is empty or holds white space, which would end it, raises ValueError.
    """
    for word in words:
        if not word or word.split() != [word]:
            raise ValueError(
                f"vocabulary_ has {word!r}: the formats of word2vec have no words that are empty "
                "or hold white space"
            )
    with open(path, "wb") as file:
        file.write(f"{len(vectors)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, np.ascontiguousarray(vectors, "<f4"), strict=True):
            if binary:
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
            else:
                numbers = " ".join(f"{number:.9g}" for number in vector.tolist())
                file.write(f"{word} {numbers}\n".encode())


class WordVectorsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Queries and files of an estimator with `vocabulary_` and `embeddings_`."""

    def __contains__(self, word: object) -> bool:
        """Say whether a word has a vector: ``"river" in model``."""
        check_is_fitted(self)
        return isinstance(word, str) and word in self.vocabulary_

    def __getitem__(self, word: str) -> np.ndarray:
        """Return the vector of a word, ndarray of float32: ``model["river"]``."""
        if word not in self:
            raise KeyError(f"{word!r} is not in vocabulary_")
        return self.embeddings_[self.vocabulary_[word]]

    def transform(self, X: Corpus) -> np.ndarray:
        """Return the mean vector of the known words of each document.

        Parameters
        ----------
        X : iterable of iterables of str
            Documents as lists of words, as in `fit`; read once, so that a generator will do.

        Returns
        -------
        vectors : ndarray of float32, shape (n_documents, dim)
            Zero where no word is known.

        Raises
        ------
        ValueError
            If X, or a document, is a string, or a word is none.
        """
        check_is_fitted(self)
        ids, ends = [], [0]
        for document in encoded(X, self.vocabulary_):
            ids.append(document)
            ends.append(ends[-1] + len(document))
        # X may have no documents.
        ids = np.concatenate([np.empty(0, dtype=np.int32), *ids])
        # A document without known words has the mean of none: zeros.
        lengths = np.maximum(np.diff(ends), 1)
        shape = len(lengths), len(self.vocabulary_)
        weight = np.repeat(1 / lengths, np.diff(ends)).astype(np.float32)
        means = sparse.csr_array((weight, ids, np.array(ends)), shape=shape)
        return np.asarray(means @ self.embeddings_, dtype=np.float32)

    def most_similar(
        self, words: str | Iterable[str], topn: int = 10
    ) -> Neighbours | list[Neighbours]:
        """Return the words whose vectors have the largest cosines with those of some words.

        Parameters
        ----------
        words : str or iterable of str
        topn : int, default=10

        Returns
        -------
        found : list of (str, float), or a list of such lists for an iterable
            Words, best first, and cosines of the vectors less their mean; without the word itself.

        Raises
        ------
        ValueError
            If a word is not in the vocabulary.
        """
        check_is_fitted(self)
        numbers = numbers_of(words, self.vocabulary_)
        units = self._units()
        found = self._named(units, units[numbers], [[number] for number in numbers], topn)
        return found[0] if isinstance(words, str) else found

    def analogy(
        self, a: str | Iterable[str], b: str | Iterable[str], c: str | Iterable[str], topn: int = 10
    ) -> Neighbours | list[Neighbours]:
        """Return words that are to c what b is to a: the nearest to b - a + c.

        Parameters
        ----------
        a, b, c : str, or iterables of str of equal length
        topn : int, default=10

        Returns
        -------
        found : list of (str, float), or a list of such lists for iterables
            As of :meth:`most_similar`, of vectors of unit length, without a, b and c.

        Raises
        ------
        ValueError
            If a word is not in the vocabulary, or the lengths differ.
        """
        check_is_fitted(self)
        parts = [
            numbers_of(words, self.vocabulary_, name)
            for name, words in (("a", a), ("b", b), ("c", c))
        ]
        if len({len(part) for part in parts}) != 1:
            lengths = ", ".join(str(len(part)) for part in parts)
            raise ValueError(f"a, b and c must have equally many words; got {lengths}")
        units = self._units()
        first, second, third = (units[part] for part in parts)
        # b - a + c of vectors of length 1 (Mikolov et al., 2013).
        queries = unit_rows(second - first + third)
        found = self._named(units, queries, [list(row) for row in zip(*parts, strict=True)], topn)
        return found[0] if isinstance(a, str) else found

    def to_keyed_vectors(self, path: str | PathLike[str], binary: bool = False) -> None:
        """Write `embeddings_` in a format of word2vec, which gensim and others read.

        Parameters
        ----------
        path : str or path
        binary : bool, default=False
            Numbers as float32 rather than text.

        Raises
        ------
        ValueError
            If a word is empty or holds white space, which the formats cannot tell from its end.
        """
        check_is_fitted(self)
        write_word2vec(path, list(self.vocabulary_), self.embeddings_, binary)

    @property
    def _n_features_out(self) -> int:
        """Length of the vectors."""
        return self.embeddings_.shape[1]

    def _units(self) -> np.ndarray:
        """Return the vectors less their mean, of length 1."""
        return unit_rows(self.embeddings_ - self.embeddings_.mean(axis=0))

    def _named(
        self, units: np.ndarray, queries: np.ndarray, without: list[list[int]], topn: int
    ) -> list[Neighbours]:
        """Return the nearest words of each query, with cosines."""
        if isinstance(topn, bool) or not isinstance(topn, Integral) or topn < 1:
            raise ValueError(f"topn must be an integer of at least 1; got {topn!r}")
        words = list(self.vocabulary_)
        return [
            [(words[i], float(score)) for i, score in zip(best, scores, strict=True)]
            for best, scores in nearest(units, queries, without, topn)
        ]
