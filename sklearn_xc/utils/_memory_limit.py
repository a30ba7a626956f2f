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
    """Return the bytes of memory that this process could still take, None where nothing tells.

    The memory that the system calls available, or a limit of the control groups where it is lower.
    """
    found = [_read_meminfo(), *map(_read_limit, _cgroup_limits())]
    return min((size for size in found if size is not None), default=None)


def _read_meminfo() -> int | None:
    """Return the memory that the system calls available, or elsewhere the physical memory."""
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
        # number 0 is version 2, with one tree for all; version 1 has a tree for each controller
        if number == "0":
            root, name = CGROUP_ROOT, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CGROUP_ROOT / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = root / group.lstrip("/")
        # a limit of an outer group binds as well
        for folder in (inner, *inner.parents):
            yield folder / name
            if folder == root:
                break


def _read_limit(path: Path) -> int | None:
    """Return the limit in a file of a control group, None if there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None


def memory_limit() -> int | None:
    """Return the most bytes that one output may take; None where nothing tells, for no limit.

    Half of :func:`memory_available`, or the whole number of bytes in the environment variable
    ``SKLEARN_XC_MEMORY_LIMIT``.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        available = memory_available()
        return None if available is None else available // 2
    if not text.strip().isdecimal():
        raise ValueError(f"{VARIABLE}={text!r}: must be a whole number of bytes")
    return int(text)


def require_memory(size: int, what: str, instead: str) -> None:
    """Raise MemoryError for an output of more bytes than the limit, before it is allocated.

    The message begins with `what` would take them, with its shape, and ends with what to do
    `instead`.
    """
    if size <= LITTLE and not os.environ.get(VARIABLE):
        return
    limit = memory_limit()
    if limit is not None and size > limit:
        raise MemoryError(
            f"{what} would take {size:,} bytes, more than the limit of {limit:,} bytes "
            f"(half of the memory available, or the environment variable {VARIABLE}); {instead}"
        )
