"""Features of texts for scikit-learn's vectorizers: stems of words in place of words."""

from ._stems import StemmedAnalyzer

__all__ = ["StemmedAnalyzer"]
