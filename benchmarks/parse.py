"""How fast the XC text format is read, beside scikit-learn's reader of its sibling format.

    python benchmarks/parse.py [--data delicious yso_finna_en] [--repeats 3]

Both readers get the same plain text (scikit-learn's without the header line, which it does not
know); decompression is left out. Writes measurements/parse.md.
"""

import lzma

import _common
import _runner
from sklearn.datasets import load_svmlight_file

from sklearn_xc.datasets import load_xc


def plain_text(name):
    """The training part with and without its header line, as two plain files."""
    folder = _common.BUILD / "parse"
    folder.mkdir(parents=True, exist_ok=True)
    with_header, without = folder / f"{name}.txt", folder / f"{name}.svmlight"
    with lzma.open(_common.data_folder(name) / "train.txt.xz") as f:
        header, body = f.readline(), f.read()
    with_header.write_bytes(header + body)
    without.write_bytes(body)
    return with_header, without


def best_rate(function, path, repeats):
    """Megabytes a second of the fastest repetition."""
    seconds = min(_common.timed(function, path)[0] for _ in range(repeats))
    return path.stat().st_size / 1e6 / seconds


def main():
    parser = _runner.parser(__doc__, data=(), data_default=["delicious", "yso_finna_en"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for name in [] if options.report else options.data:
        with_header, without = plain_text(name)
        ours = best_rate(load_xc, with_header, options.repeats)
        theirs = best_rate(lambda p: load_svmlight_file(p, multilabel=True), without, 1)
        size = with_header.stat().st_size / 1e6
        row = [name, f"{size:.1f}", f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.1f}"]
        _runner.keep("parse", "rows", name, row)
        print(*row, flush=True)
    rows = list(_runner.kept("parse").get("rows", {}).values())
    header = ["data", "MB", "load_xc MB/s", "load_svmlight_file MB/s", "ratio"]
    text = ["# Reading the XC text format", _runner.source("parse")]
    _runner.write_page("parse", "\n\n".join([*text, _common.table(header, rows)]))


if __name__ == "__main__":
    main()
