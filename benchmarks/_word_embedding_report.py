"""The page and the picture of word_embedding.py, from its figures."""

from itertools import pairwise

import _common
import _runner
from _word_embedding_systems import MIN_COUNT, PEERS, TITLES


def load_results(min_count=MIN_COUNT):
    kept = _runner.kept("word_embedding").get(str(min_count), {})
    return {name: kept[name] for name in TITLES if name in kept}


def seconds_to(curve, target):
    """When a curve first reaches the target, between its points; None if it never does."""
    for (_, s0, f0), (_, s1, f1) in pairwise(curve):
        if f0 <= target:
            return s0
        if f1 <= target:
            return s0 + (s1 - s0) * (f0 - target) / (f0 - f1)
    return None


def report():
    facts = _runner.kept("word_embedding").get(str(MIN_COUNT), {}).get("problem")
    if facts is None:
        raise SystemExit(f"the page needs figures of words that occur {MIN_COUNT} times, too")
    results = load_results()
    best = best_of_peers(results)
    rows = []
    for name, result in results.items():
        curve = result["curve"]
        passes = max(1, curve[-1][0])
        each = seconds_of_pass(result)
        to_best = None if best is None else seconds_to(curve, best)
        rows.append(
            [
                TITLES[name],
                passes,
                _common.figure(each),
                _common.figure(result.get("n_scored")),
                _common.figure(min(f for _, _, f in curve), 5),
                _common.figure(curve[-1][1]),
                _common.figure(to_best),
            ]
        )
    header = ["system", "passes", "s a pass", "words scored a word", "best objective", "s in all"]
    text = _common.table([*header, "s to gensim's best"], rows)
    counts = next(
        (
            [r["tasks"][f"{k}_n"] for k in ("wordsim", "simlex", "analogy")]
            for r in results.values()
            if "tasks" in r
        ),
        [],
    )
    ratio = ratio_text(results, best)
    _runner.write_page(
        "word_embedding",
        PAGE.format(
            source=_runner.source("word_embedding"),
            ratio=ratio,
            table=text,
            quality=quality(results),
            counts=", ".join(f"{n} of {m}" for n, m in counts),
            vocabularies=vocabularies(),
            **facts,
        ),
    )
    draw(results, best)


def quality(results):
    """Return the table of word similarities and analogies."""
    rows = []
    for name, result in results.items():
        for kind, which in (
            ("tasks", ""),
            ("tasks_plain", ", mean left in"),
            ("tasks_centred", ", mean taken out"),
        ):
            if kind in result:
                t = result[kind]
                rows.append(
                    [
                        TITLES[name] + which,
                        *(f"{t[k]:.3f}" for k in ("wordsim", "simlex")),
                        f"{100 * t['analogy']:.1f} %",
                    ]
                )
    return _common.table(["vectors", "WordSim-353", "SimLex-999", "analogies"], rows)


def best_of_peers(results):
    return min((r["curve"][-1][2] for n, r in results.items() if n in PEERS), default=None)


def seconds_of_pass(result):
    passes, seconds, _ = result["curve"][-1]
    return (seconds - result.get("init_s", 0)) / max(1, passes)


def vocabularies():
    """A table of exact and decomposed gradients by the words that the corpus is cut to."""
    rows = []
    kept = _runner.kept("word_embedding")
    for min_count in sorted(map(int, kept), reverse=True):
        results = load_results(min_count)
        best = best_of_peers(results)
        if best is None or not {"exact", "decomposed"} <= set(results):
            continue
        facts = kept[str(min_count)]["problem"]
        both = [results[name] for name in ("exact", "decomposed")]
        costs = [seconds_of_pass(result) for result in both]
        times = [seconds_to(result["curve"], best) for result in both]
        ratio = None if None in times else times[0] / times[1]
        rows.append(
            [
                min_count,
                facts["n_words"],
                facts["n_pairs"],
                *map(_common.figure, costs),
                f"{best:.4f}",
                *map(_common.figure, times),
                _common.figure(ratio, 2),
            ]
        )
    header = ["a word occurs at least", "words", "pairs", "exact, s a pass", "decomposed"]
    return _common.table([*header, "gensim's best", "exact, s to it", "decomposed", "ratio"], rows)


def ratio_text(results, best):
    """How much sooner decomposed gradients arrive, at gensim's best and where both have been."""
    if not {"exact", "decomposed"} <= set(results):
        return ""
    exact, decomposed = results["exact"], results["decomposed"]
    costs = [seconds_of_pass(result) for result in (exact, decomposed)]
    both = max(min(f for _, _, f in r["curve"]) for r in (exact, decomposed))
    text = (
        f"**A pass of exact gradients costs {costs[0] / costs[1]:.1f} times one of decomposed "
        f"gradients.** {sooner(exact, decomposed, both, 'The lowest objective that both reached')}"
    )
    if best is not None:
        text += f" {sooner(exact, decomposed, best, 'The best objective of gensim here')}"
        text += " The aim was 3 times."
    return text


def sooner(exact, decomposed, target, what):
    times = [seconds_to(result["curve"], target) for result in (exact, decomposed)]
    late = [n for n, t in zip(("exact", "decomposed"), times, strict=True) if t is None]
    if late:
        return f"{what}, {target:.4f}, was not reached by {' and '.join(late)} gradients."
    return (
        f"{what}, {target:.4f}, took exact gradients {times[0]:.0f} s and decomposed ones "
        f"{times[1]:.0f} s: {times[0] / times[1]:.1f} times as long."
    )


def draw(results, best):
    figure, (left, right) = _runner.axes(2, figsize=(11, 4.5), sharey=True)
    for name, result in results.items():
        passes, seconds, values = zip(*result["curve"], strict=True)
        style = "--" if name in PEERS else "-"
        left.plot(seconds, values, style, marker=".", label=TITLES[name])
        right.plot(passes, values, style, marker=".")
    if best is not None:
        for axes in (left, right):
            axes.axhline(best, color="grey", linewidth=0.8)
    left.set(xlabel="seconds of training", ylabel="exact objective (nats a pair)")
    right.set(xlabel="passes or epochs")
    left.legend(fontsize=8)
    _runner.picture(figure, "benchmark_word_embedding", "objective against seconds and passes")


PAGE = """# Word vectors: the exact skip-gram objective against time

{source}
Times are seconds by the clock, of two threads on a machine left alone.

{n_tokens} tokens of English text, {n_words} words that occur five times, {n_pairs} distinct pairs,
window 8, subsampling 1e-4, {dim} dimensions, blocks of {batch} words, two threads. Counting took
{count_s} s, once for all systems, and not in the times; the objective is evaluated outside them
too, {points} times a pass of ours. A softmax that knows only how frequent each context is has
{unigram}; the conditional entropy of the counts, which no model beats, is {bound}. All of ours
begin with the same random vectors and take the same steps, of contexts {n_parts} times a pass; they
differ in their sums only. Rates fall over the passes planned, of ours and of gensim.

{ratio}

![objective against seconds and passes](images/benchmark_word_embedding.png)

{table}

**By size of the vocabulary** (`--min-count`). A pass of exact gradients grows as the square of it,
one of decomposed gradients more slowly. The best of gensim is that of hierarchical softmax on the
same words.

{vocabularies}

**gensim under the same objective.** The pairs are those counted here, of one draw of the
subsampling. Hierarchical softmax has normalised probabilities of its own, and these are evaluated,
along its tree. Negative sampling learns scores without the frequency of the context, with which the
softmax of eq. 9 would be worse than knowing nothing: it is evaluated with scores
a <v, u> + b log q(y), the two numbers fitted on 512 words, which costs our vectors the one
coordinate that begins as that logarithm and gensim's none. Windows are of fixed size for gensim too
(`shrink_windows=False`), its rate the default.

## Similarity and analogies

Spearman's rank correlation with human judgements, and the share of analogies answered first
(questions with all words in the vocabulary: {counts}).

{quality}
"""
