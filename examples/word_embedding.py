"""A map of words.

Learns word vectors from text, prints the neighbours of some words, and draws the most frequent of
the others by two-dimensional projection, words that are used alike near each other. The text is
that of the docstrings of installed packages, or a file with a document a line.

    python examples/word_embedding.py
    python examples/word_embedding.py --text corpus.txt --passes 20 --output map.png
"""

import argparse
import lzma
import re
import time
from pathlib import Path

from _passages import pyplot
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.manifold import TSNE

from sklearn_xc import LDGSWordEmbedding
from sklearn_xc.datasets import load_docstrings

FEWEST = 20  # words on the map
NEIGHBOURS = 6


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--text", metavar="FILE", type=Path, help="a document a line, plain or .xz")
    add("--sample", metavar="N", type=int, default=250, help="words on the map")
    add("--passes", metavar="N", type=int, default=20, help="passes over the pairs of words")
    add("--output", metavar="FILE", default="word_embedding.png", help="where to draw the map")
    options = parser.parse_args()
    if options.sample < FEWEST:
        parser.error(f"--sample must be at least {FEWEST}")
    if options.passes < 1:
        parser.error("--passes must be at least 1")
    return options


class Lines:
    """The words of each line of a file, which is opened anew for each reading of it."""

    def __init__(self, path):
        self.path = path

    def __iter__(self):
        opened = lzma.open if self.path.suffix == ".xz" else open
        with opened(self.path, "rt") as file:
            for line in file:
                yield words_of(line)


def words_of(text):
    return re.findall(r"[a-z]+", text.lower())


def main():
    options = parse_options()
    corpus = Lines(options.text) if options.text else docstrings()
    start = time.perf_counter()
    model = LDGSWordEmbedding(dim=50, max_iter=options.passes, random_state=0).fit(corpus)
    print(
        f"K = {len(model.vocabulary_)} words, {model.n_pairs_:.0f} pairs, "
        f"{model.n_scored_:.0f} words scored for a word, {time.perf_counter() - start:.1f} s\n"
    )
    shown = [
        word for word in model.vocabulary_ if len(word) > 2 and word not in ENGLISH_STOP_WORDS
    ][: options.sample]
    asked = shown[:NEIGHBOURS]
    for word, found in zip(asked, model.most_similar(asked, topn=5), strict=True):
        print(f"{word:>14}: {', '.join(other for other, _ in found)}")
    save_map(options.output, model, shown)


def docstrings():
    data = load_docstrings()
    return [words_of(text) for text in data.data_train]


def save_map(path, model, words):
    plt = pyplot()
    if plt is None:
        return
    vectors = model.transform([[word] for word in words]) - model.embeddings_.mean(axis=0)
    perplexity = min(15, (len(words) - 1) / 3)
    places = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=0)
    places = places.fit_transform(vectors)
    figure, axes = plt.subplots(figsize=(11, 9), layout="constrained")
    axes.scatter(*places.T, s=4, color="tab:blue")
    for word, place in zip(words, places, strict=True):
        axes.annotate(word, place, fontsize=7, xytext=(2, 1), textcoords="offset points")
    axes.set(xticks=[], yticks=[], title=f"The {len(words)} most frequent words but stop words")
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
