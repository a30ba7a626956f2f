"""LDGSWordEmbedding: fitting, looking words up, files, scikit-learn."""

import pickle
from itertools import chain

import numpy as np
import pytest
from _topics import CORPUS, TOPICS, model
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

GRADIENTS = ["decomposed", "mips", "sampled", "exact"]


class Stream:
    """A corpus that is read from somewhere each time, and counts how often."""

    def __init__(self, corpus):
        self.corpus, self.n_reads = corpus, 0

    def __iter__(self):
        self.n_reads += 1
        return (iter(document) for document in self.corpus)


def test_vocabulary_is_sorted_by_frequency(fitted):
    words = list(fitted.vocabulary_)
    assert words[0] == "the"
    assert set(words) == {"the", *chain(*TOPICS)}
    assert list(fitted.vocabulary_.values()) == list(range(len(words)))
    assert fitted.word_counts_[0] == 300
    assert (np.diff(fitted.word_counts_) <= 0).all()
    for vectors in (fitted.embeddings_, fitted.context_embeddings_):
        assert vectors.dtype == np.float32
        assert vectors.shape == (12, 6)


@pytest.mark.parametrize(
    "changes",
    [
        {"gradient": "exact"},
        {"gradient": "sampled"},
        {"index": "exact"},
        {"gradient": "mips", "unretrieved": "zero"},
        {"unretrieved": "exclude", "n_message_passes": 2, "index": "exact"},
    ],
)
def test_words_of_a_topic_are_near_each_other(changes):
    fitted = model(max_iter=40, **changes).fit(CORPUS)
    for topic in TOPICS:
        for word in topic:
            found = fitted.most_similar(word, topn=len(topic) - 1)
            assert {other for other, _ in found} == set(topic) - {word}


def test_loss_curve_is_the_exact_objective(fitted):
    assert fitted.loss_curve_.shape == (40,)
    assert fitted.objective_ == fitted.loss_curve_[-1] < fitted.loss_curve_[0]
    assert fitted.n_scored_ == 12
    again = model(gradient="exact", max_iter=40).fit(CORPUS)
    assert not hasattr(again, "loss_curve_")
    np.testing.assert_array_equal(again.embeddings_, fitted.embeddings_)


# ---------------------------------------------------------------------------------- determinism


@pytest.mark.parametrize(
    "changes", [{}, {"unretrieved": "exclude"}, {"gradient": "sampled"}, {"gradient": "exact"}]
)
def test_result_does_not_depend_on_threads(changes):
    found = [
        model(n_jobs=n, max_iter=2, batch_size=5, search_params={"n_centroids": 3}, **changes).fit(
            CORPUS
        )
        for n in (None, 2, 3)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.embeddings_, found[0].embeddings_)
        np.testing.assert_array_equal(other.context_embeddings_, found[0].context_embeddings_)


def test_seed_decides():
    one, same, other = (model(random_state=s, max_iter=2).fit(CORPUS) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.embeddings_, same.embeddings_)
    assert not np.array_equal(one.embeddings_, other.embeddings_)


def test_parts_are_steps_of_contexts():
    """At most one for each word; by default one, where words are few."""
    found = [
        model(max_iter=1, n_parts=n).fit(CORPUS).context_embeddings_ for n in ("auto", 1, 12, 99)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[2] - found[1]).max() > 0.01
    np.testing.assert_array_equal(found[3], found[2])


def test_stream_equals_list():
    stream = Stream(CORPUS)
    streamed, listed = model(max_iter=2).fit(stream), model(max_iter=2).fit(CORPUS)
    assert stream.n_reads == 2
    np.testing.assert_array_equal(streamed.embeddings_, listed.embeddings_)
    assert streamed.vocabulary_ == listed.vocabulary_


def test_generator_needs_a_vocabulary_and_no_subsampling():
    with pytest.raises(ValueError, match="X is a generator, which can be read once only"):
        model().fit(document for document in CORPUS)
    words = list(model(max_iter=0).fit(CORPUS).vocabulary_)
    options = {"vocabulary": words, "subsample": 0, "max_iter": 2}
    once = model(**options).fit(document for document in CORPUS)
    twice = model(max_iter=2, subsample=0).fit(CORPUS)
    np.testing.assert_array_equal(once.embeddings_, twice.embeddings_)
    np.testing.assert_array_equal(once.word_counts_, twice.word_counts_)
    with pytest.raises(ValueError, match="which can be read once only"):
        model(vocabulary=words, subsample=1e-3).fit(iter(CORPUS))


def test_counts_in_any_form():
    """Duplicates, unsorted and int64 indices, stored zeros, read-only arrays."""
    counts = sparse.csr_array(np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]], dtype=float))
    data = np.array([1.0, 1, 1, 3, 2, 0, 3, 1])
    columns = np.array([1, 1, 2, 2, 0, 1, 1, 0], dtype=np.int64)
    odd = sparse.csr_array((data, columns, np.array([0, 3, 6, 8], dtype=np.int64)), shape=(3, 3))
    for array in (odd.data, odd.indices, odd.indptr):
        array.flags.writeable = False
    options = {"vocabulary": ["a", "b", "c"], "max_iter": 2, "gradient": "exact"}
    plain, other = model(**options).fit(counts), model(**options).fit(odd)
    np.testing.assert_array_equal(plain.embeddings_, other.embeddings_)
    assert len(odd.data) == 8  # left as it was


def test_warm_start_keeps_the_words_that_both_know(fitted):
    first = model(max_iter=3, warm_start=True).fit(CORPUS)
    before = dict(zip(first.vocabulary_, first.embeddings_, strict=True))
    first.set_params(max_iter=0, min_count=1).fit(CORPUS + [["the", "new"]])
    assert len(first.vocabulary_) > len(before)
    for word, vector in before.items():
        np.testing.assert_array_equal(first.embeddings_[first.vocabulary_[word]], vector)


# --------------------------------------------------------------------------------------- lookups


def test_a_word_is_looked_up_by_brackets(fitted):
    np.testing.assert_array_equal(fitted["dog"], fitted.embeddings_[fitted.vocabulary_["dog"]])
    assert "dog" in fitted
    assert "no such word" not in fitted
    assert 7 not in fitted
    with pytest.raises(KeyError, match="'no such word' is not in vocabulary_"):
        fitted["no such word"]


def test_most_similar_is_the_cosine_of_centred_vectors(fitted):
    units = fitted.embeddings_ - fitted.embeddings_.mean(axis=0)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    found = fitted.most_similar(["dog", "one"], topn=3)
    for word, best in zip(["dog", "one"], found, strict=True):
        cosines = units @ units[fitted.vocabulary_[word]]
        cosines[fitted.vocabulary_[word]] = -2
        order = np.argsort(-cosines)[:3]
        words = list(fitted.vocabulary_)
        assert [other for other, _ in best] == [words[i] for i in order]
        np.testing.assert_allclose([c for _, c in best], cosines[order], atol=1e-6)
    assert len(fitted.most_similar("dog", topn=100)) == 11
    alone = fitted.most_similar("dog", topn=3)  # BLAS sums one row in another order than two
    assert [word for word, _ in alone] == [word for word, _ in found[0]]
    np.testing.assert_allclose([c for _, c in alone], [c for _, c in found[0]], atol=1e-6)


def test_analogy_is_the_nearest_to_the_difference(fitted):
    units = fitted.embeddings_ - fitted.embeddings_.mean(axis=0)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    a, b, c = (units[fitted.vocabulary_[word]] for word in ("red", "green", "dog"))
    scores = units @ (b - a + c)
    scores[[fitted.vocabulary_[word] for word in ("red", "green", "dog")]] = -9
    (best, _), *_ = found = fitted.analogy("red", "green", "dog", topn=2)
    assert fitted.vocabulary_[best] == scores.argmax()
    assert fitted.analogy(["red"], ["green"], ["dog"], topn=2) == [found]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.most_similar("zebra"), "words has 'zebra', not in vocabulary_"),
        (lambda m: m.most_similar(["the", 3]), "words has 3, not in vocabulary_"),
        (lambda m: m.most_similar(5), "must be a word or an iterable of words; got 5"),
        (lambda m: m.most_similar("the", topn=0), "topn must be an integer of at least 1; got 0"),
        (lambda m: m.analogy("the", "zebra", "dog"), "b has 'zebra', not in vocabulary_"),
        (lambda m: m.analogy(["the"], "dog", ["cat", "cow"]), "equally many words; got 1, 1, 2"),
    ],
)
def test_lookups_refuse(fitted, call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted)


def test_transform_is_the_mean_of_known_words(fitted):
    found = fitted.transform([["dog", "cat", "zebra"], ["the"], [], ["zebra"]])
    vectors = {word: fitted.embeddings_[i] for word, i in fitted.vocabulary_.items()}
    expected = [(vectors["dog"] + vectors["cat"]) / 2, vectors["the"]]
    np.testing.assert_allclose(found[:2], expected, atol=1e-6)
    np.testing.assert_array_equal(found[2:], 0)
    assert found.dtype == np.float32
    assert fitted.transform([]).shape == (0, 6)
    assert fitted.get_feature_names_out().shape == (6,)
    with pytest.raises(ValueError, match="got a str"):
        fitted.transform("dog")
    with pytest.raises(ValueError, match="split it into words"):
        fitted.transform(["dog cat"])


# ----------------------------------------------------------------------------------------- files


def read_word2vec(path, binary):
    with open(path, "rb") as file:
        n_words, dim = map(int, file.readline().split())
        vectors = {}
        for _ in range(n_words):
            if binary:
                word = b"".join(iter(lambda: file.read(1), b" "))
                vectors[word.decode()] = np.frombuffer(file.read(4 * dim), "<f4")
                assert file.read(1) == b"\n"
            else:
                word, *numbers = file.readline().split(b" ")
                vectors[word.decode()] = np.array(numbers, dtype=np.float32)
        assert file.read() == b""
    return vectors


@pytest.mark.parametrize("binary", [False, True])
def test_files_of_word2vec(fitted, tmp_path, binary):
    fitted.to_keyed_vectors(tmp_path / "vectors", binary=binary)
    vectors = read_word2vec(tmp_path / "vectors", binary)
    assert list(vectors) == list(fitted.vocabulary_)
    np.testing.assert_array_equal(np.array(list(vectors.values())), fitted.embeddings_)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_the_files(fitted, tmp_path, binary):
    models = pytest.importorskip("gensim.models")
    fitted.to_keyed_vectors(tmp_path / "vectors", binary=binary)
    vectors = models.KeyedVectors.load_word2vec_format(str(tmp_path / "vectors"), binary=binary)
    assert vectors.index_to_key == list(fitted.vocabulary_)
    np.testing.assert_array_equal(vectors.vectors, fitted.embeddings_)


def test_words_with_blanks_cannot_be_written(tmp_path):
    spaced = model(max_iter=0, subsample=0).fit([["new york", "é"]] * 9)
    with pytest.raises(ValueError, match=r"'new york'.*white space"):
        spaced.to_keyed_vectors(tmp_path / "vectors")
    assert not (tmp_path / "vectors").exists()


# ---------------------------------------------------------------------------------- scikit-learn


def test_clone_parameters_pickle(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.most_similar("dog") == fitted.most_similar("dog")
    np.testing.assert_array_equal(again.embeddings_, fitted.embeddings_)


def test_is_a_transformer_of_text():
    vectors = model(max_iter=1).fit_transform(CORPUS)
    assert vectors.shape == (300, 6)
    tags = model().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required


@pytest.mark.parametrize("method", ["transform", "most_similar", "score", "to_keyed_vectors"])
def test_has_to_be_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(model(), method)("x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 1}, "'dim' parameter.*must be an int in the range"),
        ({"gradient": "newton"}, "'gradient' parameter"),
        ({"n_chunks": 7}, "n_chunks=7 must be at most dim=6"),
        ({"subsample": -1}, "'subsample' parameter"),
        ({"window": 0}, "'window' parameter"),
        ({"min_count": 1000}, "no word that occurs min_count=1000 times; it has 18 distinct words"),
        ({"vocabulary": ["a", "a"]}, "vocabulary holds a word more than once"),
        ({"vocabulary": ["a", 1]}, "vocabulary must be an iterable of strings"),
        ({"vocabulary": "ab"}, "vocabulary must be an iterable of strings"),
        ({"vocabulary": ["nowhere", "the"]}, "no two words of the vocabulary together"),
        ({"learning_rate": 0}, "'learning_rate' parameter"),
        ({"search_params": {"n_centroids": 0}}, "'n_centroids' parameter of search_params"),
        ({"search_params": {"n_probes": 2}}, "'n_probes'; LDGSWordEmbedding knows 'n_centroids'"),
    ],
)
def test_refuses_parameters(changes, message):
    with pytest.raises(ValueError, match=message):
        model(**changes).fit(CORPUS)


@pytest.mark.parametrize(
    ("X", "words", "message"),
    [
        (np.ones((2, 2)), None, "vocabulary must name the words of the rows"),
        (np.ones((2, 3)), ["a", "b"], r"shape \(2, 3\), but the vocabulary has 2 words"),
        (np.full((2, 2), np.nan), ["a", "b"], "NaN, infinity or a negative number"),
        (np.full((2, 2), -1), ["a", "b"], "NaN, infinity or a negative number"),
        (np.full((2, 2), 1e308), ["a", "b"], "a sum beyond float64"),
        (np.zeros((2, 2)), ["a", "b"], "no two words"),
        ([], None, "no word that occurs min_count=5 times; it has 0 distinct"),
        ("text", None, "got a str"),
        ([["a", 1]], None, "words must be strings"),
    ],
)
def test_refuses_data(X, words, message):
    with pytest.raises(ValueError, match=message):
        model(vocabulary=words).fit(X)


def test_failed_fit_leaves_the_old_one():
    fitted = model(max_iter=1).fit(CORPUS)
    before = vars(fitted).copy()
    with pytest.raises(ValueError, match="words must be strings"):
        fitted.fit([["a", 1]])
    assert vars(fitted) == before

    class Interrupted(Stream):
        def __iter__(self):
            if self.n_reads:
                raise KeyboardInterrupt
            return super().__iter__()

    with pytest.raises(KeyboardInterrupt):
        fitted.fit(Interrupted(CORPUS))
    assert vars(fitted) == before


def test_steps_too_long_stay_finite():
    """Adam's steps are as long as the learning rate, so no rate in range can overflow."""
    for gradient in GRADIENTS:
        fitted = model(learning_rate=1000, max_iter=5, gradient=gradient).fit(CORPUS)
        assert np.isfinite(fitted.embeddings_).all()
        assert np.isfinite(fitted.context_embeddings_).all()
        assert np.isfinite(fitted.score(CORPUS))
