"""Training at the shape of Amazon-670K: 490,449 rows, 135,909 words, 670,091 labels.

    python -m benchmarks.peers.amazon670k_shape                       all systems; hours
    python -m benchmarks.peers.amazon670k_shape --systems ppdsparse_2

Generated data (`make_xc_classification(preset="amazon-670k")`), TF-IDF; 2,000 rows to test on.
Systems as in run.py, each in a process of its own, two threads. Writes
measurements/amazon670k_shape.md.
"""

from benchmarks import _runner
from benchmarks.peers import run

DATA = "amazon670k_shape"
NAMES = ["ppdsparse_2", "ppdsparse", "pecos_xr", "omikuji", "omikuji_wide"]
HEADER = ["system", "wall s", "core-hours", "resident GB", "model GB", "ms a row"]
HEADER += ["P@1", "P@3", "P@5", "PSP@5"]


def cells(result):
    return [
        f"{run.best(result, 'train_s'):.0f}",
        f"{result['train_cpu_s'] / 3600:.3f}",
        f"{result['resident_mb'] / 1e3:.2f}",
        f"{result['model_mb'] / 1e3:.2f}",
        run.prediction(result),
        *map(run.percent, result["precision"]),
        run.percent(result["psp"]),
    ]


def parse_arguments():
    parser = _runner.parser(__doc__)
    add = parser.add_argument
    add("--systems", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES))
    add("--repeats", type=int, default=3, help="timed predictions; the best counts")
    add("--timeout", type=float, default=4 * 3600, help="seconds for one system")
    parser.set_defaults(long=0)  # one fit
    return parser.parse_args()


def main():
    options = parse_arguments()
    for name in [] if options.report else options.systems:
        run.measure(name, DATA, options, page=DATA)
    parts = [
        "# The shape of Amazon-670K",
        _runner.source(DATA),
        "Generated data of 490,449 rows of 75 words, 135,909 words, 670,091 labels, 5.5 of them a "
        "row. Core-hours are processor seconds of all threads and processes, from rows and labels "
        "in memory to the model (omikuji: from its text file). Resident memory is of the whole "
        "process, data and interpreter included. On a Dask cluster of two worker processes "
        "of at most 3 GB, each killed once, the fit of the first row took 1,567 s and 0.554 "
        "core-hours (2026-11-24, commit 998d518).",
    ]
    parts += run.section("Systems", _runner.kept(DATA).get(DATA, {}), NAMES, HEADER, cells)
    _runner.write_page(DATA, *parts)


if __name__ == "__main__":
    main()
