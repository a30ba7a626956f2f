"""Where in a text the features are that made a score."""

import re
from itertools import groupby

from sklearn.feature_extraction.text import CountVectorizer


def marked(text: str, vectorizer, parts: dict[str, float]) -> list:
    """Return a text in pieces, each with what its features gave to the score.

    Parameters
    ----------
    text : str
    vectorizer : transformer or None
        The one that made features of the text.
    parts : dict
        Name of a feature -> contribution. One that occurs several times gives its contribution to
        each place; a letter that several features cover has the sum.

    Returns
    -------
    pieces : list of [str, float]
        Which joined are the text; all of it with 0 where features are not found in texts.
    """
    values = [0.0] * len(text)
    if isinstance(vectorizer, CountVectorizer):
        for start, end, name in _places(text, vectorizer, parts):
            for i in range(start, end):
                values[i] += parts[name]
    found = []
    for value, letters in groupby(zip(text, values, strict=True), key=lambda pair: pair[1]):
        found.append(["".join(letter for letter, _ in letters), round(value, 6)])
    return found


def _places(text, vectorizer, parts):
    """Yield where features begin and end in a text, and their names."""
    if vectorizer.analyzer == "word":
        yield from _words(text, vectorizer, parts)
    elif vectorizer.analyzer in ("char", "char_wb"):
        for name in parts:
            letters = name.strip() if vectorizer.analyzer == "char_wb" else name
            if letters:
                for place in re.finditer(f"(?={re.escape(letters)})", text, re.IGNORECASE):
                    yield place.start(), min(place.start() + len(letters), len(text)), name


def _words(text, vectorizer, parts):
    """Yield words, and sequences of them, as the vectorizer reads them, one by one."""
    preprocess, stop = vectorizer.build_preprocessor(), vectorizer.get_stop_words() or ()
    try:
        pattern = re.compile(vectorizer.token_pattern)
    except (TypeError, re.error):
        return
    words = []
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
