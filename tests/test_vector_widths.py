"""The kernels give the same bits with the vectors of any processor.

Each hot loop is compiled for several instruction sets, of which the loader picks the widest. An
emulator of an old processor makes it pick the narrowest; NumPy and BLAS are held to that in both
processes, since their sums differ from one width to the next.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

QEMU = shutil.which("qemu-x86_64")
PROGRAM = Path(__file__).with_name("_digests_of_fits.py")


def digests(*command, narrow=()):
    env = os.environ | {
        "NPY_DISABLE_CPU_FEATURES": " ".join(narrow),
        "OPENBLAS_CORETYPE": "Nehalem",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    run = subprocess.run(
        [*command, sys.executable, PROGRAM], env=env, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def features_of_numpy():
    """What NumPy would dispatch to here."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


@pytest.mark.full
@pytest.mark.skipif(platform.machine() != "x86_64", reason="emulates a processor of that kind")
@pytest.mark.skipif(QEMU is None, reason="needs qemu-x86_64 (Debian: qemu-user)")
def test_an_old_processor_gives_the_same_bits():
    here = digests(narrow=features_of_numpy())
    assert digests(QEMU, "-cpu", "Nehalem") == here
