"""scikit-learn compatible estimators for problems with very many classes or labels."""

from ._version import __version__ as __version__
from .augment_reduce._classifier import AugmentReduceClassifier
from .implicit_softmax._regressor import ImplicitSoftmaxRegressor
from .inspection._explain import explain
from .ldgs._classifier import LDGSClassifier
from .memoir._classifier import MemoirSVC
from .meta._calibrated import TopKCalibratedClassifier
from .meta._threshold import TopKThresholdClassifier
from .neighbors._classifier import TopKNeighborsClassifier
from .persistence import load, save
from .ppdsparse._classifier import PPDSparseClassifier
from .ppdsparse._classifier_cv import PPDSparseClassifierCV
from .ppdsparse._merge import merge
from .topk._predict import predict_topk, topk_predictor
from .word_embedding._estimator import LDGSWordEmbedding

__all__ = [
    "AugmentReduceClassifier",
    "ImplicitSoftmaxRegressor",
    "LDGSClassifier",
    "LDGSWordEmbedding",
    "MemoirSVC",
    "PPDSparseClassifier",
    "PPDSparseClassifierCV",
    "TopKCalibratedClassifier",
    "TopKNeighborsClassifier",
    "TopKThresholdClassifier",
    "explain",
    "load",
    "merge",
    "predict_topk",
    "save",
    "topk_predictor",
]
