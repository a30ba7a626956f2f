"""One system beside another by turns: the clock of a machine is the same for both.

    python -m benchmarks.peers.turns [--of fits predictions] [--data yso_finna_en ...]
    python -m benchmarks.peers.turns --of fits --systems ppdsparse ppdsparse_1
    python -m benchmarks.peers.turns --of processor --data codespell_fix_chars eurlex4k_shape
    python -m benchmarks.peers.turns --beside ../before --systems ppdsparse_2 ppdsparse_2

Each system has a process of its own, with its number of threads, and fits once as a warm-up. Then
one after the other fits again, or, loaded as it is for prediction only, predicts the five best
labels of all test rows: by the clock or, of one thread, by the processor's, which others disturb
less. With `--beside` the second system uses the package in that folder: another commit, compiled.
Writes measurements/turns.md.
"""

import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import _common, _environment, _runner
from benchmarks._systems import SYSTEMS
from benchmarks._worker import ANSWER

UNITS = {"fits": "seconds", "predictions": "microseconds", "processor": "microseconds"}
TURNS = {"fits": 5, "predictions": 15, "processor": 15}
DATA = ["bibtex", "cooking_fasttext", "delicious", *_common.RARE]
DATA += ["yso_finna_en_small", "oewn_hypernym", *_common.RUNNING_TEXT, "yso_finna_en"]
# Models of many weights a row, for "processor".
HEAVY = ["codespell_fix_chars", "eurlex4k_shape", "wiki10_shape"]


@contextmanager
def worker(what, name, data, folder, checkout):
    """A process with a fitted system; yields a function that has it fit or predict once, and MB.

    A checkout comes first on the path; the benchmarks are the ones here, as a package.
    """
    python, reason = _environment.python_of_system(SYSTEMS[name].environment)
    if python is None:
        raise SystemExit(reason)
    folder.mkdir()
    with (
        open(folder / "log.txt", "w") as log,
        subprocess.Popen(
            _environment.worker(python, "turns", what, name, data, folder),
            cwd=_common.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment.variables(SYSTEMS[name].threads, checkout),
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


def measure(what, data, systems, turns, checkout):
    """Return the time of each system in each turn, and MB: of a fit, else of its saved model."""
    _common.prepare(data)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places = zip(systems, ("first", "second"), (None, checkout), strict=True)
        made = [
            stack.enter_context(worker(what, name, data, folder / place, path))
            for name, place, path in places
        ]
        asked, sizes = zip(*made, strict=True)
        return np.array([[ask() for ask in asked] for _ in range(turns)]), sizes


def commit(folder):
    """The commit that is checked out in a folder."""
    command = ["git", "-C", folder, "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def quartiles(values):
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def table(group):
    """The turns of a group of figures, which begins with what was measured."""
    what, rows = group.split()[0], []
    for key, found in _runner.kept("turns").get(group, {}).items():
        first, second = np.transpose(found[UNITS[what]])
        sizes = map(_common.figure, found.get("mb", ()))
        rows.append([key, len(first), *map(quartiles, (first, second, second / first)), *sizes])
    header = "data, systems | turns | the first | the second | times"
    header += " | MB of the first | of the second" if rows and len(rows[0]) > 5 else ""
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


def beside_commits():
    """A section for each earlier commit and clock, with the median over its lines."""
    for group, found in _runner.kept("turns").items():
        if " beside " not in group:
            continue
        what = group.split()[0]
        times = [np.median(np.divide(*np.transpose(f[UNITS[what]]))) for f in found.values()]
        more = [f["mb"][0] / f["mb"][1] for f in found.values() if all(f["mb"])]
        title = "Fits" if what == "fits" else "Predictions with one thread"
        yield f"## {title}{group.removeprefix(what)}"
        yield (
            f"{UNITS[what].capitalize()} of this package and of itself at the commit, at the same "
            f"parameters. The median of the lines: {np.median(times):.3f} times the time of the "
            f"commit, {np.median(more):.3f} times its MB "
            f"({'of memory in a fit' if what == 'fits' else 'of the saved model'})."
        )
        yield table(group)


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
        *beside_commits(),
    )


def main():
    parser = _runner.parser(__doc__, data=[*DATA, *HEAVY], data_default=DATA)
    parser.add_argument("--of", nargs="+", choices=list(TURNS), default=["fits", "predictions"])
    parser.add_argument(
        "--systems", nargs=2, choices=list(SYSTEMS), default=["ppdsparse", "pecos_xr"]
    )
    parser.add_argument("--turns", type=int, help="by default 5, or 15 of predictions")
    parser.add_argument("--beside", type=Path, help="the second uses the package in this folder")
    options = parser.parse_args()
    if not options.report:
        for what, data in product(options.of, options.data):
            turns = options.turns or TURNS[what]
            figures, sizes = measure(what, data, options.systems, turns, options.beside)
            key, group = f"{data}, {' and '.join(options.systems)}", what
            if options.beside:
                key, group = (
                    f"{data}, {options.systems[0]}",
                    f"{what} beside {commit(options.beside)}",
                )
            print(group, key, np.median(figures, axis=0), sizes, flush=True)
            record = {UNITS[what]: figures.tolist()}
            if what == "processor" or options.beside:
                record["mb"] = sizes
            _runner.keep("turns", group, key, record)
    write_page()


if __name__ == "__main__":
    main()
