"""Objects for other processes of this machine, whose arrays lie in a file that all of them map.

Processes then have one copy of the arrays among them, in memory and in the processor's caches.
"""

import mmap
import os
import pickle
import tempfile
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

ALIGNMENT = 64  # bytes, a line of the cache
TOKEN = 16  # bytes, by which a reader knows that the path leads to the writer's file


class ElsewhereError(RuntimeError):
    """The file of a message is not here, or not for this user."""


class Message:
    """What a process needs to read the objects; small.

    Parameters
    ----------
    path : str
    token : bytes
    head : bytes
        The objects but for the values of their arrays.
    places : list of tuple (int, int)
        Where these begin and end in the file.
    """

    def __init__(self, path, token, head, places):
        self.path, self.token, self.head, self.places = path, token, head, places

    def can_be_read(self):
        """Whether this process reaches the file."""
        try:
            _objects(self.path, self.token, self.head, tuple(self.places))
        except ElsewhereError:
            return False
        return True

    def read(self):
        """The objects, with read-only arrays; mapped once a process.

        Raises
        ------
        ElsewhereError
        """
        return _objects(self.path, self.token, self.head, tuple(self.places))


def forget():
    """Let go of the message that was read last."""
    _objects.cache_clear()


@lru_cache(maxsize=1)
def _objects(path, token, head, places):
    try:
        with open(path, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ElsewhereError(f"{path}: {error}") from error
    if memory[:TOKEN] != token:
        raise ElsewhereError(f"{path} is another file")
    view = memoryview(memory)
    return pickle.loads(head, buffers=[view[start:stop] for start, stop in places])


@contextmanager
def written(objects):
    """A `Message` of a tuple, which can be read until the context ends; None where it can't be.

    The file has no name, so that nothing stays behind whatever ends this process: others find it
    among those that this one has open, which Linux shows.
    """
    with tempfile.TemporaryFile() as file:
        try:
            yield _write(file, objects)
        finally:
            forget()


def _write(file, objects):
    path, token, buffers = f"/proc/{os.getpid()}/fd/{file.fileno()}", os.urandom(TOKEN), []
    if not os.path.exists(path):
        return None
    # pickle copies what is a subclass, such as np.memmap
    plain = tuple(np.asarray(o) if isinstance(o, np.ndarray) else o for o in objects)
    head = pickle.dumps(plain, protocol=5, buffer_callback=buffers.append)
    places, end = [], TOKEN
    try:
        file.write(token)
        for buffer in buffers:
            raw = buffer.raw()
            start = -(-end // ALIGNMENT) * ALIGNMENT
            end = start + raw.nbytes
            file.seek(start)
            file.write(raw)
            places.append((start, end))
        file.flush()
    except OSError:  # a full disk
        return None
    return Message(path, token, head, places)
