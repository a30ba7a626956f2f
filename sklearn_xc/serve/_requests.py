"""Requests, checked: what they may ask for, and in a sentence what is wrong with them."""

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

import numpy as np

if TYPE_CHECKING:  # Starlette may not be installed
    from starlette.requests import Request

LIMITS = {
    "bytes": 2**20,  # of a body
    "seconds": 10,  # until the head of a request has come, and until its body has
    "connections": 1000,  # of a worker; more get 503
    "texts": 100,
    "characters": 20_000,  # of a text
    "k": 100,
    "explained": 20,  # labels of an answer with words
    "labels": 10_000,  # in labels, and in exclude
    "letters": 1000,  # of a label
    "suggestions": 20,
}


class RefusedError(ValueError):
    """Fault of a request: a sentence and a status."""

    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


class Question(NamedTuple):
    """A checked request: texts, number of labels, and the labels allowed and excluded.

    Attributes
    ----------
    texts : list of str
    k : int
    only : dict
        With "labels" and "exclude" where they are given.
    threshold : float or None
        Least probability or score of a label in an answer.
    """

    texts: list[str]
    k: int
    only: dict[str, list[str]]
    threshold: float | None = None


async def body_of(request: "Request") -> bytes:
    """Return the body, of which no more is read than is allowed."""
    # Counted as it comes: a header that says how long a body is may be wrong or missing.
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LIMITS["bytes"]:
            raise RefusedError(f"the body is longer than {LIMITS['bytes']} bytes", 413)
        parts.append(part)
    return b"".join(parts)


def many(body: bytes, n_labels: int) -> Question:
    """Return the question of a request to ``/topk``."""
    asked = _object(body, {"texts", "k", "labels", "exclude"}, "texts")
    texts = asked.get("texts", [])
    if not _are_strings(texts) or not 1 <= len(texts) <= LIMITS["texts"]:
        raise RefusedError(f"texts must be a list of 1 to {LIMITS['texts']} strings")
    return _question(texts, asked, n_labels, LIMITS["k"])


def one(body: bytes, n_labels: int) -> Question:
    """Return the question of a request to ``/answer``."""
    asked = _object(body, {"text", "k", "labels", "exclude", "threshold"}, "text")
    if not isinstance(asked.get("text"), str):
        raise RefusedError("text must be a string")
    return _question([asked["text"]], asked, n_labels, LIMITS["explained"])


def one_of_address(query: str, n_labels: int) -> Question:
    """Return the question of an address, as one in JSON: ``?text=...&k=3&exclude=a&exclude=b``."""
    try:
        given = parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise RefusedError(f"the address cannot be read: {error}") from error
    lists = "labels", "exclude"
    asked: dict[str, Any] = {name: given[name] for name in lists if name in given}
    for name in given.keys() - asked.keys():
        if len(given[name]) != 1:
            raise RefusedError(f"{name} must be given once")
        asked[name] = given[name][0]
    for name, kind in (("k", int), ("threshold", float)):
        if name in asked:
            try:
                asked[name] = kind(asked[name])
            except ValueError as error:
                raise RefusedError(f"{name} must be a number") from error
    return one(json.dumps(asked).encode(), n_labels)


def as_label(text: str, classes: np.ndarray) -> str | int:
    """Return a label that was given as a text: an integer where labels are integers."""
    return int(text) if classes.dtype.kind in "iu" and text.lstrip("-").isdecimal() else text


def _object(body: bytes, names: set[str], needed: str) -> dict[str, Any]:
    """Return the object in a body, which has these names at most."""
    try:
        asked = json.loads(body)
        json.dumps(asked, ensure_ascii=False).encode()  # halves of a character are no text
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the body is not JSON: {error}") from error
    if not isinstance(asked, dict) or not asked.keys() <= names:
        others = ", ".join(sorted(names - {needed}))
        raise RefusedError(f"the body must be an object of {needed} and, if wanted, {others}")
    return asked


def _question(texts: list[str], asked: dict[str, Any], n_labels: int, most: int) -> Question:
    """Return the question about texts, once all that it asks for is within the limits."""
    if max(map(len, texts)) > LIMITS["characters"]:
        raise RefusedError(f"a text may have {LIMITS['characters']} characters at most")
    # A bool is an int in Python, and `true` is no number of labels.
    k = asked.get("k", min(5, n_labels))
    if type(k) is not int or not 1 <= k <= min(most, n_labels):
        raise RefusedError(f"k must be an integer from 1 to {min(most, n_labels)}")
    only = {name: asked[name] for name in ("labels", "exclude") if asked.get(name) is not None}
    for name, labels in only.items():
        if not _are_strings(labels) or len(labels) > LIMITS["labels"]:
            raise RefusedError(f"{name} must be a list of at most {LIMITS['labels']} strings")
        if max(map(len, labels), default=0) > LIMITS["letters"]:
            raise RefusedError(f"{name} holds a label of more than {LIMITS['letters']} letters")
    threshold = asked.get("threshold")
    if threshold is not None and (
        isinstance(threshold, bool)
        or not isinstance(threshold, (int, float))
        or not isfinite(threshold)
    ):
        raise RefusedError("threshold must be a finite number")
    return Question(texts, k, only, threshold)


def _are_strings(value: object) -> bool:
    """Return whether a value is a list of strings."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
