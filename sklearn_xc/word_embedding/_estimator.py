"""LDGSWordEmbedding: word vectors by the collapsed skip-gram objective."""

from collections.abc import Iterable
from functools import partial
from typing import Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..base._validation import all_or_nothing, check_parameters
from ..persistence import SaveMixin
from ..utils._callbacks import CallbackSupportMixin, Progress, with_callbacks
from ..utils._memory_limit import require_memory
from ..utils._parallel import effective_threads
from ..utils._random import stream
from ..utils._records import savable
from ..utils._typing import MatrixLike, RandomState
from . import _cooccurrence as counting
from ._auto import passes_of, rate_at
from ._cooccurrence import Corpus
from ._fitted import check_loaded
from ._negative_sampling import negative_sampling
from ._objective import WordPairs, objective
from ._parameters import CONSTRAINTS, SEARCH_PARAMS
from ._train import SkipGram
from ._vocabulary import count_pairs
from ._word_vectors import WordVectorsMixin

SAMPLED = 512  # words whose objective is printed
# The vocabulary of the fit before and its vectors of words and contexts, or None.
VectorsBefore: TypeAlias = tuple[dict[str, int] | None, np.ndarray | None, np.ndarray | None]


@savable
class LDGSWordEmbedding(SaveMixin, CallbackSupportMixin, WordVectorsMixin, BaseEstimator):
    """Word vectors by skip-gram with a softmax over all words, found by decomposed search (LDGS).

    Minimises, over a vector u for each word and a vector v for each word as a context::

        sum_x q(x) sum_y q(y|x) (log sum_y' exp <v_y', u_x> - <v_y, u_x>)

    (eq. 9 of [1]_), where the q are shares of the pairs of words that stand at most `window` places
    apart: the corpus is read once to count them, and training then costs the same however long it
    is. The sum over all words is taken exactly, or over those of large probability that searches
    of chunks of the coordinates name and a few drawn for all others. Training can begin with epochs
    of negative sampling [2]_ on the same counts.

    Parameters
    ----------
    dim : int, default=100
        Length of the vectors.
    window : int, default=8
        Pairs are at most this many places apart, counted after words have been dropped.
    gradient : {"decomposed", "mips", "sampled", "exact"}, default="decomposed"
        The words y' of the sum. "decomposed" cuts the coordinates into `n_chunks` and asks an index
        of each, "mips" one index of all coordinates; both add the contexts of the word and
        `unretrieved`. "sampled" takes the contexts of the word and words drawn uniformly.
        "exact" takes all.
    n_chunks : int, default=4
        B of "decomposed"; at most `dim`.
    n_message_passes : int, default=0
        Passes T of Algorithm 2 for "decomposed". 0 scores all that was retrieved exactly, which is
        what the passes tend to: after T of them a factor 2 / ((T + 1) (T + 2)) of the way is left.
    query_size : "auto" or int, default="auto"
        Words retrieved for a word by each index. "auto" shares 2 sqrt(K) among the indexes if drawn
        words stand for the rest, where more was not worth its time. Otherwise it shares K / 20, as
        published, but takes the root of K at least.
    index : {"spherical", "hnsw", "exact"}, default="spherical"
        The index, rebuilt for each pass: lists by spherical k-means, or one of
        :mod:`sklearn_xc.mips`.
    search_params : dict or None, default=None
        What "spherical" goes by; None is {"n_centroids": 100}, as many clusters as published.
    unretrieved : {"sampled", "zero", "exclude"}, default="sampled"
        What stands in the sum for words that "decomposed" and "mips" do not name. "sampled": the
        most frequent contexts are all in it, and the searches look among the others, of which some
        are drawn by chance for those not found, weighted by the inverse of it. "zero": all are
        counted as if scored 0 (Algorithm 1). "exclude": nothing.
    n_frequent : "auto" or int, default="auto"
        Most frequent contexts that are in every sum, for "decomposed" and "mips" with
        ``unretrieved="sampled"``; "auto" is K / 20, but the root of K at least.
    n_sampled_classes : "auto" or int, default="auto"
        Draws of words for each block of words, as likely as the root of their frequency is large.
        "auto" is K / 12, and K / 100 for "sampled", but the root of K at least.
    tau : float, default=0.0
        tau_2 of Algorithm 2: words with smaller gradients get no messages.
    min_count : int, default=5
        Rarer words are left out of the vocabulary.
    max_vocabulary : int or None, default=None
        So many words at most, the most frequent ones.
    vocabulary : iterable of str or None, default=None
        The words, in the order of their rows; None finds them. Needed when fit gets a matrix.
    subsample : float, default=1e-4
        Threshold t: an occurrence of a word of frequency f is dropped with probability
        ``max(1 - sqrt(t / f), 0)``, as published. 0 drops none.
    n_negatives : int, default=5
        Words drawn for each pair in epochs of negative sampling.
    n_init_epochs : int, default=0
        Such epochs at the beginning, 1 as published; 0 begins with random vectors of words, and
        contexts that know their frequency alone, which was faster and gave better vectors.
    learning_rate : float, default=0.2
        Length of the first steps of the coordinates (of Adagrad [3]_, whatever the gradient).
    decay : {"linear", "inverse"} or float, default="linear"
        "linear" lets the rate fall evenly to a twentieth over all passes, "inverse" makes it
        ``learning_rate / (1 + t)`` after t passes; a number is multiplied with it after each pass.
    max_iter : int, default=20
        Passes. There is no tolerance: with the linear schedule rates fall over just these passes,
        so that the objective goes on falling until they end; `compute_loss` tells how far it came.
    n_parts : "auto" or int, default="auto"
        Steps of the contexts in a pass. A pass deals words out to this many parts at random; the
        words of a part make a step, and then all contexts, with the gradient of these words.
        "auto" has 1024 words in a part at most, but not more than 32 parts.
    batch_size : int, default=128
        Words whose scores are computed at once. It bounds memory, and words drawn and retrieved are
        shared by this many: fewer give less noise. The steps are those of a whole part either way.
        With ``unretrieved="sampled"`` and no message passes a block is of words of similar vectors
        and asks the indexes once, with its mean, and all of its words are scored with what is
        retrieved: matrix products, ten times faster a word scored. Such blocks ask from the second
        pass on, if all begins with random vectors. Otherwise every word asks for itself, as
        published.
    compute_loss : bool, default=False
        Whether to evaluate the objective exactly after each pass, which costs about half of a pass
        of exact gradients.
    n_jobs : int or None, default=None
        Threads; None is 1 unless :func:`joblib.parallel_config` says otherwise, -1 all cores. The
        result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For dropped words, negative sampling, clusters and words drawn.
    verbose : int, default=0
        A line for each pass: how many there are, the objective (without `compute_loss` its mean
        over 512 words drawn), the number of words scored for a word, the time taken and left.
    warm_start : bool, default=False
        Begin the next fit with the vectors of this one, for words that both know; negative sampling
        is left out then.

    Attributes
    ----------
    embeddings_ : ndarray of float32, shape (n_words, dim)
        The u, word by word in the order of `vocabulary_`.
    context_embeddings_ : ndarray of float32, shape (n_words, dim)
        The v.
    vocabulary_ : dict of str to int
        The row of each word. Unless given, the most frequent word is first.
    word_counts_ : ndarray of float64, shape (n_words,)
        Occurrences in the corpus; row sums where fit got a matrix.
    n_pairs_ : float
        Pairs counted, each in both directions.
    n_scored_ : float
        Mean number of words scored for a word in the last pass.
    objective_ : float
        The exact objective at the end; only with `compute_loss`. :meth:`score` gives it any time.
    loss_curve_ : ndarray of float64, shape (n_passes,)
        The exact objective after each pass; only with `compute_loss`.
    n_iter_ : int
        Passes made.

    See Also
    --------
    sklearn_xc.mips.SphericalIndex : The index.

    Notes
    -----
    Memory, with K words, P distinct pairs of words (both directions) and b = `batch_size`: 52 P
    bytes until the passes begin and 8 P while training; 20 K dim for vectors, gradient and the
    sums of Adagrad; with S = ``n_frequent + n_chunks * query_size + n_sampled_classes``, 4 S (b +
    dim) + 12 K a thread, and for each of 32 to 8 blocks at once, as 256 MB allow, 4 S (dim + 3), 4
    K and 16 for each pair of its words; ``4 K n_chunks * query_size / b`` for what a pass searches,
    and as much as V once more while words are put together. Where each word asks for itself a block
    takes ``24 b (n_chunks * query_size + c)``, c being the most contexts of a word; "exact" and the
    objective take 4 b K a thread. None of it depends on the length of the corpus.

    A softmax needs the frequency of the context first of all, which the scores of negative sampling
    lack. The last coordinate is therefore begun with a constant for words and a multiple of the
    logarithm of that frequency for contexts, and then trained like the others. :meth:`most_similar`
    and :meth:`analogy` compare vectors from which their mean has been taken.

    References
    ----------
    .. [1] I. E. H. Yen, S. Kale, F. X. Yu, D. Holtmann-Rice, S. Kumar, P. Ravikumar. Loss
       Decomposition for Fast Learning in Large Output Spaces. ICML 2018, eq. 9 and section 5.3.
    .. [2] T. Mikolov, I. Sutskever, K. Chen, G. Corrado, J. Dean. Distributed Representations of
       Words and Phrases and their Compositionality. NIPS 2013.
    .. [3] J. Duchi, E. Hazan, Y. Singer. Adaptive Subgradient Methods for Online Learning and
       Stochastic Optimization. JMLR 12, 2011.

    Examples
    --------
    >>> from sklearn_xc import LDGSWordEmbedding
    >>> corpus = [["one", "and", "two"], ["two", "and", "three"], ["cats", "purr"]] * 50
    >>> model = LDGSWordEmbedding(dim=4, subsample=0, max_iter=50, random_state=0).fit(corpus)
    >>> sorted(model.vocabulary_)
    ['and', 'cats', 'one', 'purr', 'three', 'two']
    >>> model.transform([["cats", "purr"], ["two"]]).shape
    (2, 4)
    >>> [word for word, _ in model.most_similar("one", topn=1)]
    ['three']
    """

    def _check_loaded(self, mapped: bool) -> None:
        """Raise ValueError if attributes that were loaded do not fit together."""
        super()._check_loaded(mapped)
        check_loaded(self)

    _parameter_constraints = CONSTRAINTS
    _search_params = SEARCH_PARAMS

    def __init__(
        self,
        dim: int = 100,
        window: int = 8,
        *,
        gradient: str = "decomposed",
        n_chunks: int = 4,
        n_message_passes: int = 0,
        query_size: int | str = "auto",
        index: str = "spherical",
        search_params: dict | None = None,
        unretrieved: str = "sampled",
        n_frequent: int | str = "auto",
        n_sampled_classes: int | str = "auto",
        tau: float = 0.0,
        min_count: int = 5,
        max_vocabulary: int | None = None,
        vocabulary: Iterable[str] | None = None,
        subsample: float = 1e-4,
        n_negatives: int = 5,
        n_init_epochs: int = 0,
        learning_rate: float = 0.2,
        decay: float | str = "linear",
        max_iter: int = 20,
        n_parts: int | str = "auto",
        batch_size: int = 128,
        compute_loss: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.dim = dim
        self.window = window
        self.gradient = gradient
        self.n_chunks = n_chunks
        self.n_message_passes = n_message_passes
        self.query_size = query_size
        self.index = index
        self.search_params = search_params
        self.unretrieved = unretrieved
        self.n_frequent = n_frequent
        self.n_sampled_classes = n_sampled_classes
        self.tau = tau
        self.min_count = min_count
        self.max_vocabulary = max_vocabulary
        self.vocabulary = vocabulary
        self.subsample = subsample
        self.n_negatives = n_negatives
        self.n_init_epochs = n_init_epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.max_iter = max_iter
        self.n_parts = n_parts
        self.batch_size = batch_size
        self.compute_loss = compute_loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    # -------------------------------------------------------------------------------- training

    @with_callbacks
    def fit(self, X: Corpus | MatrixLike, y: None = None) -> Self:
        """Learn the vectors of the words of a corpus.

        Parameters
        ----------
        X : iterable of iterables of str, or sparse matrix of shape (n_words, n_words)
            Documents as lists of words; read twice, or once if `vocabulary` is given and
            `subsample` is 0, so a generator will not do otherwise. Or counts, row x and column y
            how often y is a context of x, for the words of `vocabulary`: `window`, `min_count`,
            `max_vocabulary` and `subsample` do not apply then.
        y : None
            Not used.

        Returns
        -------
        self : LDGSWordEmbedding

        Raises
        ------
        ValueError
            If a parameter or X is not as described, or no two words of the vocabulary occur
            together.
        MemoryError
            If vectors or blocks would exceed the limit on memory.

        Notes
        -----
        Whatever ends the fit early leaves the estimator as it was.
        """
        progress = Progress.of_fit(self, X, y, None)
        with all_or_nothing(self):
            self._check()
            # Before the vocabulary of this fit takes the place of that of the last.
            before = (getattr(self, "vocabulary_", None), *self._vectors_before())
            rng = check_random_state(self.random_state)
            seed = int(rng.randint(2**31 - 1))
            words, self.word_counts_, counts = count_pairs(X, self, seed)
            self.vocabulary_ = {word: i for i, word in enumerate(words)}
            self.n_pairs_ = float(counts.sum())
            if self.n_pairs_ == 0:
                raise ValueError(
                    "X has no two words of the vocabulary together: nothing can be learned"
                )
            self._require_memory(counts)
            n_threads = effective_threads(self.n_jobs)
            pairs = WordPairs(counts)
            U, V = self._start(pairs, counts, before, seed, n_threads)
            # Memory: pairs hold what training needs of them.
            del counts
            trained = self.n_init_epochs > 0 or self._goes_on(before)
            progress.start(self.max_iter, name="pass", set_model=type(self)._set_copies)
            passes = passes_of(self, pairs, U, V, seed, n_threads, trained)
            self._train(passes, n_threads, progress, stream(seed, "words of the loss printed"))
            self.embeddings_, self.context_embeddings_ = U, V
            progress.finish()
        return self

    def _check(self) -> None:
        """Refuse parameters out of their range, or that do not go together."""
        check_parameters(self)
        if self.gradient == "decomposed" and self.n_chunks > self.dim:
            raise ValueError(f"n_chunks={self.n_chunks} must be at most dim={self.dim}")

    def _set_copies(self, U: np.ndarray, V: np.ndarray) -> None:
        """Take the vectors of this moment, in a copy of the estimator that callbacks see."""
        self.embeddings_, self.context_embeddings_ = U.copy(), V.copy()

    def _vectors_before(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the vectors of the fit before, where this one is to start from them."""
        if self.warm_start and "embeddings_" in vars(self):
            return self.embeddings_, self.context_embeddings_
        return None, None

    def _require_memory(self, counts: sparse.csr_array) -> None:
        """Refuse vectors and scores that do not fit into memory."""
        n_words = counts.shape[0]
        require_memory(
            # U, V, the gradient in V and two sums of Adagrad: five matrices of float32.
            20 * n_words * self.dim,
            f"fit: vectors of {n_words} words and {self.dim} dimensions",
            "use a smaller dim, or max_vocabulary",
        )
        # Where scores of all words are taken, of one block a thread.
        if self.gradient == "exact" or self.compute_loss or self.verbose:
            size = 4 * min(self.batch_size, n_words) * n_words * effective_threads(self.n_jobs)
            require_memory(
                size, f"fit: scores of {self.batch_size} words", "use a smaller batch_size"
            )

    def _goes_on(self, before: VectorsBefore) -> bool:
        """Return whether there are vectors to begin with."""
        return before[1] is not None and before[1].shape[1] == self.dim

    def _start(
        self,
        pairs: WordPairs,
        counts: sparse.csr_array,
        before: VectorsBefore,
        seed: int,
        n_threads: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return vectors to begin with: of words that the fit before knew too, its own."""
        vocabulary, U_before, V_before = before
        warm = self._goes_on(before)
        U, V = negative_sampling(
            pairs,
            counts,
            self.dim,
            n_epochs=0 if warm else self.n_init_epochs,
            n_negatives=self.n_negatives,
            seed=seed,
            n_threads=n_threads,
        )
        if warm:
            shared = [(i, vocabulary[w]) for w, i in self.vocabulary_.items() if w in vocabulary]
            now, then = np.array(shared, dtype=np.int64).reshape(-1, 2).T
            U[now], V[now] = U_before[then], V_before[then]
        return U, V

    def _train(
        self, model: SkipGram, n_threads: int, progress: Progress, rng: np.random.Generator
    ) -> None:
        """Make the passes; sets n_iter_, n_scored_ and, with `compute_loss`, the objective."""
        curve, share = [], model.pairs.word_share
        # Drawn by q(x), so that their plain mean estimates the objective.
        sample = rng.choice(len(share), SAMPLED, p=share / share.sum())
        reach = partial(objective, model.pairs, model.U, model.V, self.batch_size, n_threads)
        self.n_iter_ = 0
        for _ in range(self.max_iter):
            progress.begin()
            model.iterate(partial(rate_at, self))
            if self.compute_loss:
                curve.append(reach())
            loss = curve[-1] if curve else reach(sample) if progress.verbose else None
            self.n_iter_ += 1
            reached = {"loss": loss, "words_scored": model.sums.n_scored}
            if progress.end(model.U, model.V, **reached):
                break
        self.n_scored_ = model.sums.n_scored
        # A fit before may have left them.
        for name in ("loss_curve_", "objective_"):
            vars(self).pop(name, None)
        if self.compute_loss:
            self.loss_curve_ = np.array(curve)
            self.objective_ = curve[-1] if curve else reach()

    # -------------------------------------------------------------------------------- afterwards

    def score(self, X: Corpus | MatrixLike, y: None = None) -> float:
        """Return the mean log-probability of a context given its word; the objective, negated.

        Parameters
        ----------
        X : iterable of iterables of str, or sparse matrix of shape (n_words, n_words)
            A corpus, all of whose words in the vocabulary count (none are dropped), or counts.
        y : None
            Not used.

        Returns
        -------
        score : float
            Exact; the normaliser is the sum over all words of the vocabulary.

        Raises
        ------
        ValueError
            If X is not as described, or no two words of the vocabulary occur together in it.
        """
        check_is_fitted(self)
        n_words = len(self.vocabulary_)
        if counting.is_matrix(X):
            counts = counting.check_counts(X, list(self.vocabulary_))
        else:
            documents = counting.encoded(X, self.vocabulary_)
            counts = counting.cooccurrences(documents, n_words, self.window)
        if counts.sum() == 0:
            raise ValueError("X has no two words of the vocabulary together: nothing to score")
        return -objective(
            WordPairs(counts),
            self.embeddings_,
            self.context_embeddings_,
            self.batch_size,
            effective_threads(self.n_jobs),
        )
