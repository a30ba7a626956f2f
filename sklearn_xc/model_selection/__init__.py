"""Cross-validation where labels are rare and many."""

from ._split import IterativeStratifiedKFold, RareLabelKFold
from ._topk import TopkPredictions, cross_val_topk

__all__ = ["IterativeStratifiedKFold", "RareLabelKFold", "TopkPredictions", "cross_val_topk"]
