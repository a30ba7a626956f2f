"""Skip-gram by four gradients beside gensim's word2vec, under the same exact objective.

    python benchmarks/word_embedding.py [--systems NAME ...] [--passes N] [--min-count N]
                                        [--peer PYTHON] [--report]

Without --peer, a Python that has gensim, its systems are left out, or evaluated anew if named in
--systems and run before. Figures are kept, by the number of times a word must
occur; measurements/word_embedding.md and its pictures are made from all of them.
"""

import subprocess
import time
from functools import partial

import _common
import _runner
import numpy as np
from _word_embedding_report import report
from _word_embedding_systems import (
    DIM,
    MIN_COUNT,
    OURS,
    PEERS,
    SEED,
    SUBSAMPLE,
    THREADS,
    TITLES,
    WINDOW,
)
from scipy import sparse, stats
from scipy.special import logsumexp

from sklearn_xc import LDGSWordEmbedding
from sklearn_xc.utils._parallel import single_threaded_blas
from sklearn_xc.word_embedding._auto import MAX_PARTS, PART, passes_of, rate_at
from sklearn_xc.word_embedding._cooccurrence import (
    cooccurrences,
    count_words,
    encoded,
    frequent_words,
    probability_kept,
)
from sklearn_xc.word_embedding._negative_sampling import negative_sampling
from sklearn_xc.word_embedding._objective import WordPairs, objective

FOLDER = _common.BUILD / "words"
BATCH = 256  # words a block where the objective is evaluated here
POINTS = 4  # in a pass of ours, at which it is evaluated; once a pass where there are many
MANY_PASSES = 10
DEFAULT = ["exact", "decomposed", "mips", "sampled", "default", "published_start"]


def folder_of(min_count):
    return FOLDER if min_count == MIN_COUNT else FOLDER / f"min_count_{min_count}"


class Problem:
    """The corpus counted: words, their pairs, and how long that took."""

    def __init__(self, min_count):
        self.min_count, self.folder = min_count, folder_of(min_count)
        documents = [line.split() for line in _common.read_corpus(_common.CORPUS).splitlines()]
        start = time.perf_counter()
        found = count_words(documents)
        self.words = frequent_words(found, min_count, None)
        self.number = {word: i for i, word in enumerate(self.words)}
        occurrences = np.array([found[word] for word in self.words], dtype=float)
        kept = probability_kept(occurrences, SUBSAMPLE)
        stream = encoded(documents, self.number, kept, np.random.default_rng([SEED, 1]))
        self.counts = cooccurrences(stream, len(self.words), WINDOW)
        self.seconds = time.perf_counter() - start
        self.pairs = WordPairs(self.counts)
        self.n_tokens = sum(map(len, documents))


# ------------------------------------------------------------------------------------ our passes


def run_ours(problem, system, n_passes):
    """Passes, seconds and objective along the way, counting and evaluation apart."""
    options = {"max_iter": n_passes} | OURS[system][1]
    n_passes = options["max_iter"]
    points = POINTS if n_passes < MANY_PASSES else 1
    model = LDGSWordEmbedding(DIM, WINDOW, n_jobs=THREADS, **options)
    start = time.perf_counter()
    U, V = negative_sampling(
        problem.pairs,
        problem.counts,
        DIM,
        n_epochs=model.n_init_epochs,
        n_negatives=model.n_negatives,
        seed=SEED,
        n_threads=THREADS,
    )
    passes = passes_of(model, problem.pairs, U, V, SEED, THREADS, model.n_init_epochs > 0)
    seconds = init = time.perf_counter() - start
    curve = [(0, seconds, objective(problem.pairs, U, V, BATCH, THREADS))]
    for number in range(n_passes):
        due = number
        start = time.perf_counter()
        for done in passes.parts(partial(rate_at, model)):
            if done >= due + 1 / points - 1e-9 or done == number + 1:
                seconds += time.perf_counter() - start
                due += 1 / points
                curve.append((done, seconds, objective(problem.pairs, U, V, BATCH, THREADS)))
                print(f"  {done:.2f} passes: {seconds:.1f} s, {curve[-1][2]:.4f}", flush=True)
                start = time.perf_counter()
        so_far = {"curve": curve, "init_s": init, "n_scored": passes.sums.n_scored}
        keep(problem, system, so_far)
    centred = U - U.mean(axis=0)
    return {
        "curve": curve,
        "init_s": init,
        "n_scored": passes.sums.n_scored,
        "tasks": tasks(centred, problem.number),
        "tasks_plain": tasks(U, problem.number),
    }


# --------------------------------------------------------------------------------------- gensim


def run_peer(problem, system, python, n_epochs):
    text, out = problem.folder / "corpus.txt", problem.folder / f"{system}.npz"
    text.write_text(_common.read_corpus(_common.CORPUS))
    worker = _common.ROOT / "benchmarks" / "_gensim_worker.py"
    options = [n_epochs, DIM, WINDOW, problem.min_count, SUBSAMPLE, THREADS]
    if python is not None:
        subprocess.run([python, worker, out, text, system, *map(str, options)], check=True)
    with np.load(out) as found:
        place = {word: i for i, word in enumerate(found["words"])}
        order = np.array([place[word] for word in problem.words])
        U, seconds = np.ascontiguousarray(found["U"][:, order]), found["seconds"]
        plain, fit = None, None
        if system == "hs":
            steps = found["steps"]
            values = [
                tree_objective(problem, u, nodes, steps, order)
                for u, nodes in zip(U, found["V"], strict=True)
            ]
        else:
            V = np.ascontiguousarray(found["V"][:, order])
            fits = [fitted_objective(problem, u, v) for u, v in zip(U, V, strict=True)]
            values, fit = [value for value, *_ in fits], fits[-1][1:]
            plain = objective(problem.pairs, U[-1], V[-1], BATCH, THREADS)
        curve = list(zip(range(1, len(U) + 1), map(float, seconds), values, strict=True))
    return {
        "curve": curve,
        "plain": plain,
        "fit": fit,
        "tasks": tasks(U[-1], problem.number),
        "tasks_centred": tasks(U[-1] - U[-1].mean(axis=0), problem.number),
    }


def fitted_objective(problem, U, V):
    """The objective of scores a <v, u> + b log q(y), and the best a and b on some words.

    Negative sampling's scores lack the frequency of the context, which a softmax needs; two
    numbers put that right.
    """
    pairs = problem.pairs
    log_share = np.log(np.maximum(pairs.context_share, 1e-12)).astype(np.float32)
    chosen = np.sort(np.random.default_rng(0).permutation(pairs.n_words)[:512])
    share = pairs.word_share[chosen]
    products = U[chosen] @ V.T
    means = pairs.of_contexts(V, chosen)
    own = np.einsum("ij,ij->i", means, U[chosen])
    own_share = pairs.of_contexts(np.ascontiguousarray(log_share[:, None]), chosen)

    def loss(a, b):
        normaliser = logsumexp(a * products + b * log_share, axis=1)
        return share @ (normaliser - a * own - b * own_share.ravel())

    grid = [(loss(a, b), a, b) for a in np.arange(0.1, 1.55, 0.1) for b in (0.5, 0.75, 1.0)]
    _, a, b = min(grid)
    more = np.concatenate([a * U, np.ones((len(U), 1), np.float32)], axis=1).astype(np.float32)
    wider = np.concatenate([V, b * log_share[:, None]], axis=1).astype(np.float32)
    return objective(pairs, more, wider, BATCH, THREADS), float(a), float(b)


def tree_objective(problem, U, nodes, steps, order):
    """The objective of hierarchical softmax, whose own probabilities sum to 1: along the tree."""
    pairs, n_nodes = problem.pairs, len(nodes)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    rows, columns, codes = place[steps[:, 0]], steps[:, 1], steps[:, 2]
    sides = []
    for code in (0, 1):
        here = codes == code
        ones = np.ones(here.sum(), np.float32)
        shape = len(order), n_nodes
        sides.append(sparse.csr_array((ones, (rows[here], columns[here])), shape=shape))
    shape = pairs.n_words, pairs.n_words
    Q = sparse.csr_array((pairs.share, pairs.ids, pairs.indptr), shape=shape)
    total = 0.0
    with single_threaded_blas():
        for start in range(0, pairs.n_words, BATCH):
            part = slice(start, start + BATCH)
            scores = U[part] @ nodes.T
            # P(left) = sigmoid(score) for code 0, sigmoid(-score) for code 1
            for side, sign in zip(sides, (1, -1), strict=True):
                weight = (Q[part] @ side).tocoo()
                losses = weight.data * np.logaddexp(0, -sign * scores[weight.row, weight.col])
                total += float(pairs.word_share[part][weight.row] @ losses)
    return total


# ---------------------------------------------------------------------------------------- tasks


def tasks(vectors, number):
    """Rank correlations and analogy accuracy, with how many questions had all words."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = {}
    for name, file in (("wordsim", "wordsim353.tsv"), ("simlex", "simlex999.txt")):
        rows = [
            line.split("\t") for line in _common.read_corpus(file).splitlines() if line[:1] != "#"
        ]
        rows = [(a.lower(), b.lower(), float(x)) for a, b, x, *_ in rows]
        known = [(number[a], number[b], x) for a, b, x in rows if a in number and b in number]
        first, second, human = (np.array(column) for column in zip(*known, strict=True))
        cosines = (units[first] * units[second]).sum(axis=1)
        found[name] = float(stats.spearmanr(cosines, human).statistic)
        found[f"{name}_n"] = [len(known), len(rows)]
    questions = [
        line.lower().split()
        for line in _common.read_corpus("questions-words.txt.xz").splitlines()
        if line and line[0] != ":"
    ]
    known = np.array([[number[w] for w in q] for q in questions if all(w in number for w in q)])
    right = 0
    for start in range(0, len(known), 512):
        a, b, c, d = known[start : start + 512].T
        asked = units[b] - units[a] + units[c]
        scores = asked @ units.T
        for given in (a, b, c):
            scores[np.arange(len(a)), given] = -np.inf
        right += int((scores.argmax(axis=1) == d).sum())
    found["analogy"], found["analogy_n"] = right / len(known), [len(known), len(questions)]
    return found


# ----------------------------------------------------------------------------------------- page


def keep(problem, name, result):
    """Put the figures of a system, or those so far, where the page is made from."""
    _runner.keep("word_embedding", str(problem.min_count), name, result)


def main():
    parser = _runner.parser(__doc__)
    add = parser.add_argument
    add("--systems", nargs="+", choices=TITLES, default=None, metavar="NAME")
    add(
        "--passes",
        type=int,
        default=3,
        metavar="N",
        help="of ours, but for default and published_start; rates fall over all of them",
    )
    add("--epochs", type=int, default=5, metavar="N", help="of gensim")
    add("--peer", metavar="PYTHON", help="a Python that has gensim")
    add("--min-count", type=int, default=MIN_COUNT, metavar="N", help="of words in the corpus")
    options = parser.parse_args()
    if not options.report:
        measure(options)
    report()


def measure(options):
    problem = Problem(options.min_count)
    problem.folder.mkdir(parents=True, exist_ok=True)
    pairs = problem.pairs
    share = problem.counts.data / problem.counts.sum()
    known = pairs.context_share[pairs.context_share > 0]
    unigram = -float(known @ np.log(known))
    facts = {
        "n_tokens": f"{problem.n_tokens:,}",
        "n_words": f"{pairs.n_words:,}",
        "n_pairs": f"{problem.counts.nnz:,}",
        "dim": DIM,
        "batch": LDGSWordEmbedding().batch_size,
        "points": POINTS,
        "count_s": f"{problem.seconds:.1f}",
        "unigram": f"{unigram:.4f}",
        "n_parts": min(MAX_PARTS, -(-pairs.n_words // PART)),
        "bound": f"{-float(share @ np.log(share)) - unigram:.4f}",
    }
    _runner.keep("word_embedding", str(options.min_count), "problem", facts)
    systems = options.systems or DEFAULT + (list(PEERS) if options.peer else [])
    for name in systems:
        if name in PEERS and not options.peer and not (problem.folder / f"{name}.npz").exists():
            raise SystemExit(f"{name} needs --peer PYTHON")
        print(TITLES[name], flush=True)
        if name in PEERS:
            result = run_peer(problem, name, options.peer, options.epochs)
        else:
            result = run_ours(problem, name, options.passes)
        keep(problem, name, result)


if __name__ == "__main__":
    main()
