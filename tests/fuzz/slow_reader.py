"""The XC format read in fractions, line by line, for the reader to be held against."""

from fractions import Fraction

import numpy as np


def slow_reader(text):
    """What a text in the XC format holds, as {(row, column): value} twice; None if it is none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    try:
        header = lines[0].split()
        if len(header) != 3 or not all(map(is_whole, header)):
            return None
        n, d, k = map(int, header)
        if len(lines) - 1 != n:
            return None
        X, Y = {}, {}
        for row, line in enumerate(lines[1:]):
            labels, *pairs = line.removesuffix("\r").replace("\t", " ").split(" ")
            for label in labels.split(",") if labels else ():
                Y[row, whole_below(label, k)] = 1
            for pair in filter(None, pairs):
                feature, value = pair.split(":")
                place = row, whole_below(feature, d)
                X[place] = np.float32(X.get(place, 0)) + nearest(value)
    except (ValueError, IndexError):
        return None
    return (X, Y) if all(map(np.isfinite, X.values())) else None


def is_whole(text):
    return text.isascii() and text.isdigit() and len(text) <= 18


def whole_below(text, end):
    if not is_whole(text) or int(text) >= end:
        raise ValueError(text)
    return int(text)


def nearest(text):
    """The float32 nearest to a decimal number."""
    if not text or len(text) > 100 or set(text) - set("0123456789.+-eE"):
        raise ValueError(text)
    exact = Fraction(text)
    if abs(exact) > np.finfo(np.float64).max:
        raise ValueError(text)
    with np.errstate(over="ignore"):
        first = np.float32(float(exact))
    if np.isinf(first):
        raise ValueError(text)
    near = [first, *(np.nextafter(first, np.float32(side)) for side in (-np.inf, np.inf))]
    return min(filter(np.isfinite, near), key=lambda f: abs(Fraction(float(f)) - exact))
