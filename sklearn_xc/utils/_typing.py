"""Types of arguments that many signatures share."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

# What a user may pass: anything that scikit-learn's `validate_data` reads, data frames included.
MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix | Any
# Names, class numbers, an indicator matrix or lists of label lists.
LabelsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix | Any
# What stands behind the door: an array in C order or CSR.
Matrix: TypeAlias = np.ndarray | sparse.csr_array
RandomState: TypeAlias = int | np.random.RandomState | None
# Arrays by name, as the constructors of kernels take them.
Arrays: TypeAlias = dict[str, np.ndarray]
