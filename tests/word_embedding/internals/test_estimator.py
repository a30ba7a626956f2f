"""Functions inside of what `word_embedding/test_estimator.py` tests from outside."""

import numpy as np
import pytest
from _topics import CORPUS, model
from scipy import sparse

from sklearn_xc.utils import _memory_limit
from sklearn_xc.word_embedding._auto import rate_at
from sklearn_xc.word_embedding._cooccurrence import cooccurrences, encoded


def test_score_is_the_mean_log_probability(fitted):
    documents = [["the", "red", "unknown"], ["dog", "cat"]]
    counts = cooccurrences(encoded(documents, fitted.vocabulary_), 12, 4).toarray()
    z = fitted.embeddings_.astype(float) @ fitted.context_embeddings_.T
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    expected = (counts * log_p).sum() / counts.sum()
    assert fitted.score(documents) == pytest.approx(expected, rel=1e-6)
    assert fitted.score(sparse.coo_array(counts)) == pytest.approx(expected, rel=1e-6)
    assert fitted.score(counts) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="no two words of the vocabulary together"):
        fitted.score([["the"], ["unknown", "red"]])


# ---------------------------------------------------------------------------------- determinism


def test_rate_falls():
    linear = model(learning_rate=2.0, max_iter=4)
    assert [rate_at(linear, time) for time in (0, 2, 4)] == pytest.approx([2, 1.05, 0.1])
    inverse = model(learning_rate=2.0, decay="inverse")
    assert [rate_at(inverse, time) for time in (0, 1, 3)] == pytest.approx([2, 1, 0.5])


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_matrix, np.asarray])
def test_counts_equal_corpus(container):
    listed = model(max_iter=2, subsample=0, gradient="mips").fit(CORPUS)
    words = list(listed.vocabulary_)
    counts = cooccurrences(encoded(CORPUS, listed.vocabulary_), len(words), 4)
    given = model(max_iter=2, vocabulary=words, gradient="mips").fit(container(counts.toarray()))
    np.testing.assert_array_equal(given.embeddings_, listed.embeddings_)
    assert given.n_pairs_ == listed.n_pairs_ == counts.sum()


# ---------------------------------------------------------------------------------- scikit-learn


def test_refuses_more_memory_than_there_is(monkeypatch):
    monkeypatch.setenv(_memory_limit.VARIABLE, "100")
    with pytest.raises(MemoryError, match="vectors of 12 words and 6 dimensions"):
        model().fit(CORPUS)
