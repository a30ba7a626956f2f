"""LDGS for word vectors."""

from ._estimator import LDGSWordEmbedding

__all__ = ["LDGSWordEmbedding"]
