"""The file of a saved model: a header, a manifest in JSON and arrays as raw bytes.

==========  ====================================================================================
bytes       what
==========  ====================================================================================
0 to 7      ``89 53 4b 58 43 0d 0a 1a``: no text file begins so, and a transfer that translates
            line ends shows
8 to 11     major and minor number of the format, two uint16
12 to 15    zero
16 to 31    where the manifest ends and where the file ends, two uint64
32 to 63    SHA-256 of bytes 0 to 31 and 64 to the end of the manifest
64 ...      the manifest: one JSON object and spaces up to a multiple of 64
...         the segments, each with zeros up to a multiple of 64; the manifest has dtype, shape and
            SHA-256 (with the zeros) of each, and they follow one another in its order
==========  ====================================================================================

The numbers of the header are little-endian. No place is written down that could be computed: a
segment starts where the one before ends, so that nothing can point outside the file.
"""

import hashlib
import io
import json
import math
import mmap
import os
import re
import secrets
import shutil
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from ..utils._interrupts import to_the_end
from ..utils._memory_limit import require_memory

# What a user may name as a file: its place, or an object that is open for bytes.
FileLike: TypeAlias = str | os.PathLike | IO[bytes]

MAGIC = b"\x89SKXC\r\n\x1a"
FORMAT = 4, 0
HEADER = struct.Struct("<8sHHIQQ32s")
ALIGNMENT = 64  # the file is mapped as a whole, so segments need cache lines, not pages
AT_ONCE = 2**22  # bytes written or read in one call
# Below this size a mapped model has its arrays read and verified: they cost no time.
SMALL = 2**20
# An allow-list of dtypes, since NumPy's own parser takes many more. An array of objects ("O") is
# one of pointers, which a file would choose, and a dtype of fields may hold such ones.
DTYPES = re.compile(r"[<|]b1|[<>|][iu][1248]|[<>][iu][248]|[<>]f[248]|[<>]U\d{1,9}|\|S\d{1,9}")
DATES = re.compile(r"[<>][mM]8\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
# NumPy has 32 or 64 at most, by its version; eight are more than any array of a model has.
MOST_DIMENSIONS = 8
# Bytes of the manifest, which is parsed, and takes several times as much memory then, before
# anything else is known of the file.
LONGEST_FRONT = 2**30
JSON = "json"
# Errors of values of the wrong kind. Whoever decodes a file makes one ValueError of them.
DAMAGES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)

DAY = 24 * 3600  # seconds


def padded(size: int) -> int:
    """Return the size rounded up to a multiple of ALIGNMENT."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def dtype_of(text: object) -> np.dtype:
    """Read the dtype of an array in a file; ValueError but for numbers, texts and dates."""
    known = isinstance(text, str) and (DTYPES.fullmatch(text) or DATES.fullmatch(text))
    dtype = np.dtype(text) if known else None
    if dtype is None or dtype.itemsize == 0:
        raise ValueError(f"arrays of dtype {text!r} cannot be in a model file")
    return dtype


class Segment(NamedTuple):
    """An array, or JSON, to be written; `dtype` is as NumPy writes it, or "json"."""

    dtype: str
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[bytes]]

    @property
    def nbytes(self) -> int:
        """Bytes without the zeros that follow."""
        itemsize = 1 if self.dtype == JSON else np.dtype(self.dtype).itemsize
        return itemsize * math.prod(self.shape)


def array_segment(array: np.ndarray, dtype: DTypeLike = None) -> Segment:
    """Return the segment of an array of any layout, in C order in the file, and of `dtype`."""
    dtype = array.dtype if dtype is None else np.dtype(dtype)
    dtype_of(dtype.str)  # refuses here what reading would refuse
    flat = array.reshape(-1) if array.flags.c_contiguous else array.ravel()
    step = max(1, AT_ONCE // dtype.itemsize)

    def blocks() -> Iterator[bytes]:
        # Block by block, so that another dtype takes no second copy of the array.
        for start in range(0, len(flat), step):
            yield flat[start : start + step].astype(dtype, copy=False).tobytes()

    return Segment(dtype.str, array.shape, blocks)


def json_segment(value: Any) -> Segment:
    """Return the segment of a long JSON value."""
    # Labels made of file names may hold lone surrogates, which strict UTF-8 would refuse.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    return Segment(JSON, (len(text),), lambda: [text])


# ---------------------------------------------------------------------------------------- writing


def write(
    path: Any,
    manifest: dict[str, Any],
    segments: list[Segment],
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write a model file under the name `path`, all of it or nothing.

    `path` may be a binary file object, of which only ``write`` is used. "segments" is added to the
    manifest. `check` is called with the name of the new file, and raises where that should not take
    its place.
    """
    if hasattr(path, "write"):
        # Through a file on disk: digests stand before the arrays, and an object that can only be
        # written to has no way back to them.
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder, "model")
            write(whole, manifest, segments, check)
            with open(whole, "rb") as file:
                shutil.copyfileobj(file, path, AT_ONCE)
        return
    if isinstance(path, bytes):
        raise TypeError("save needs a text, a path or a binary file object, not bytes")
    # What a link leads to is replaced; the link itself, which others may use too, stays.
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; save needs the name of a file")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no regular file, and save replaces nothing else")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the directory {path.parent} does not exist; create it first")
    _remove_leftovers(path)
    # In the same directory, since a rename is one step only within a file system: a process that is
    # killed leaves the old model or the new one under the name, never half of one.
    # A name may have 255 bytes, and 60 letters have at most 240.
    beside = path.with_name(f".{path.name[:55]}.{secrets.token_hex(4)}.tmp")
    # O_EXCL with a random name: in a directory where others can write (/tmp), nobody can have put a
    # link there by which the bytes would go into another file.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(beside, flags, 0o666)
        try:
            if path.exists() and hasattr(os, "fchmod"):  # who may read it does not change
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            _write_all(handle, manifest, segments)
            # Before the rename: a file system may put the name on the disk earlier than the bytes,
            # and a loss of power would leave an empty file under the name of the old model.
            os.fsync(handle)
        finally:
            os.close(handle)
        if check is not None:
            check(beside)
        os.replace(beside, path)
    # Also of Ctrl-C, and to the end in spite of a second one: nothing is left behind.
    except BaseException as error:
        to_the_end(partial(beside.unlink, missing_ok=True))
        if isinstance(error, OSError) and error.filename is None:  # of a write: no space, a limit
            error.filename = os.fspath(path)
        raise
    _sync_directory(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Delete what saves to this place that were killed have left a day ago or earlier."""
    # A day, since a younger one may be of a save that is running. Whoever cannot list or delete
    # there can still save.
    with suppress(OSError):
        for name in os.listdir(path.parent):
            of_save = re.fullmatch(rf"\.{re.escape(path.name[:55])}\.[0-9a-f]{{8}}\.tmp", name)
            left = path.with_name(name)
            if of_save and time.time() - left.stat().st_mtime > DAY:
                left.unlink()


def _write_all(handle: int, manifest: dict[str, Any], segments: list[Segment]) -> None:
    """Write the segments, and then the header and the manifest, which holds their digests."""
    # Each array is made and read once. Digests are of one length, so that the front has its size
    # before they are known.
    front = len(_front(manifest, segments, ["0" * 64] * len(segments)))
    os.lseek(handle, front, os.SEEK_SET)
    digests = []
    for segment in segments:
        digest, size = hashlib.sha256(), 0
        zeros = b"\0" * (padded(segment.nbytes) - segment.nbytes)
        for block in chain(segment.blocks(), [zeros]):
            digest.update(block)
            _write_bytes(handle, block)
            size += len(block)
        # Every later segment would lie at another place than the manifest says.
        if size != padded(segment.nbytes):
            raise RuntimeError("a segment gave other bytes than it announced")
        digests.append(digest.hexdigest())
    os.lseek(handle, 0, os.SEEK_SET)
    _write_bytes(handle, _front(manifest, segments, digests))


def _front(manifest: dict[str, Any], segments: list[Segment], digests: list[str]) -> bytes:
    """Return the header and manifest."""
    table = [[s.dtype, list(s.shape), d] for s, d in zip(segments, digests, strict=True)]
    text = json.dumps({**manifest, "segments": table}, allow_nan=False).encode()
    text = text.ljust(padded(len(text)))
    front = HEADER.size + len(text)
    size = front + sum(padded(segment.nbytes) for segment in segments)
    parts = MAGIC, *FORMAT, 0, front, size
    # The digest is over the header as well: a front or a size that was changed shows at once.
    start = HEADER.pack(*parts, b"")[:32]
    return start + hashlib.sha256(start + text).digest() + text


def _write_bytes(handle: int, block: bytes) -> None:
    """Write all bytes of a block, where one call may write fewer."""
    view = memoryview(block)
    while view:
        view = view[os.write(handle, view[:AT_ONCE]) :]


def _sync_directory(folder: Path) -> None:
    """Bring the new name onto the disk, where directories can be opened (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---------------------------------------------------------------------------------------- reading


class _Place(NamedTuple):
    """Place of a segment in the file, and what the manifest says of it."""

    start: int
    nbytes: int
    dtype: str
    shape: tuple
    digest: str


class Reader:
    """A model file of `size` bytes that has been opened and its manifest verified.

    With `mapped` large arrays stay in the file; otherwise all is read and verified. Raises
    ValueError if the file is not a model, was truncated or damaged, or is of a newer format.
    """

    def __init__(self, path: Any, mapped: bool) -> None:
        self.mapped, self._read = mapped, {}
        if hasattr(path, "read"):
            path = path.read()
            if isinstance(path, str):
                raise TypeError("load needs a file that is open for bytes (mode 'rb'), not texts")
        if isinstance(path, (bytes, bytearray, memoryview)):
            self.path, self.size = "the bytes given", len(path)
            self._open(io.BytesIO(path), bytes(path) if mapped else None)
            return
        self.path = os.fspath(path)
        # A name from elsewhere may be a pipe, which would be waited for, or an endless device.
        if os.path.exists(path) and not os.path.isfile(path):
            raise OSError(f"{self.path} is no regular file")
        with open(path, "rb") as file:
            # Of the open file, not of the name: a save may replace what is under it meanwhile.
            self.size = os.fstat(file.fileno()).st_size
            self._open(file)

    def _open(self, file: IO[bytes], content: bytes | None = None) -> None:
        """Read what comes first of a file, and all the rest of it, or map it."""
        front, self.manifest = self._read_front(file, self.size)
        self._places = self._read_places(front, self.size)
        if content is not None:
            self._map = content
        elif self.mapped:
            self._map = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        else:
            # All at once, in the order of the file, and never again: a file that is changed later
            # cannot change the model, and every byte has been through its digest.
            what, way = f"load: the arrays of {self.path}", "map them: load(path, mmap_mode='r')"
            require_memory(self.size, what, way)
            self._file = file
            for i in range(len(self._places)):
                self.copy(i)

    def _refuse(self, why: str) -> NoReturn:
        """Raise ValueError with the name of the file."""
        raise ValueError(f"{self.path} {why}")

    def refuse_content(self, error: BaseException) -> NoReturn:
        """Raise ValueError for content that cannot be decoded."""
        newer = ""
        if self.minor > FORMAT[1]:
            newer = (
                f"; it was written by sklearn-xc {self.manifest.get('version')!r} in format "
                f"{FORMAT[0]}.{self.minor}, newer than {FORMAT[0]}.{FORMAT[1]}"
            )
        reason = f"{type(error).__name__}: {error}" if type(error) is not ValueError else error
        raise ValueError(f"{self.path} does not hold a valid model: {reason}{newer}") from error

    def _read_front(self, file: IO[bytes], size: int) -> tuple[int, dict[str, Any]]:
        """Return where the manifest ends, and the manifest, once header and digest are right."""
        header = file.read(HEADER.size)
        if header[: len(MAGIC)] != MAGIC[: len(header)] or not header:
            self._refuse("is not a model saved by sklearn-xc")
        if len(header) < HEADER.size:
            self._refuse("was truncated: its header is incomplete")
        _, major, minor, zero, front, whole, digest = HEADER.unpack(header)
        if major > FORMAT[0]:
            self._refuse(
                f"has format {major}.{minor}, and this version of sklearn-xc reads up to "
                f"{FORMAT[0]}.x: install a newer one"
            )
        if major < FORMAT[0]:
            self._refuse(
                f"has format {major}.{minor}, of a version that was never released, and this one "
                f"reads {FORMAT[0]}.x: fit the model again"
            )
        if size < whole:
            self._refuse(f"was truncated: it has {size} of {whole} bytes")
        # Before the manifest is read: `front` decides how many bytes are. A file of a kilobyte that
        # says 2**60 would have memory allocated for them. Bytes behind the end would be room for a
        # second file, of which no digest knows.
        if not HEADER.size <= front <= min(whole, LONGEST_FRONT) or whole != size or zero:
            self._refuse("is damaged: its header contradicts itself or the size of the file")
        text = file.read(front - HEADER.size)
        # Against damage, not against forgery, since anybody can compute it: content is checked as
        # if there were no digest.
        if hashlib.sha256(header[:32] + text).digest() != digest:
            self._refuse("is damaged or was edited: the checksum of its manifest does not match")
        self.minor = minor
        try:
            manifest = json.loads(text)
            if not isinstance(manifest, dict):
                raise ValueError("it is no object")
            return front, manifest
        except (ValueError, RecursionError) as error:
            self._refuse(f"is damaged: its manifest is not JSON ({error})")

    def _read_places(self, front: int, size: int) -> list[_Place]:
        """Read where the segments are; none reaches beyond the file."""
        places, start = [], front
        try:
            for dtype, shape, digest in self.manifest["segments"]:
                # Whole numbers from 0 on: two negative sizes have a product that fits. Products are
                # of Python's integers, which do not wrap around.
                if len(shape) > MOST_DIMENSIONS or not all(
                    type(n) is int and 0 <= n < 2**62 for n in shape
                ):
                    raise ValueError(f"an array of shape {shape}")
                itemsize = 1 if dtype == JSON else dtype_of(dtype).itemsize
                nbytes = itemsize * math.prod(shape)
                # Places follow from sizes alone. Offsets in the file could overlap, so that a
                # small file stood for terabytes, or point beyond its end.
                places.append(_Place(start, nbytes, dtype, tuple(shape), digest))
                start += padded(nbytes)
                if start > size:
                    raise ValueError("an array reaches beyond its end")
            if start != size:
                raise ValueError("it holds bytes that belong to no array")
        except (KeyError, TypeError, ValueError) as error:
            self._refuse(f"is damaged: {error}")
        return places

    def _place(self, i: object) -> _Place:
        """Return the place of a segment, whose number comes from the file."""
        # Neither a negative number, which Python counts from the end, nor True or 0.0.
        if type(i) is not int or not 0 <= i < len(self._places):
            raise ValueError(f"there is no array {i!r}")
        return self._places[i]

    def _bytes(self, place: _Place) -> np.ndarray:
        """Return the bytes of a segment, read into memory of our own and verified there."""
        # At a multiple of 64, as kernels read whole cache lines; NumPy promises 16 only.
        memory = np.empty(padded(place.nbytes) + ALIGNMENT, dtype=np.uint8)
        offset = -memory.ctypes.data % ALIGNMENT
        memory = memory[offset : offset + padded(place.nbytes)]
        digest = hashlib.sha256()
        for start in range(0, len(memory), AT_ONCE):
            part = memory[start : start + AT_ONCE]
            # The digest is of our copy: a mapped file could be changed between check and use.
            if self.mapped:
                part[:] = np.frombuffer(self._map, np.uint8, len(part), place.start + start)
            elif self._file.readinto(part) != len(part):
                self._refuse("was truncated while it was read")
            digest.update(part.data)
        if digest.hexdigest() != place.digest:
            self._refuse("is damaged or was edited: the checksum of an array does not match")
        return memory[: place.nbytes]

    def copy(self, i: int) -> Any:
        """Copy array `i` into our memory, or return the value of JSON; verified."""
        place = self._place(i)
        if i not in self._read:
            content = self._bytes(place)
            try:
                self._read[i] = _decoded(content, place)
            except (ValueError, RecursionError) as error:
                self.refuse_content(error)
        return self._read[i]

    def view(self, i: int) -> Any:
        """View array `i` in place, read-only, if the file is mapped and the array not small."""
        place = self._place(i)
        if not self.mapped or place.nbytes < SMALL or place.dtype == JSON:
            return self.copy(i)
        dtype = dtype_of(place.dtype)
        # Without a digest, which would read all of it: whoever uses the view must be safe with any
        # numbers in it, and with numbers that change.
        array = np.frombuffer(self._map, dtype, place.nbytes // dtype.itemsize, place.start)
        if dtype.kind == "U":
            _require_characters(array)
        return array.reshape(place.shape)


def _decoded(content: np.ndarray, place: _Place) -> Any:
    """Return the array or the value of JSON that bytes stand for."""
    if place.dtype == JSON:
        return json.loads(content.tobytes().decode("utf-8", "surrogatepass"))
    array = content.view(dtype_of(place.dtype))
    if array.dtype.kind == "U":
        _require_characters(array)
    return array.reshape(place.shape)


def _require_characters(texts: np.ndarray) -> None:
    """Raise ValueError for an array of texts, 1-D, with numbers that are no characters."""
    numbers = texts.view(np.dtype("u4").newbyteorder(texts.dtype.byteorder))
    # NumPy takes any 32 bits for a character. Python raises SystemError, which nobody expects, when
    # such a label is sorted, printed or returned: in a prediction, long after loading.
    for start in range(0, len(numbers), AT_ONCE):
        if numbers[start : start + AT_ONCE].max() > sys.maxunicode:
            raise ValueError("an array of texts holds numbers that are no characters")
