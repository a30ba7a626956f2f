"""Base of records that keep something in addition to their fields."""

from collections.abc import Callable
from typing import Any

import numpy as np


class Cached:
    """A record whose fields are saved and copied, and what is made of them is not."""

    # No name of `_made` in vars(): pickles, copies and files hold the fields alone.
    __slots__ = ("__dict__", "_made")

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` has returned under this name, made when first needed."""
        # Two threads may make it at once: both get the same from fields that never change, and one
        # of them stays.
        made = getattr(self, "_made", None)
        if made is None:
            made = self._made = {}
        if name not in made:
            made[name] = make()
        return made[name]

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the arrays."""
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()
