"""Memory of this process, and of a call."""

import tracemalloc
from pathlib import Path


def resident():
    """Bytes of this process in memory, from /proc: Linux only."""
    text = Path("/proc/self/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


def with_peak(call):
    """Return what a call returns, and the bytes at its peak, without those of before."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
