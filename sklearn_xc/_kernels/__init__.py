"""Compiled kernels: one algorithm a module, memoryviews and scalars only."""

import os

# How often GCC's OpenMP library looks whether the other threads of a region are there before it
# sleeps: a quarter of a millisecond or so. Its own 300,000 (8 to 13 ms) keep a processor busy that
# on a loaded machine is what the thread waited for would need. Less, and threads would fall asleep
# between the regions of one mini-batch, and take longer to wake up than the regions take.
SPIN_COUNT = "10000"


def _load() -> None:
    """Load the OpenMP library, which reads its environment once, with that count.

    Not where the user has chosen. Where something else has loaded the library before, its count
    stays; loops of short regions then have `_pace` alone to keep them from waiting.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        from .common import _pace  # noqa: F401
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]


_load()
