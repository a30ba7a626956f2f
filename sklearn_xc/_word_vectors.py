"""Looking words up by their vectors, and the file formats of word2vec."""

from collections.abc import Iterable

import numpy as np

BLOCK = 256  # words looked up at once


def unit_rows(matrix):
    """Rows of length 1; rows of zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    return matrix / np.maximum(norms, np.finfo(np.float32).tiny)[:, None]


def nearest(units, queries, without, topn):
    """The rows of largest inner product with each query, but for some.

    Parameters
    ----------
    units : ndarray of float32 (n_words, dim)
    queries : ndarray of float32 (n, dim)
    without : list of lists of int
        For each query the rows to leave out.
    topn : int
        Fewer are returned where fewer are left.

    Returns
    -------
    found : list of pairs of arrays
        Rows, best first and ties in their order, and inner products.
    """
    found = []
    for start in range(0, len(queries), BLOCK):
        scores = queries[start : start + BLOCK] @ units.T
        for row, left_out in zip(scores, without[start : start + BLOCK], strict=True):
            row[left_out] = -np.inf
            n = min(topn, len(row) - len(set(left_out)))
            best = np.flatnonzero(row >= np.partition(row, len(row) - n)[len(row) - n]) if n else []
            best = np.asarray(best, dtype=np.int64)
            best = best[np.argsort(-row[best], kind="stable")][:n]
            found.append((best, row[best]))
    return found


def numbers_of(words, vocabulary, what="words"):
    """The numbers of words; says which ones are unknown."""
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


def write_word2vec(path, words, vectors, binary):
    """Write vectors in the text or the binary format of word2vec.

    Both begin with a line of the number of words and of dimensions. A text line is a word and its
    numbers, with as many digits as float32 has. A binary entry is the word, a blank, the
    little-endian float32 numbers and a line feed. Words are in UTF-8.

    Parameters
    ----------
    path : str or path
    words : iterable of str
    vectors : ndarray of float32 (n_words, dim)
    binary : bool

    Raises
    ------
    ValueError
        If a word is empty or holds white space, which would end it.
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
