"""U-max and implicit SGD."""

from ._regressor import ImplicitSoftmaxRegressor

__all__ = ["ImplicitSoftmaxRegressor"]
