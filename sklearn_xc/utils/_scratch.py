"""Large arrays of a fit: in memory, or in files of a folder.

What lies in files is paged out by the system when memory is short, instead of ending the process.
"""

import math
import mmap
import os
import tempfile
from typing import IO, Any, Self

import numpy as np
from numpy.typing import DTypeLike

ZEROS_AT_ONCE = 1 << 22


class Scratch:
    """Place of a fit's large arrays, in memory for None or in a folder; a context manager.

    A folder is made if it is not there; what this fit writes there is gone at its end. OSError says
    that it cannot be made or written to, or, from the methods, that its disk is full.
    """

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        self.folder, self._inside = folder, None

    def __enter__(self) -> Self:
        if self.folder is not None:
            try:
                os.makedirs(self.folder, exist_ok=True)
                self._inside = tempfile.TemporaryDirectory(
                    prefix="sklearn_xc-", dir=self.folder, ignore_cleanup_errors=True
                )
            except OSError as error:
                raise self._explained(error) from error
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._inside is not None:
            self._inside.cleanup()

    @property
    def on_disk(self) -> bool:
        """Whether arrays lie in files."""
        return self._inside is not None

    def path(self, name: str) -> str:
        """Return a path in the folder of this fit; only on disk."""
        return os.path.join(self._inside.name, name)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return an array for as long as the fit lasts, which other processes find by its file."""
        size = math.prod(np.atleast_1d(shape)) * np.dtype(dtype).itemsize
        if self._inside is None or size == 0:
            return np.empty(shape, dtype)
        try:
            with tempfile.NamedTemporaryFile(dir=self._inside.name, delete=False) as file:
                _reserve(file, size)
            return np.memmap(file.name, dtype, "r+", shape=shape)
        except OSError as error:
            raise self._explained(error) from error

    def lasting(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return zeros for the model, in a file without a name that is gone with the array."""
        size = math.prod(np.atleast_1d(shape)) * np.dtype(dtype).itemsize
        if self._inside is None or size == 0:
            return np.zeros(shape, dtype)
        # the file is unlinked at once: its space is free when the last map of it is gone
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                _reserve(file, size)
                memory = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise self._explained(error) from error
        # not an np.memmap, which joblib would hand to other processes by the name of its file
        return np.frombuffer(memory, dtype).reshape(shape)

    def _explained(self, error: OSError) -> OSError:
        """Return the error with the name of the parameter and the folder."""
        folder = os.fspath(self.folder)  # type: ignore[arg-type] # in memory nothing fails
        message = f"scratch={folder!r}: {error.strerror or error}"
        return type(error)(error.errno, message)


def _reserve(file: IO[bytes], size: int) -> None:
    """Give a new file its place on the disk."""
    # Without it, writing to a map of a full disk would end the process by SIGBUS, with no error.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(ZEROS_AT_ONCE)
    for start in range(0, size, ZEROS_AT_ONCE):
        file.write(zeros[: size - start])
    file.flush()
