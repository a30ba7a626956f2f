"""scikit-learn compatible estimators for problems with very many classes or labels."""

from ._augment_reduce import AugmentReduceClassifier
from ._explain import explain
from ._implicit_softmax import ImplicitSoftmaxRegressor
from ._ldgs import LDGSClassifier
from ._memoir import MemoirSVC
from ._one_vs_rest import merge
from ._persistence import load
from ._ppdsparse import PPDSparseClassifier
from ._predict import predict_topk
from ._topk_calibrated import TopKCalibratedClassifier
from ._topk_threshold import TopKThresholdClassifier
from ._version import __version__ as __version__
from ._word_embedding import LDGSWordEmbedding

__all__ = [
    "AugmentReduceClassifier",
    "ImplicitSoftmaxRegressor",
    "LDGSClassifier",
    "LDGSWordEmbedding",
    "MemoirSVC",
    "PPDSparseClassifier",
    "TopKCalibratedClassifier",
    "TopKThresholdClassifier",
    "explain",
    "load",
    "merge",
    "predict_topk",
]
