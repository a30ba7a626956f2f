"""Blocks of classes that are solved, until all are: in memory, in a checkpoint, on disk."""

from ._checkpoint import Checkpoint

WEIGHTS, DUALS = 6, 8  # places of the two large parts in a result of `solve_classes`


class Finished:
    """The results of all blocks.

    Parameters
    ----------
    checkpoint : Checkpoint or None
        Where blocks of an earlier fit are, and where new ones are written to.
    blocks : list of ndarray of int32
        The classes of each.
    sizes : tuple (n_features, n_samples)
    scratch : Scratch
        On disk, the large parts of results are left in their files.

    Attributes
    ----------
    parts : list
        The result of each block as `solve_classes` returns it, or None where it is not solved. A
        large part that is left on disk is None.
    """

    def __init__(self, checkpoint, blocks, sizes, scratch):
        self._on_disk = scratch.on_disk
        if checkpoint is None and scratch.on_disk:
            checkpoint = Checkpoint(scratch.path("blocks"), {})
            checkpoint.begin(0)
        self._checkpoint, self._blocks, self._sizes = checkpoint, blocks, sizes
        self.parts = [None] * len(blocks)
        if checkpoint is not None:
            self.parts = [self._light(part) for part in checkpoint.read(blocks, *sizes)]

    @property
    def writes(self):
        """Whether results have to be added one by one."""
        return self._checkpoint is not None

    def missing(self):
        """Numbers of the blocks that are not solved."""
        return [number for number, part in enumerate(self.parts) if part is None]

    def add(self, number, part):
        """Write the result of a block; returns what of it stays in memory."""
        self._checkpoint.write(number, part)
        return self._light(part)

    def _light(self, part):
        if part is None or not self._on_disk:
            return part
        return tuple(
            None if place in (WEIGHTS, DUALS) and len(a[0]) else a for place, a in enumerate(part)
        )

    def take(self, place):
        """A large part of each result in turn, which is then no longer held here."""
        for number, part in enumerate(self.parts):
            if part[place] is None:
                labels = self._blocks[number]
                yield self._checkpoint.read_block(number, labels, *self._sizes)[place]
            else:
                self.parts[number] = (*part[:place], None, *part[place + 1 :])
                yield part[place]
            del part
