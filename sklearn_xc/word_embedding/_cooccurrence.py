"""How often words occur, and how often near each other, in a corpus that is read as a stream.

A corpus is any iterable of documents, a document any iterable of strings. Nothing of it is kept
but counts: windows do not reach beyond a document, so documents are counted as they come.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..utils._matrix import checked_csr

# Tokens whose pairs are counted at once, and after which long documents are cut for counting.
BLOCK = 1 << 17
Corpus: TypeAlias = Iterable[Iterable[str]]  # documents, each of words


def require_reiterable(X: object, why: str) -> None:
    """Refuse a corpus that can be read once only where it is needed more often."""
    if isinstance(X, Iterator):
        raise ValueError(
            f"X is a {type(X).__name__}, which can be read once only, but {why}: give a list, or "
            "an object whose __iter__ starts anew each time"
        )


def documents(X: object) -> Iterator[list[str]]:
    """Yield the documents of a corpus, each a list of strings; says which one is something else."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise ValueError(
            "X must be an iterable of documents, each a list of words, or a square sparse matrix; "
            f"got a {type(X).__name__}"
        )
    for number, document in enumerate(X):
        if isinstance(document, str | bytes) or not isinstance(document, Iterable):
            hint = ": split it into words" if isinstance(document, str | bytes) else ""
            raise ValueError(
                f"document {number} of X is a {type(document).__name__}, not a list of words{hint}"
            )
        tokens = list(document)
        for token in tokens:
            if not isinstance(token, str):
                raise ValueError(
                    f"document {number} of X holds {token!r}, a {type(token).__name__}; "
                    "words must be strings"
                )
        yield tokens


def count_words(X: object) -> Counter[str]:
    """Return occurrences of every word: a Counter."""
    counts = Counter()
    for tokens in documents(X):
        counts.update(tokens)
    return counts


def frequent_words(counts: Counter, min_count: int, max_vocabulary: int | None) -> list[str]:
    """Return the words to keep, the most frequent first, those of equal frequency by alphabet."""
    kept = [word for word, n in counts.items() if n >= min_count]
    kept.sort(key=lambda word: (-counts[word], word))
    return kept[:max_vocabulary]


def probability_kept(counts: np.ndarray, subsample: float) -> np.ndarray:
    """Return the chance to keep a word: 1 - max(1 - sqrt(t / f), 0), t being `subsample`.

    A `subsample` of 0 keeps everything.
    """
    if not subsample:
        return np.ones(len(counts))
    frequency = counts / counts.sum()
    return np.minimum(1.0, np.sqrt(subsample / np.maximum(frequency, 1e-300)))


def encoded(
    X: object,
    vocabulary: dict[str, int],
    kept: np.ndarray | None = None,
    rng: np.random.Generator | None = None,
) -> Iterator[np.ndarray]:
    """Yield the documents of a corpus as arrays of word numbers, without unknown and dropped words.

    `kept` is the probability of an occurrence of each word to stay; None keeps all.
    """
    for tokens in documents(X):
        found = (vocabulary.get(token, -1) for token in tokens)
        document = np.fromiter((word for word in found if word >= 0), dtype=np.int32)
        if kept is not None:
            # One number for each known word, in their order: how X is cut into documents or read
            # does not matter.
            document = document[rng.random(len(document)) < kept[document]]
        yield document


def cooccurrences(
    encoded_documents: Iterable[np.ndarray], n_words: int, window: int
) -> sparse.csr_array:
    """Return how often each word has each other within `window` places: a symmetric matrix.

    The matrix is a csr_array of float64 with sorted indices; two words that stand together count
    for either.
    """
    # Memory: 12 bytes for every pair of words that occurs, up to four times while parts are added
    # up, and 24 window BLOCK for the pairs of a block.
    sums = _Sums((n_words, n_words))
    for tokens, numbers in _blocks(encoded_documents, window):
        rows, columns = [], []
        for distance in range(1, window + 1):
            # Documents lie one behind the other: words of two documents are no pair.
            together = numbers[distance:] == numbers[:-distance]
            together &= tokens.counted[distance:]
            rows.append(tokens.words[:-distance][together])
            columns.append(tokens.words[distance:][together])
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        # one triangle is enough
        first, second = np.minimum(rows, columns), np.maximum(rows, columns)
        sums.add(first, second)
    upper = sums.total()
    counts = sparse.csr_array(upper + upper.T)
    counts.sort_indices()
    return counts


class _Tokens:
    """Words of a block, and which of them are counted as the second of a pair."""

    def __init__(self, words: np.ndarray, n_before: int) -> None:
        self.words = words
        self.counted = np.arange(len(words)) >= n_before


def _blocks(
    encoded_documents: Iterable[np.ndarray], window: int
) -> Iterator[tuple[_Tokens, np.ndarray]]:
    """Yield words with the number of their document, about BLOCK at a time.

    What a long document has in front of a cut is repeated behind it as context.
    """
    words, numbers, size, number = [], [], 0, 0
    for document in encoded_documents:
        number += 1
        if len(document) > BLOCK:
            for start in range(0, len(document), BLOCK):
                # What stands in front of a cut is context again, but counted already: `counted` is
                # False there.
                before = min(start, window)
                part = document[start - before : start + BLOCK]
                yield _Tokens(part, before), np.zeros(len(part), dtype=np.int64)
            continue
        words.append(document)
        numbers.append(np.full(len(document), number))
        size += len(document)
        if size >= BLOCK:
            yield _Tokens(np.concatenate(words), 0), np.concatenate(numbers)
            words, numbers, size = [], [], 0
    if words:
        yield _Tokens(np.concatenate(words), 0), np.concatenate(numbers)


class _Sums:
    """A sum of sparse matrices: two parts are added only when they are of about equal size."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._parts = []

    def add(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Add the pairs of a block, one for each entry."""
        ones = np.ones(len(rows))
        part = sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=self._shape))
        # Each entry is then added about log2(number of blocks) times, not once with every block.
        while self._parts and self._parts[-1].nnz < 2 * part.nnz:
            part = part + self._parts.pop()
        self._parts.append(part)

    def total(self) -> sparse.csr_array:
        """Return the sum of all parts, which are gone then."""
        total = sparse.csr_array(self._shape)
        while self._parts:
            total = total + self._parts.pop()
        return total


def is_matrix(X: object) -> bool:
    """Return whether X holds counts rather than documents."""
    return sparse.issparse(X) or (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    )


def check_counts(X: Any, words: Sequence[str] | None) -> sparse.csr_array:
    """Check counts of pairs: a csr_array with sorted distinct indices."""
    if words is None:
        raise ValueError("vocabulary must name the words of the rows where X is a matrix of counts")
    X = checked_csr(X, "X") if sparse.issparse(X) else X
    counts = sparse.csr_array(X, dtype=np.float64, copy=True)
    if counts.shape != (len(words), len(words)):
        raise ValueError(
            f"X has shape {counts.shape}, but the vocabulary has {len(words)} words: counts must "
            "be square, a row and a column for each word"
        )
    # Sorts indices as well, which WordPairs relies on.
    counts.sum_duplicates()
    if not np.isfinite(counts.data).all() or (counts.data < 0).any():
        raise ValueError("X holds NaN, infinity or a negative number: it must hold counts")
    with np.errstate(over="ignore"):
        if not np.isfinite(counts.data.sum()):
            raise ValueError("X has a sum beyond float64: scale the counts")
    counts.eliminate_zeros()
    return counts
