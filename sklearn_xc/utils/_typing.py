"""Types of arguments that many signatures share."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

SparseMatrix: TypeAlias = sparse.sparray | sparse.spmatrix  # of any format
# What a user may pass: anything that scikit-learn's `validate_data` reads, data frames included.
MatrixLike: TypeAlias = ArrayLike | SparseMatrix | Any
# Names, class numbers, an indicator matrix or lists of label lists.
LabelsLike: TypeAlias = ArrayLike | SparseMatrix | Any
# What stands behind the door: an array in C order or CSR.
Matrix: TypeAlias = np.ndarray | sparse.csr_array
RandomState: TypeAlias = int | np.random.RandomState | None
# Arrays by name, as the constructors of kernels take them.
Arrays: TypeAlias = dict[str, np.ndarray]
# `numpy.empty`, or `Scratch.empty` where large arrays of a fit lie in files: (shape, dtype).
Empty: TypeAlias = Callable[..., np.ndarray]
