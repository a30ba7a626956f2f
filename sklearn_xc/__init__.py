"""scikit-learn compatible estimators for problems with very many classes or labels."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ._version import __version__ as __version__
from .augment_reduce._classifier import AugmentReduceClassifier
from .base._explain import explain
from .implicit_softmax._regressor import ImplicitSoftmaxRegressor
from .ldgs._classifier import LDGSClassifier
from .memoir._classifier import MemoirSVC
from .meta._abstain import TopKAbstainClassifier
from .meta._calibrated import TopKCalibratedClassifier
from .meta._label_text import LabelTextClassifier
from .meta._threshold import TopKThresholdClassifier
from .neighbors._classifier import TopKNeighborsClassifier
from .persistence import load, save, save_problems
from .ppdsparse._classifier import PPDSparseClassifier
from .ppdsparse._classifier_cv import PPDSparseClassifierCV
from .ppdsparse._merge import merge
from .stacking._classifier import TopKStackingClassifier
from .topk._predict import predict_topk, topk_predictor
from .utils._show_versions import show_versions
from .word_embedding._estimator import LDGSWordEmbedding

__all__ = [
    "AugmentReduceClassifier",
    "ImplicitSoftmaxRegressor",
    "LDGSClassifier",
    "LDGSWordEmbedding",
    "LabelTextClassifier",
    "MemoirSVC",
    "PPDSparseClassifier",
    "PPDSparseClassifierCV",
    "TopKAbstainClassifier",
    "TopKCalibratedClassifier",
    "TopKNeighborsClassifier",
    "TopKStackingClassifier",
    "TopKThresholdClassifier",
    "explain",
    "load",
    "merge",
    "predict_topk",
    "save",
    "save_problems",
    "show_versions",
    "topk_predictor",
]


def __getattr__(name: str) -> _Any:
    """Return a public module when it is first used, or the estimator of another name."""
    # Imported when they are first used: `import sklearn_xc` is to take no longer than its
    # estimators.
    modules = "dask", "datasets", "inspection", "metrics", "mips", "model_selection", "serve"
    if name in modules:
        return _import_module(f"{__name__}.{name}")
    # Softmax regression classifies, and is looked up under both names.
    if name == "ImplicitSoftmaxClassifier":
        return ImplicitSoftmaxRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
