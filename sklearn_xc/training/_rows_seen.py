"""How many different samples a model has been given, over all calls of fit and partial_fit.

An objective that sums over samples has to know how many there are before it can say what part of
its penalty one of them carries. `fit` sees them all; a stream of parts does not, and may come by
several times. Samples are distinguished by a hash, and the hashes are counted by a HyperLogLog
sketch (Flajolet et al., 2007), whose size does not grow with the stream.
"""

import numpy as np

from ..utils._records import is_array, is_count, is_not_negative, record

BITS = 14  # of a hash that choose a register: 2**14 of them count to 0.8 % about
N_REGISTERS = 2**BITS
ERROR = 1.04 / N_REGISTERS**0.5  # relative standard error of the number


@record(
    registers=is_array(np.uint8),
    n_visits=is_count,
    weight_of_visits=is_not_negative,
    largest_call=is_count,
)
class RowsSeen:
    """The samples of all calls, without those of weight zero.

    A register is the largest number of leading zeros, and one, of the hashes that fell into it.
    Samples that came again are visits too; `largest_call` is the number of samples of the call with
    most: these count, also where some are equal.
    """

    def __init__(self) -> None:
        self.registers = np.zeros(N_REGISTERS, dtype=np.uint8)
        self.n_visits, self.weight_of_visits, self.largest_call = 0, 0.0, 0

    def _check_record(self) -> None:
        if len(self.registers) != N_REGISTERS or self.registers.max() > 64 - BITS + 1:
            raise ValueError("the registers of a RowsSeen are out of range")

    def with_hashes(
        self, hashes: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "RowsSeen":
        """Return a record with the samples of another call, by their `Rows.hashes`."""
        weight = float(len(hashes))
        if sample_weight is not None:
            hashes = hashes[sample_weight > 0]
            weight = float(sample_weight.sum(dtype=np.float64))
        seen = RowsSeen()
        seen.registers = self.registers.copy()
        # Flajolet et al., 2007: the first BITS choose a register, which keeps the highest rank of
        # the rest, the number of its leading zeros and one. The bit set below bounds it by 64 -
        # BITS + 1.
        register = (hashes >> np.uint64(64 - BITS)).astype(np.intp)
        rest = (hashes << np.uint64(BITS)) | np.uint64(2 ** (BITS - 1))  # never 0
        # Rounding to float64 may carry a run of ones to the next power of two: a rank too low by
        # one, once in 2**53 numbers.
        rank = 64 - np.floor(np.log2(rest.astype(np.float64))).astype(np.int64)
        np.maximum.at(seen.registers, register, np.minimum(rank, 64 - BITS + 1).astype(np.uint8))
        seen.n_visits = self.n_visits + len(hashes)
        seen.weight_of_visits = self.weight_of_visits + weight
        seen.largest_call = max(self.largest_call, len(hashes))
        return seen

    @property
    def n_rows(self) -> float:
        """Different samples, about; at least those of the largest call, at most those of all.

        Exactly those of the largest call if the sketch does not speak clearly for more: where one
        call brings all samples, more calls change nothing.
        """
        estimate = self._estimate()
        # Four standard errors of the sketch.
        if estimate < (1 + 4 * ERROR) * self.largest_call:
            return self.largest_call
        return min(estimate, self.n_visits)

    @property
    def weight(self) -> float:
        """Total weight of the different samples: their number times the mean weight of a visit."""
        if not self.n_visits:
            return 0.0
        return self.n_rows * self.weight_of_visits / self.n_visits

    def new_since(self, before: "RowsSeen") -> float:
        """Return the share of samples after an earlier record that had not come before it."""
        n_visits = self.n_visits - before.n_visits
        if not n_visits or (self.registers == before.registers).all():
            return 0.0
        # Differences of estimates, whose errors are in common: most registers are the same.
        return float(min((self._estimate() - before._estimate()) / n_visits, 1.0))

    def _estimate(self) -> float:
        m = N_REGISTERS
        counts = np.bincount(self.registers)
        # Their fig. 3: alpha_m m^2 over the sum of 2^-register, and linear counting of empty
        # registers for small numbers. Hashes of 64 bits need no correction for large ones.
        raw = 0.7213 / (1 + 1.079 / m) * m * m / (counts @ np.exp2(-np.arange(len(counts))))
        if counts[0] and raw <= 2.5 * m:
            return m * np.log(m / counts[0])
        return raw
