"""Blocks of classes that are solved, until all are: in memory, in a checkpoint, on disk."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..utils._scratch import Scratch
from ._assembly import Entries, SolvedPart
from ._checkpoint import Checkpoint


class Finished:
    """The results of all blocks, of which a checkpoint may have some; new ones are written to it.

    `sizes` are n_features and n_samples. `parts` holds None where a block is not solved. With a
    scratch on disk the large parts of results, weights and duals, are left in their files.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        blocks: list[np.ndarray],
        sizes: tuple[int, int],
        scratch: Scratch,
    ) -> None:
        self._on_disk = scratch.on_disk
        # A fit on disk keeps blocks as a checkpoint does, in its own folder.
        if checkpoint is None and scratch.on_disk:
            checkpoint = Checkpoint(scratch.path("blocks"), {})
            with checkpoint:  # nobody else knows the folder, so nobody has to be kept out of it
                checkpoint.begin(0)
        self._checkpoint, self._blocks, self._sizes = checkpoint, blocks, sizes
        self.parts: list[SolvedPart | None] = [None] * len(blocks)
        if checkpoint is not None:
            stored = checkpoint.read(blocks, *sizes)
            self.parts = [None if part is None else self._light(part) for part in stored]

    @property
    def writes(self) -> bool:
        """Whether results have to be added one by one."""
        return self._checkpoint is not None

    def missing(self) -> list[int]:
        """Return numbers of the blocks that are not solved."""
        return [number for number, part in enumerate(self.parts) if part is None]

    def add(self, number: int, part: SolvedPart) -> SolvedPart:
        """Write the result of a block; returns what of it stays in memory."""
        self._checkpoint.write(number, part)
        return self._light(part)

    def _light(self, part: SolvedPart) -> SolvedPart:
        """Return the part, on disk without its weights and duals."""
        if not self._on_disk:
            return part
        large: dict[str, Any] = {
            name: None for name in ("weights", "duals") if len(getattr(part, name)[0])
        }
        return part._replace(**large)

    def take(self, name: str) -> Iterator[Entries]:
        """Yield the weights or the duals of each block in turn, which are then no longer held
        here.
        """
        for number, part in enumerate(self.parts):
            if getattr(part, name) is None:
                labels = self._blocks[number]
                part = self._checkpoint.read_block(number, labels, *self._sizes)
            else:
                taken: dict[str, Any] = {name: None}
                # Taken once: what has been copied into the model is freed while others follow.
                self.parts[number] = part._replace(**taken)
            yield getattr(part, name)
            del part
