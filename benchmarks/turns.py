"""One system beside another by turns: the clock of a machine is the same for both.

    python benchmarks/turns.py [--of fits predictions] [--data yso_finna_en ...]
    python benchmarks/turns.py --of fits --systems ppdsparse ppdsparse_1
    python benchmarks/turns.py --of processor --data codespell_fix_chars eurlex4k_shape

Each system has a process of its own, with its number of threads, and fits once as a warm-up. Then
one after the other fits again, or, loaded as it is for prediction only, predicts the five best
labels of all test rows: by the clock or, of one thread, by the processor's, which other programs
disturb less. Writes measurements/turns.md.
"""

import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import _common
import _environment
import _runner
import numpy as np
from _systems import SYSTEMS
from _worker import ANSWER

UNITS = {"fits": "seconds", "predictions": "microseconds", "processor": "microseconds"}
TURNS = {"fits": 5, "predictions": 15, "processor": 15}
DATA = ["bibtex", "cooking_fasttext", "delicious", *_common.RARE]
DATA += ["yso_finna_en_small", "oewn_hypernym", *_common.RUNNING_TEXT, "yso_finna_en"]
# Models of many weights a row, for "processor".
HEAVY = ["codespell_fix_chars", "eurlex4k_shape", "wiki10_shape"]


@contextmanager
def worker(what, name, data, folder):
    """A process with a fitted system; yields a function that has it fit or predict once, and MB."""
    python, reason = _environment.python_of_system(SYSTEMS[name].environment)
    if python is None:
        raise SystemExit(reason)
    folder.mkdir()
    script = Path(__file__).with_name("_worker.py")
    with (
        open(folder / "log.txt", "w") as log,
        subprocess.Popen(
            [python, script, "turns", what, name, data, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment.variables(SYSTEMS[name].threads),
        ) as process,
    ):

        def answer():
            for line in process.stdout:
                if line.startswith(ANSWER):
                    return float(line.removeprefix(ANSWER))
            raise SystemExit(f"{name} on {data} has ended: {(folder / 'log.txt').read_text()}")

        def ask():
            print(file=process.stdin, flush=True)
            return answer()

        yield ask, answer()
        process.stdin.close()


def measure(what, data, systems, turns):
    """What each system took in each turn, and the MB of its saved model, 0 of fits."""
    _common.prepare(data)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = [stack.enter_context(worker(what, name, data, folder / name)) for name in systems]
        asked, sizes = zip(*made, strict=True)
        return np.array([[ask() for ask in asked] for _ in range(turns)]), sizes


def quartiles(values):
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def table(what):
    rows = []
    for key, found in _runner.kept("turns").get(what, {}).items():
        first, second = np.transpose(found[UNITS[what]])
        sizes = [_common.figure(mb) for mb in found.get("mb", ())] if what == "processor" else []
        rows.append([key, len(first), *map(quartiles, (first, second, second / first)), *sizes])
    header = "data, systems | turns | the first | the second | times"
    header += " | MB of the first | of the second" if what == "processor" else ""
    return _common.table(header, rows)


def behind():
    """The sets on which ours takes longer than a tree, or has more than twice its size."""
    slower, larger = [], []
    for key, found in _runner.kept("turns").get("processor", {}).items():
        ours, theirs = np.transpose(found["microseconds"])
        if np.median(theirs / ours) < 1:
            slower.append(key.split(",")[0])
        if found["mb"][0] > 2 * found["mb"][1]:
            larger.append(f"{key.split(',')[0]} ({found['mb'][0] / found['mb'][1]:.1f} times)")
    slower, larger = (", ".join(names) or "none of these" for names in (slower, larger))
    return (
        f"Predictions with one thread. Slower than the second: {slower}. More than twice its "
        f"size: {larger}."
    )


def write_page():
    _runner.write_page(
        "turns",
        "# By turns",
        behind(),
        _runner.source("turns"),
        "Medians and quartiles of the turns, and of the second system's time over the first's in "
        "each. Two threads, but one of `ppdsparse_1`.",
        "## Fits",
        "Seconds of a fit, after one that is a warm-up.",
        table("fits"),
        "## Predictions",
        "Microseconds of a row, the five best labels of all test rows. Each system was fitted once "
        "and, where it has such a form, reloaded for prediction only.",
        table("predictions"),
        "## Predictions with one thread",
        "Microseconds of the processor, and the size of the saved model, ours as a file of `save`.",
        table("processor"),
    )


def main():
    parser = _runner.parser(__doc__, data=[*DATA, *HEAVY], data_default=DATA)
    parser.add_argument("--of", nargs="+", choices=list(TURNS), default=["fits", "predictions"])
    parser.add_argument(
        "--systems", nargs=2, choices=list(SYSTEMS), default=["ppdsparse", "pecos_xr"]
    )
    parser.add_argument("--turns", type=int, help="by default 5, or 15 of predictions")
    options = parser.parse_args()
    if not options.report:
        for what, data in product(options.of, options.data):
            figures, sizes = measure(what, data, options.systems, options.turns or TURNS[what])
            key = f"{data}, {' and '.join(options.systems)}"
            print(what, key, np.median(figures, axis=0), flush=True)
            record = {UNITS[what]: figures.tolist()}
            if what == "processor":
                record["mb"] = list(sizes)
            _runner.keep("turns", what, key, record)
    write_page()


if __name__ == "__main__":
    main()
