"""Facts about labels next to the scores of parts: numbers of samples, and texts."""

import numpy as np
from scipy import sparse

from ..neighbors._cached import Cached
from ..topk._inverted_index import InvertedIndex
from ..utils._records import is_a, is_array, record
from ..utils._rows import Rows

VERBATIM = 0.999  # coverage from which on the whole text stands in the sample
# A label without samples gets no score, or the lowest, from parts that learn from samples: by
# itself that looks like evidence against it. With the flag, and a neutral score, nDCG@5 of a
# logistic stage rose from 49.2 to 50.7 (oewn_hypernym); the flag of labels without a text, half of
# those of germeval_gnd, brought 37.9 to 38.1.
OF_ROWS = "rows of the label", "no row"
OF_TEXTS = "coverage", "verbatim", "no text", "words of the text", "root of these words"
# How long text and sample are says what a coverage is worth: trees gain 0.5 to 1.3 points by it.
OF_ROW = ("words of the row",)


@record(frequencies=is_array(np.float64, least=0), shares=is_a(list))
class LabelFacts(Cached):
    """Frequencies and texts of labels; never changes.

    `frequencies` count the samples that the parts were fitted on. `shares` are texts, csr_arrays of
    float32 (n_labels, n_features), the entries of each text divided by their sum; several where a
    label has several texts, none without any.
    """

    def __init__(self, frequencies: np.ndarray, shares: list[sparse.csr_array]) -> None:
        self.frequencies, self.shares = frequencies, shares

    def _check_record(self) -> None:
        for share in self.shares:
            if not isinstance(share, sparse.csr_array) or share.dtype != np.float32:
                raise ValueError("texts of labels that are no sparse matrices of float32")
            if share.shape != (len(self.frequencies), self.shares[0].shape[1]):
                raise ValueError("texts of labels in different shapes")

    @classmethod
    def of(cls, truth: sparse.csr_array, texts: list[sparse.csr_array]) -> "LabelFacts":
        """Return the facts of the labels of some samples."""
        frequencies = np.bincount(truth.indices, minlength=truth.shape[1]).astype(np.float64)
        return cls(frequencies, texts)

    def _of_texts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of words of each label's longest text, and its length."""
        if not self.shares:
            nothing = np.zeros(len(self.frequencies))
            return nothing, nothing
        counts = np.stack([np.diff(share.indptr) for share in self.shares])
        return counts.max(axis=0).astype(np.float64), np.sqrt(counts.max(axis=0))

    def names(self, counted: bool) -> list[str]:
        """Return the names of the features, with `counted` also the words of samples."""
        return [*OF_ROWS, *(OF_TEXTS if self.shares else ()), *(OF_ROW if counted else ())]

    def features(
        self,
        rows: Rows | None,
        row: np.ndarray,
        starts: np.ndarray,
        places: np.ndarray,
        n_threads: int,
    ) -> np.ndarray:
        """Return the features of pairs, float64.

        `rows` is None where samples are no numbers, or dense: these have no words.
        """
        # Frequencies span five orders of magnitude: what counts is the factor between two labels.
        frequency = self.frequencies[places]
        columns = [np.log1p(frequency), frequency == 0]
        if self.shares:
            # The coverage is the share of the text's weights (idf, if the vectorizer has it) on
            # words that stand in the sample: the inner product of the shares with ones. 1:
            # verbatim. Of several texts the one that is covered best speaks for the label.
            assert rows is not None  # what needs texts has been given samples
            words, lengths = self.once("texts", self._of_texts)
            cover = np.max(
                [
                    index.scores_at(lambda share=share: share, rows, starts, places, n_threads)
                    for index, share in zip(self._indices(), self.shares, strict=True)
                ],
                axis=0,
            )
            n_words = words[places]
            columns += [cover, cover > VERBATIM, n_words == 0, n_words, lengths[places]]
        if rows is not None:
            columns.append(np.diff(rows.indptr)[row])
        return np.stack(columns, axis=1).astype(np.float64)

    def _indices(self) -> list[InvertedIndex]:
        """Return indexes of the texts, which score pairs of sample and label."""
        nothing = np.zeros(len(self.frequencies), dtype=np.float32)
        return self.once("indices", lambda: [InvertedIndex(s, nothing) for s in self.shares])


def shares_of(texts: list[sparse.csr_array]) -> list[sparse.csr_array]:
    """Return texts, csr_arrays without negative entries, as `LabelFacts` keeps them."""
    found = []
    for text in texts:
        sums = np.asarray(text.sum(axis=1)).ravel()
        sums = np.repeat(np.where(sums > 0, sums, 1), np.diff(text.indptr))
        parts = (text.data / sums).astype(np.float32), text.indices, text.indptr
        found.append(sparse.csr_array(parts, shape=text.shape))
    return found


def presence(rows: Rows) -> Rows:
    """Return sparse rows whose entries are all one: which words there are."""
    return rows._replace(data=(rows.data != 0).astype(np.float32))
