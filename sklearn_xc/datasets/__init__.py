"""Data: the XC text format, the embedded docstrings and a generator."""

from ._docstrings import load_docstrings
from ._generate import make_xc_classification
from ._single_label import first_label, repeat_per_label
from ._xc_format import dump_xc, iter_xc, load_xc

__all__ = [
    "dump_xc",
    "first_label",
    "iter_xc",
    "load_docstrings",
    "load_xc",
    "make_xc_classification",
    "repeat_per_label",
]
