"""How much memory an output may take, and the refusal of one that takes more."""

import os
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "SKLEARN_XC_MEMORY_LIMIT"

MEMINFO = Path("/proc/meminfo")
OWN_CGROUPS = Path("/proc/self/cgroup")
CGROUP_ROOT = Path("/sys/fs/cgroup")
# Bytes that are refused by the environment variable only: a process that runs has as much, and to
# read the files takes longer than to allocate it.
LITTLE = 1 << 24


def memory_available() -> int | None:
    """Return bytes of memory this process could still take.

    Returns
    -------
    available : int or None
        The memory the system calls available, or the limit of the control group (version 1 or 2)
        where that is lower; None where the system does not tell.
    """
    found = [_read_meminfo(), *map(_read_limit, _cgroup_limits())]
    return min((size for size in found if size is not None), default=None)


def _read_meminfo() -> int | None:
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:  # not Linux: the physical memory is the best there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup_limits() -> Iterator[Path]:
    """Yield the files with the limits of the control groups around this process."""
    try:
        lines = OWN_CGROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, group = line.split(":", 2)
        if number == "0":
            root, name = CGROUP_ROOT, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CGROUP_ROOT / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = root / group.lstrip("/")
        for folder in (inner, *inner.parents):  # a limit of an outer group binds as well
            yield folder / name
            if folder == root:
                break


def _read_limit(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None


def memory_limit() -> int | None:
    """Return the most bytes that one output may take.

    Half of :func:`memory_available`, or the whole number of bytes in the environment variable
    ``SKLEARN_XC_MEMORY_LIMIT``.

    Returns
    -------
    limit : int or None
        None where neither is known: then nothing is refused.

    Raises
    ------
    ValueError
        If the variable holds anything but a whole number of bytes.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        available = memory_available()
        return None if available is None else available // 2
    if not text.strip().isdecimal():
        raise ValueError(f"{VARIABLE}={text!r}: must be a whole number of bytes")
    return int(text)


def require_memory(size: int, what: str, instead: str) -> None:
    """Refuse an output that would exceed the limit, before any of it is allocated.

    Parameters
    ----------
    size : int
        Bytes wanted.
    what : str
        What wants them, with its shape, to begin the message with.
    instead : str
        What to do instead, to end it with.

    Raises
    ------
    MemoryError
        If ``size`` is above :func:`memory_limit`.
    """
    if size <= LITTLE and not os.environ.get(VARIABLE):
        return
    limit = memory_limit()
    if limit is not None and size > limit:
        raise MemoryError(
            f"{what} would take {size:,} bytes, more than the limit of {limit:,} bytes "
            f"(half of the memory available, or the environment variable {VARIABLE}); {instead}"
        )
