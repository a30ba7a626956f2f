"""LDGS."""

from ._classifier import LDGSClassifier

__all__ = ["LDGSClassifier"]
