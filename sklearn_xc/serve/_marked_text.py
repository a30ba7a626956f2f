"""Where in a text the features are that made a score."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, TypeAlias

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline

WORD = re.compile(r"\w+")  # what an analyzer of the user is given, one at a time
Places: TypeAlias = Iterator[tuple[int, int, str]]


def marked(text: str, vectorizer: Any, parts: dict[str, float]) -> list[list[str | float]]:
    """Return a text in pieces, each with what its features gave to the score.

    Parameters
    ----------
    text : str
    vectorizer : transformer or None
        The one that made features of the text: of words, pieces of words or what an analyzer makes
        of them, alone or with others in a FeatureUnion.
    parts : dict
        Name of a feature -> contribution. One that occurs several times gives its contribution to
        each place; a letter that several features cover has the sum.

    Returns
    -------
    pieces : list of [str, float]
        Which joined are the text; all of it with 0 where features are not found in texts.
    """
    # A value a letter, as places overlap: pairs of words, pieces of words, parts of a union.
    values = [0.0] * len(text)
    for start, end, name in _places(text, vectorizer, parts):
        for i in range(start, end):
            values[i] += parts[name]
    found: list[list[str | float]] = []
    for value, letters in groupby(zip(text, values, strict=True), key=lambda pair: pair[1]):
        found.append(["".join(letter for letter, _ in letters), round(value, 6)])
    return found


def _places(text: str, vectorizer: Any, parts: dict[str, float]) -> Places:
    """Yield where features begin and end in a text, and their names."""
    if isinstance(vectorizer, FeatureUnion):
        yield from _places_of_union(text, vectorizer, parts)
    elif isinstance(vectorizer, Pipeline):
        # Later steps weigh or drop features; where they make others, no name is found in the text.
        yield from _places(text, vectorizer.steps[0][1], parts)
    if not isinstance(vectorizer, CountVectorizer):
        return
    # Names of a union may come without a prefix, and be those of its other vectorizers.
    parts = {name: part for name, part in parts.items() if name in vectorizer.vocabulary_}
    if callable(vectorizer.analyzer) or vectorizer.tokenizer is not None:
        yield from _analyzed(text, vectorizer, parts)
    elif vectorizer.analyzer == "word":
        yield from _words(text, vectorizer, parts)
    else:
        yield from _pieces(text, vectorizer, parts)


def _places_of_union(text: str, union: FeatureUnion, parts: dict[str, float]) -> Places:
    """Yield places of each vectorizer of a union, whose features begin with its name."""
    for key, vectorizer in union.transformer_list:
        prefix = f"{key}__" if union.verbose_feature_names_out else ""
        begun = [name for name in parts if name.startswith(prefix)]
        own = {name.removeprefix(prefix): parts[name] for name in begun}
        for start, end, name in _places(text, vectorizer, own):
            yield start, end, prefix + name


def _analyzed(text: str, vectorizer: CountVectorizer, parts: dict[str, float]) -> Places:
    """Yield the words of which an analyzer makes a feature, such as its stem.

    An analyzer gives features without their places, so each word is analyzed alone. Features of
    several words are not found.
    """
    analyze = vectorizer.build_analyzer()
    for word in WORD.finditer(text):
        for name in set(analyze(word.group())):
            if name in parts:
                yield *word.span(), name


def _pieces(text: str, vectorizer: CountVectorizer, parts: dict[str, float]) -> Places:
    """Yield pieces of words, in any case."""
    for name in parts:
        letters = name.strip() if vectorizer.analyzer == "char_wb" else name
        if letters:
            # A lookahead finds places that overlap, such as "ana" twice in "banana".
            for place in re.finditer(f"(?={re.escape(letters)})", text, re.IGNORECASE):
                yield place.start(), min(place.start() + len(letters), len(text)), name


def _words(text: str, vectorizer: CountVectorizer, parts: dict[str, float]) -> Places:
    """Yield words, and sequences of them, as the vectorizer reads them, one by one."""
    preprocess, stop = vectorizer.build_preprocessor(), vectorizer.get_stop_words() or ()
    try:
        pattern = re.compile(vectorizer.token_pattern)
    except (TypeError, re.error):
        return
    words = []
    # The text is searched before small letters are made of it, which may be more of them ("İ"), so
    # that places are those of the text.
    for place in pattern.finditer(text):
        group = 1 if pattern.groups == 1 else 0
        word = preprocess(place.group(group))
        if word and word not in stop:
            words.append((*place.span(group), word))
    shortest, longest = vectorizer.ngram_range
    for size in range(shortest, longest + 1):
        for i in range(len(words) - size + 1):
            name = " ".join(word for _, _, word in words[i : i + size])
            if name in parts:
                yield words[i][0], words[i + size - 1][1], name
