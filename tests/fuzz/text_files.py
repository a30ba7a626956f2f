"""Damaged files of texts, read and trained on: rows, or one error that says what is wrong."""

import contextlib
import io
import json
import os

from sklearn_xc.cli import main
from sklearn_xc.datasets._text_rows import TextColumns, read

REFUSED = ValueError, OSError, ImportError  # Parquet without pyarrow
ENDINGS = "csv", "tsv", "jsonl", "txt", "csv.gz", "csv.xz", "csv.bz2", "parquet", "json"
BITS = [b'"', b'""', b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf"]
BITS += [
    b"\xe2\x98\x83",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"1e999",
    b"\\ud800",
    b"NaN",
    b"-1",
    b"  ",
]
BITS += [
    b"__label__",
    b"__label__a ",
    b"title",
    b"tags",
    b"0 1:2\n",
    b"2 3 2\n",
    b"=",
    b"'",
    b"a" * 5000,
]
TABLE = b'title,tags\n"a, b",x;y\nlong text,z\n"two\nlines","""q;r"";s"\n,\nlast,x\n' * 3


def text_files(rng, folder):
    """A damaged table, JSON lines or plain lines, with columns that may not be there."""
    path = folder / f"a{rng.integers(2**60)}.{ENDINGS[rng.integers(len(ENDINGS))]}"
    path.write_bytes(_content(rng, str(path)))
    try:
        for separator in (None, ";", " "):
            columns = TextColumns(
                ["title"], "tags", separator, None, *(rng.random(2) < 0.7).tolist()
            )
            with contextlib.suppress(*REFUSED):
                _check(read(str(path), columns))
        if rng.random() < 0.1:
            _run(rng, path, folder)
    finally:
        path.unlink()


def _content(rng, path):
    if ".json" in path:
        lines = [json.dumps({"title": "a b", "tags": ["x", "y;z"]})] * 6
        whole = "\n".join(lines).encode()
    else:
        whole = TABLE.replace(b",", b"\t") if path.endswith("tsv") else TABLE
    for _ in range(rng.integers(0, 6)):
        start, size = rng.integers(len(whole) + 1), rng.integers(0, 8)
        whole = whole[:start] + BITS[rng.integers(len(BITS))] + whole[start + size :]
    if path.endswith(("gz", "xz", "bz2")) and rng.random() < 0.8:
        whole = _packed(whole, path.rpartition(".")[2])
        if rng.random() < 0.5:
            start = rng.integers(len(whole))
            whole = whole[:start] + bytes([rng.integers(256)]) + whole[start + 1 :]
    return whole


def _packed(content, kind):
    import bz2
    import gzip
    import lzma

    return {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[kind](content)


def _check(rows):
    last = 0
    for row in rows:
        assert isinstance(row.text, str)
        assert row.line > last or last == 0
        last = row.line
        assert all(isinstance(label, str) and label == label.strip() for label in row.labels)
        assert all(row.labels)
        assert len(set(row.labels)) == len(row.labels)


def _run(rng, path, folder):
    """Train on the file, and use it with a model: code 0 or 2, and a line that says why."""
    model = folder / "fuzzed.sxc"
    columns = ["--text", "title", "--labels", "tags", "--separator", ";"]
    calls = [
        ["train", str(path), *columns, "-o", str(model), "--jobs", "1", "--probabilities", "none"],
        ["convert", str(path), *columns, "--to", "jsonl", "-o", os.devnull],
    ]
    if model.exists():
        calls += [["evaluate", str(model), str(path)], ["predict", str(model), str(path)]]
    with contextlib.redirect_stdout(io.StringIO()):
        for call in calls:
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                code = main(call)
            assert code in (0, 2), call
            assert code == 0 or ": error: " in errors.getvalue().splitlines()[-1]
