"""The same task in scikit-learn, PECOS, napkinXC, omikuji and here, side by side.

    python -m benchmarks.peers.coming_from [--data bibtex ...] [--systems ppdsparse ovr_sgd ...]

The figures of the pages for those who come from another library. Systems, data and measures are
those of run.py, everything with its defaults. Figures are kept in results/coming_from.json.
"""

from benchmarks import _runner
from benchmarks._common import figure
from benchmarks._systems import SYSTEMS
from benchmarks.peers import run

PAGE = "coming_from"
DATA_SETS = [*run.SMALL, "yso_finna_en_small"]
NAMES = ["ppdsparse", "ovr_svc", "ovr_logistic", "ovr_sgd"]
NAMES += ["pecos_xr", "pecos_ova", "napkinxc_plt", "omikuji"]
ONE_CLASS = "oewn_hypernym"  # 1.03 labels a row: ours of one class a sample, on the first of them
ONE_CLASS_NAMES = [name for name in SYSTEMS if name.startswith("class_")]
# Dense weights of all classes, or hours: left out on the larger data.
RUNS_ON = dict.fromkeys(["ovr_svc", "ovr_logistic", "ovr_sgd", "pecos_ova"], run.SMALL)
HEADER = ["system", "fit s", "µs a row", "P@1", "P@3", "P@5", "peak MB", "model MB"]


def cells(result):
    """The figures of a system as the cells of its row."""
    return [
        figure(run.best(result, "train_s")),
        figure(1000 * run.best(result, "predict_ms")),
        *map(run.percent, result["precision"]),
        f"{result['memory_mb']:.0f}",
        figure(result["model_mb"]),
    ]


def write_page():
    kept = _runner.kept(PAGE)
    parts = [
        "# The same task elsewhere and here",
        _runner.source(PAGE),
        f"Versions: {run.versions(kept)}.",
        "Unit rows of TF-IDF, two threads, defaults everywhere; each system in its own "
        "process. Seconds of `fit` are the best after a warm-up fit, or of one fit that takes "
        "long. The machine also did other work: they are up to twice the seconds of the page "
        "against other libraries; compare them within a table. "
        "Prediction is the five best labels of all test rows in one call. P@k is precision in per "
        "cent on the published test part. Peak MB is the memory of the first fit beyond the data, "
        "model MB the size of the saved model. `benchmarks/README.md` says more.",
    ]
    for data in DATA_SETS:
        parts += run.section(data, kept.get(data, {}), NAMES, HEADER, cells)
    title = f"{ONE_CLASS}, one class a sample"
    parts += run.section(title, kept.get(ONE_CLASS, {}), ONE_CLASS_NAMES, HEADER, cells)
    _runner.write_page(PAGE, *parts)


def main():
    names = [*NAMES, *ONE_CLASS_NAMES]
    parser = _runner.parser(__doc__, data=[*DATA_SETS, ONE_CLASS])
    add = parser.add_argument
    add("--systems", nargs="+", choices=names, default=names, metavar="NAME")
    add("--repeats", type=int, default=2, help="timed fits; the best counts")
    add("--long", type=float, default=5, help="what takes more seconds is not repeated")
    add("--timeout", type=float, default=600, help="seconds for one system")
    options = parser.parse_args()
    for data in [] if options.report else options.data:
        for name in options.systems:
            data_sets = [ONE_CLASS] if name in ONE_CLASS_NAMES else RUNS_ON.get(name, DATA_SETS)
            if data in data_sets:
                run.measure(name, data, options, page=PAGE)
    write_page()


if __name__ == "__main__":
    main()
