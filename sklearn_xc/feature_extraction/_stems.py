"""Stems of words, by snowballstemmer."""

import re
from functools import lru_cache
from threading import Lock
from typing import Any

from ..utils._records import is_text, record

WORD = re.compile(r"\b\w\w+\b")  # as scikit-learn's vectorizers have it
MOST_WORDS = 200_000  # whose stems are kept: the stemmer takes some ten microseconds for each


class _Stems:
    """The stems of one language, of which one thread at a time asks for new ones."""

    def __init__(self, stemmer: Any):
        self._stemmer, self._lock = stemmer, Lock()
        self._known: dict[str, str] = {}

    def __getitem__(self, word: str) -> str:
        # Looked up without the lock: reading a dict is safe while another thread adds to it.
        stem = self._known.get(word)
        if stem is None:
            # A stemmer keeps the word it works on, so two threads would mix up their words.
            with self._lock:
                stem = self._stemmer.stemWord(word)
                if len(self._known) < MOST_WORDS:
                    self._known[word] = stem
        return stem


@lru_cache(maxsize=64)
def _stems(language: str) -> _Stems:
    """Return the stems of a language, the same for all analyzers."""
    try:
        import snowballstemmer
    except ImportError as error:
        raise ImportError(
            "StemmedAnalyzer needs snowballstemmer: pip install snowballstemmer"
        ) from error
    if not is_text(language) or language not in snowballstemmer.algorithms():
        known = ", ".join(snowballstemmer.algorithms())
        raise ValueError(f"language must be one of {known}; got {language!r}")
    return _Stems(snowballstemmer.stemmer(language))


@record(language=is_text)
class StemmedAnalyzer:
    """An ``analyzer`` for scikit-learn's text vectorizers: stems of the words, in small letters.

    A label is called *lighthouses* and a text says *lighthouse*: their stems are one feature. Words
    are of two letters at least, as the vectorizers have them by default. A vectorizer with it can
    be pickled, and be part of a saved model, which a function as ``analyzer`` can not.

    Parameters
    ----------
    language : str, default="english"
        One of ``snowballstemmer.algorithms()``, such as "finnish", "german" or "swedish".

    Raises
    ------
    ImportError
        When texts are analyzed, if snowballstemmer is not installed.
    ValueError
        When texts are analyzed, if it does not know the language.

    Notes
    -----
    The ``ngram_range``, ``stop_words`` and ``token_pattern`` of a vectorizer are ignored by
    scikit-learn where ``analyzer`` is no text.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn_xc.feature_extraction import StemmedAnalyzer
    >>> StemmedAnalyzer()("A history of Lighthouses")
    ['histori', 'of', 'lighthous']
    >>> vectorizer = TfidfVectorizer(analyzer=StemmedAnalyzer(), sublinear_tf=True)
    >>> vectorizer.fit(["lighthouses", "the lighthouse"]).get_feature_names_out().tolist()
    ['lighthous', 'the']
    """

    def __init__(self, language: str = "english"):
        self.language = language

    def __call__(self, text: str) -> list[str]:
        """Return the stems of the words of a text, in their order."""
        stems = _stems(self.language)
        return [stems[word] for word in WORD.findall(text.lower())]

    def __repr__(self) -> str:
        return f"StemmedAnalyzer({self.language!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is StemmedAnalyzer and other.language == self.language

    def __hash__(self) -> int:
        return hash((StemmedAnalyzer, self.language))
