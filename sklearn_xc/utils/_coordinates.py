"""Coordinates in which rows have length 1 about: what makes stochastic steps scale-free.

A rate, a start or the feature of the intercepts suits rows of one length only, and
columns measured in other units than the rest leave steps with nothing but the largest of them. So
samples are brought into coordinates ``x' = (x - mean) / scale``, in which a fit learns v and a; the
model is ``w = v / scale``, ``b = a - <w, mean>`` and has the same scores. A penalty on w is one on
v with the factor ``1 / scale^2``.
"""

import numpy as np

from ._records import either, is_array, is_positive, record

# Columns are brought to one size where the root mean square of one exceeds the median deviation
# UNEVEN times: then it is measured in other units, or far from zero. Columns that fall off as those
# of a singular value decomposition do stay as they are.
UNEVEN = 30.0


@record(
    mean=either(None, is_array(np.float64)),
    scale=either(is_positive, is_array(np.float64, least=np.finfo(np.float64).smallest_subnormal)),
)
class Coordinates:
    """Change of coordinates that leaves sparse rows sparse.

    `mean` is float64 (n_features,), or None for zero: sparse rows are never shifted. `scale` is one
    number, or float64 (n_features,).
    """

    def __init__(self, mean: np.ndarray | None = None, scale: np.ndarray | float = 1.0) -> None:
        self.mean, self.scale = mean, scale

    def _check_record(self) -> None:
        """Refuse a mean and a scale of different lengths, which a file may hold."""
        shapes = {np.shape(part) for part in (self.mean, self.scale) if part is not None}
        if len(shapes - {()}) > 1:
            raise ValueError("mean and scale of Coordinates contradict one another")

    @property
    def changes_nothing(self) -> bool:
        """Whether the coordinates are those of the samples, so that nothing need be copied."""
        return self.mean is None and np.ndim(self.scale) == 0 and self.scale == 1

    def sizes(self) -> set[int]:
        """Return the numbers of features that mean and scale are of."""
        parts = (part for part in (self.mean, self.scale) if isinstance(part, np.ndarray))
        return {part.size for part in parts if part.ndim}

    def weights_outside(self, V: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W and b for samples as they are, from V and a for scaled ones."""
        if self.changes_nothing:
            return V, a
        # <v, (x - m) / s> + a = <w, x> + b with w = v / s and b = a - <w, m>. b is of the
        # rounded w: a sample at the mean scores a, however w was rounded.
        W = (V / self.scale).astype(np.float32)
        return W, a if self.mean is None else (a - W @ self.mean).astype(np.float32)

    def weights_inside(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the inverse of :meth:`weights_outside`."""
        if self.changes_nothing:
            return W, b
        a = b if self.mean is None else (b + W @ self.mean).astype(np.float32)
        return (W * self.scale).astype(np.float32), a
