"""Saving estimators in a file, and loading them again.

`_file` knows the bytes, `_encoder` and `_decoder` what they stand for, `_weights` the arrays that
kernels read, `_steps` what may be said of scikit-learn's estimators, and `_mixin` what estimators
inherit, and `save` and `load`. `_other_programs` writes linear models for ONNX and PECOS. An
estimator takes part by inheriting from :class:`SaveMixin` and with the decorator `savable`.
"""

from ._mixin import SaveMixin, load, read_notes, save, save_problems, save_with_notes
from ._weights import LoadedWeights, require_lists, weights_to_store

__all__ = [
    "LoadedWeights",
    "SaveMixin",
    "load",
    "read_notes",
    "require_lists",
    "save",
    "save_problems",
    "save_with_notes",
    "weights_to_store",
]
