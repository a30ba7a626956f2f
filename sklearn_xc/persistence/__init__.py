"""Saving estimators in a file, and loading them again.

`_file` knows the bytes, `_state` what they stand for, `_weights` the arrays that kernels read,
`_skeleton` the steps of scikit-learn, and `_mixin` what estimators inherit, beside `save` and
`load`. An estimator takes part by inheriting from :class:`SaveMixin` and with the decorator
`savable`.
"""

from ._mixin import SaveMixin, load, save
from ._weights import LoadedWeights, require_lists, weights_to_store

__all__ = ["LoadedWeights", "SaveMixin", "load", "require_lists", "save", "weights_to_store"]
