"""Docstrings of the installed packages, cut into passages: real text with thousands of classes."""

import numbers
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

import numpy as np
from sklearn.utils import Bunch, check_random_state

from ..utils._typing import RandomState
from ._docstring_collector import public_docstrings

_PACKAGES = ("numpy", "scipy", "sklearn", "stdlib")
# Short sentences say little by themselves: a passage takes in the next one of its paragraph until
# it has this many words. What is then left over counts if it has a few.
_ENOUGH_WORDS = 10
_FEWEST_WORDS = 3

# What is cut out of a docstring first. A body is what stands below a line and further to the right.
_BODY = r"(?:\n(?:\1[ ]+\S.*|[ ]*(?=\n|\Z)))*"
_DOCTEST = re.compile(r"^[ ]*>>>.*(?:\n[ ]*\S.*)*", re.M)
_LITERAL = re.compile(rf"^([ ]*)(.*)::[ ]*\n[ ]*{_BODY}", re.M)
_SKIPPED_DIRECTIVE = re.compile(
    r"^([ ]*)\.\.[ ]?(?:(?:versionadded|versionchanged|deprecated|math|plot|code-block|image|"
    rf"figure|seealso|rubric|index|only|include)::|\[|_).*{_BODY}",
    re.M,
)
_TITLE = re.compile(r"^(\S.*)\n[-=~]{3,}[ ]*$", re.M)
# Sections that name papers or other objects instead of describing this one.
_SKIPPED_SECTIONS = {"See Also", "References", "Methods"}

# Of a list, of fields such as ":param x:", or a note.
_ITEM = re.compile(
    r"(?:[-*+•]|\d+[.)]|\.\. [\w-]+::|:(?:param|type|returns?|rtype|raises?)\b[^:]*:)(?:\s+|$)"
)
_PARAMETER = re.compile(r"[\w*., ]+ : ")  # "x : array_like, optional"
# Paragraphs that are not prose: a signature, a table.
_NOT_PROSE = re.compile(r"[\w.]+\s?\(.*\)\s*(?:(?:->|=|:).*)?$|.*={4}|.*-{4}")
_ROLE = re.compile(r":[\w:]+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`")
_CITATION = re.compile(r"\s?\[[\w.]+\]_")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)\s+(?=[A-Z\"'(*\[])")
_WORD = re.compile(r"[^\W\d_]{2,}")
# Sentences that only point to a page of the manual, one that array functions have in common but
# for the name in it, and addresses of objects in memory.
_SKIPPED_SENTENCE = re.compile(r"sphx_glr|Read more in|Array API Standard|\b0x[0-9a-fA-F]{6,}")

_DESCRIPTION = """\
Docstrings of installed packages
--------------------------------

Task: which function, class or method does this passage describe?

Classes: what the packages offer under a public name. Names with a leading underscore, vendored and
deprecated code, build tools, tests, and modules that act when they are imported (antigravity, this,
turtle, ...) are left out. An object with several names goes by the shortest one, a method by the
class that defines it, and objects with the same docstring (inherited, say) count as one.

Samples: passages of one sentence, or of several short ones, from one paragraph. Code, signatures,
names and types of parameters, tables, formulas, references, lists of related objects and notes
about versions are cut out. A passage that stands in the docstrings of several objects is left out
altogether, as no single answer is right. What remains is as it was written: about one held-out
passage in seven contains the last part of the name it asks for, and many could describe a related
object nearly as well.

Split: one passage of every object, chosen at random with a fixed seed, is held out.
"""


def cut_into_passages(docstring: str) -> list[str]:
    """Cut a docstring into a few sentences each, without code, signatures and references."""
    # Doctests before literal blocks, which may hold some; the line before a literal block is text.
    for pattern, kept in [(_DOCTEST, ""), (_SKIPPED_DIRECTIVE, ""), (_LITERAL, r"\1\2:")]:
        docstring = pattern.sub(kept, docstring)
    # text, title, body, title, body, ...: what the pattern captures stands between the parts
    introduction, *sections = _TITLE.split(docstring)
    texts = list(_paragraphs(introduction, in_section=False))
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title.strip() not in _SKIPPED_SECTIONS:
            texts += _paragraphs(body, in_section=True)
    return [
        passage
        for text in texts
        if not _NOT_PROSE.match(text)
        for passage in _joined_sentences(_SENTENCE_END.split(_plain(text)))
    ]


def _joined_sentences(sentences: list[str]) -> Iterator[str]:
    """Yield passages of enough words, each of one sentence or of several short ones."""
    passage, n_words = [], 0
    for sentence in sentences:
        if _SKIPPED_SENTENCE.search(sentence):
            continue
        passage.append(sentence)
        n_words += len(_WORD.findall(sentence))
        if n_words >= _ENOUGH_WORDS:
            yield " ".join(passage)
            passage, n_words = [], 0
    if n_words >= _FEWEST_WORDS:
        yield " ".join(passage)


def _plain(text: str) -> str:
    """Strip markup from a text."""
    text = _CITATION.sub("", _ROLE.sub(r"\1", text))
    return " ".join(text.replace("`", "").replace("**", "").split())


def _paragraphs(text: str, in_section: bool) -> list[str]:
    """Join the lines that belong together; leave out the headers of parameters.

    A paragraph ends before an empty line, an item of a list or a change of indentation.
    """
    # Each line is looked at with the next one: a line above one that is further to the right is a
    # header in a section of parameters.
    paragraphs: list[list[str]] = [[]]
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]
    previous = 0
    for (indent, line), (next_indent, next_line) in pairwise([*lines, (0, "")]):
        item = _ITEM.match(line)
        header = in_section and (_PARAMETER.match(line) or next_indent > indent)
        if not line or item or header or indent != previous:
            paragraphs.append([])
        if item:
            line = line[item.end() :]
            # Whatever is indented further than the mark belongs to the item.
            indent = next_indent if next_indent > indent else indent
        elif header and next_line:
            line = ""
        previous = indent
        paragraphs[-1].append(line)
    return [joined for lines in paragraphs if (joined := " ".join(lines).strip())]


def load_docstrings(
    packages: Sequence[str] = _PACKAGES, *, min_passages: int = 3, random_state: RandomState = 0
) -> Bunch:
    """Load the docstrings of installed packages as a text classification problem.

    Which function or class does this passage describe? The classes are the public functions,
    classes and methods of the packages, the samples passages of a sentence or a few from their
    docstrings. Nothing is downloaded: the text is that of the installed packages, so numbers
    differ a little from one version of them to the next, but neither between calls nor between
    processes.

    Parameters
    ----------
    packages : sequence of str, default=("numpy", "scipy", "sklearn", "stdlib")
        Installed packages, ``"stdlib"`` being the standard library of Python. The first call
        imports their public modules.
    min_passages : int, default=3
        Objects with fewer passages are left out. At least 2, as one passage of every object is
        held out; the default leaves two or more to learn from.
    random_state : int, RandomState instance or None, default=0
        Chooses the passages that are held out. The default makes a fixed split.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes:

        data_train : list of str of length n_train
            Passages to learn from, in the order of their objects.
        target_train : ndarray of shape (n_train,), dtype int64
            Index in `target_names` of the object that a passage describes.
        data_test : list of str of length n_classes
            The held-out passages, one of every object.
        target_test : ndarray of shape (n_classes,), dtype int64
            ``arange(n_classes)``.
        target_names : ndarray of shape (n_classes,), dtype str
            Name of every object as one would import it, sorted; builtins have no prefix.
        DESCR : str
            Description of the data and of what is left out.

    Raises
    ------
    ValueError
        If `packages` is a str, empty or names a package that is not installed, if `min_passages`
        is not a whole number of at least 2, or if no object has so many passages.

    Examples
    --------
    >>> from sklearn_xc.datasets import load_docstrings
    >>> docs = load_docstrings(["stdlib"])
    >>> print(*[name for name in docs.target_names if name.startswith("zlib.comp")])
    zlib.compress zlib.compressobj
    """
    if not isinstance(min_passages, numbers.Integral) or min_passages < 2:
        raise ValueError(f"min_passages must be a whole number of at least 2, got {min_passages!r}")
    seed = check_random_state(random_state).randint(2**31)
    # One passage of each is held out, and the others are learnt from.
    objects = {
        name: cut
        for name, cut in _distinct_passages(_docstrings_of(packages)).items()
        if len(cut) >= min_passages
    }
    if not objects:
        raise ValueError(f"no object of {packages!r} has min_passages={min_passages} passages")
    data_train, target_train, data_test = [], [], []
    for target, cut in enumerate(objects.values()):
        # A hash keeps the choice for one object independent of all others.
        held_out = min(cut, key=lambda passage: zlib.crc32(f"{seed} {passage}".encode()))
        data_test.append(held_out)
        data_train += [passage for passage in cut if passage != held_out]
        target_train += [target] * (len(cut) - 1)
    return Bunch(
        data_train=data_train,
        target_train=np.array(target_train, dtype=np.int64),
        data_test=data_test,
        target_test=np.arange(len(objects)),
        target_names=np.array(list(objects)),
        DESCR=_DESCRIPTION,
    )


def _docstrings_of(packages: Sequence[str]) -> dict[str, str]:
    """Return docstrings by sorted names; of objects with the same docstring only one."""
    if isinstance(packages, str) or not len(packages):
        raise ValueError(
            f"packages must be a non-empty sequence of names such as {_PACKAGES}, got {packages!r}"
        )
    named = {}
    for package in packages:
        try:
            named |= public_docstrings(package)
        except ModuleNotFoundError as error:
            raise ValueError(f"packages: {package!r} cannot be imported ({error})") from error
    # the shortest name comes last, and stays
    shortest_name = {}
    for name in sorted(named, key=lambda name: (name.count("."), name), reverse=True):
        shortest_name[named[name]] = name
    return {name: docstring for docstring, name in sorted(shortest_name.items(), key=itemgetter(1))}


def _distinct_passages(docstrings: dict[str, str]) -> dict[str, list[str]]:
    """Return passages of every object, without those that stand in the docstring of another one
    too.
    """
    objects = {
        name: list(dict.fromkeys(cut_into_passages(docstrings[name]))) for name in docstrings
    }
    # a passage of several objects has no single right answer
    uses = Counter(passage for cut in objects.values() for passage in cut)
    return {name: [p for p in cut if uses[p] == 1] for name, cut in objects.items()}
