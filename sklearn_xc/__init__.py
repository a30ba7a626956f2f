"""scikit-learn compatible estimators for problems with very many classes or labels."""

from ._base import predict_topk
from ._ppdsparse import PPDSparseClassifier

__version__ = "0.1.0.dev0"

__all__ = ["PPDSparseClassifier", "predict_topk"]
