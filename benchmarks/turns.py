"""Prediction of one system beside another by turns: the clock of a machine is the same for both.

    python benchmarks/turns.py [--data yso_finna_en ...] [--systems ppdsparse pecos_xr] [--turns 15]

Both systems are fitted once, in processes of their own, and loaded as they are for prediction only;
then each predicts the five best labels of all test rows in its turn. Two threads. Writes
doc/benchmark_turns.md.
"""

import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import _common
import _environment
import _runner
import numpy as np
from _systems import SYSTEMS
from _turn_worker import ANSWER
from run import environment

DATA = ["bibtex", "cooking_fasttext", "delicious", "yso_finna_en_small", "oewn_hypernym"]
DATA += ["next_word", "missing_word", "yso_finna_en"]


@contextmanager
def worker(name, data, folder):
    """A process with a fitted system; yields a function that has it predict once."""
    python, reason = _environment.python_of_system(SYSTEMS[name].environment)
    if python is None:
        raise SystemExit(reason)
    folder.mkdir()
    script = Path(__file__).with_name("_turn_worker.py")
    with open(folder / "log.txt", "w") as log, subprocess.Popen(
        [python, script, name, data, folder],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        env=environment(SYSTEMS[name].threads),
    ) as process:  # fmt: skip

        def answer():
            for line in process.stdout:
                if line.startswith(ANSWER):
                    return float(line.removeprefix(ANSWER))
            raise SystemExit(f"{name} on {data} has ended: {(folder / 'log.txt').read_text()}")

        def ask():
            print(file=process.stdin, flush=True)
            return answer()

        answer()
        yield ask
        process.stdin.close()


def measure(data, systems, turns):
    """Microseconds a row of each system and turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asked = [stack.enter_context(worker(name, data, folder / name)) for name in systems]
        return np.array([[ask() for ask in asked] for _ in range(turns)])


def quartiles(values):
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def write_page(found):
    rows = []
    for key, f in found.get("predictions", {}).items():
        ours, theirs = (np.array(column) for column in zip(*f["microseconds"], strict=True))
        rows.append([key, len(ours), *map(quartiles, (ours, theirs, theirs / ours))])
    parts = [
        "# Prediction by turns",
        _runner.source("turns"),
        "Microseconds of a row, the five best labels of all test rows, two threads: median and "
        "quartiles of the turns, and of their ratios. Each system was fitted once and, where it "
        "has such a form, reloaded for prediction only.",
        _common.table(["data, systems", "turns", "the first", "the second", "times"], rows),
    ]
    _runner.write_page("turns", "\n\n".join(parts))


def main():
    parser = _runner.parser(__doc__, data=DATA)
    parser.add_argument(
        "--systems", nargs=2, choices=list(SYSTEMS), default=["ppdsparse", "pecos_xr"]
    )
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    if not options.report:
        for data in options.data:
            figures = measure(data, options.systems, options.turns)
            key = f"{data}, {' and '.join(options.systems)}"
            print(key, np.median(figures, axis=0), flush=True)
            _runner.keep("turns", "predictions", key, {"microseconds": figures.tolist()})
    write_page(_runner.kept("turns"))


if __name__ == "__main__":
    main()
