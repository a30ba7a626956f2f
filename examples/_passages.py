"""Shared by the programs among the examples: their data and the plotting library."""

from functools import cache

from quickstart import smaller

from sklearn_xc.datasets import load_docstrings


@cache
def passages(n_objects):
    """The docstrings of some objects."""
    return smaller(load_docstrings(), n_objects)


def pyplot():
    """matplotlib.pyplot that draws into files, or None where it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("No picture: matplotlib is missing, `pip install matplotlib` brings it")
        return None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt
