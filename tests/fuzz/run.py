"""Random input of every kind, each case with a time and a memory limit.

    python tests/fuzz/run.py [--seconds 60] [--kinds model_files xc_text ...] [--first 0]
    python tests/fuzz/run.py --repeat KIND SEED

Cases run one after the other in a process of their own, which says before each of them which it
is. If that process dies, hangs or takes too much memory, the case is repeated alone in a new one,
and printed with the command that repeats it. The second form does that.
"""

import argparse
import os
import selectors
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

LONGEST = 60  # seconds of a case
LONGEST_START = 300  # until the first case: imports take long on a busy machine
MEMORY = 4 * 2**30  # bytes of address space
AT_ONCE = 5000  # cases of a process
HERE = Path(__file__).resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--repeat", nargs=2, metavar=("KIND", "SEED"))
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeat:
        run_cases(options.repeat[0], int(options.repeat[1]), 1)
    elif options.worker:
        kind, first, number = options.worker
        limit_memory()
        run_cases(kind, int(first), int(number), announce=True)
    else:
        sys.exit(fuzz(options.seconds, options.kinds, options.first))


def fuzz(seconds, kinds, first):
    """Run cases of all kinds in turn for a while; the number of failures."""
    from cases import KINDS

    kinds = kinds or list(KINDS)
    next_seed, n_cases, failures = dict.fromkeys(kinds, first), dict.fromkeys(kinds, 0), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind in kinds:
            share = max(1.0, (end - time.monotonic()) / len(kinds))
            done, failed = run_worker(kind, next_seed[kind], min(share, 30))
            n_cases[kind] += done
            next_seed[kind] += done
            if failed:
                seed = next_seed[kind] - 1
                failures.append((kind, seed))
                print(f"{kind}, seed {seed}: {failed}\n    python {HERE} --repeat {kind} {seed}")
    for kind, number in n_cases.items():
        print(f"{kind:14s} {number:9,d} cases, {sum(k == kind for k, _ in failures)} failures")
    return min(len(failures), 100)


def run_worker(kind, first, seconds):
    """Cases of a kind from a seed on: how many were begun, and what the last one did wrong."""
    command = [sys.executable, HERE, "--worker", kind, str(first), str(AT_ONCE)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    begun, stop, hung, last, lines = 0, time.monotonic() + seconds, False, False, b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(LONGEST if begun else LONGEST_START):
                hung = True
                break
            lines = os.read(child.stdout.fileno(), 1 << 16)
            begun += lines.count(b"\n")
            if not lines or last:
                break
            last = time.monotonic() > stop  # the case that was begun may still fail
    ended = child.poll() if lines or hung else child.wait()
    if ended is None:
        child.kill()
    error = child.communicate()[1].decode(errors="replace").strip()
    if hung:
        return begun, f"took more than {LONGEST} s"
    if ended:
        return max(begun, 1), f"ended with {ended}: {error[-600:]}"
    return begun, None


def limit_memory():
    if os.environ.get("SKLEARN_XC_BUILD") not in ("asan", "ubsan") and os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_cases(kind, first, number, announce=False):
    sys.path.insert(0, str(HERE.parents[1]))
    import numpy as np
    from cases import KINDS

    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        for seed in range(first, first + number):
            if announce:
                os.write(1, b".\n")
            KINDS[kind](np.random.default_rng([seed, len(kind)]), Path(folder))


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]
    main()
