"""Augment-and-Reduce."""

from ._classifier import AugmentReduceClassifier

__all__ = ["AugmentReduceClassifier"]
