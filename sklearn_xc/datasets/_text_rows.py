"""Samples in files: CSV, TSV, JSON lines, Parquet, lines of text; errors name file and line."""

import codecs
import csv
import json
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import chain, count
from typing import IO, Any, NamedTuple

from ..utils._optional_import import optional_import
from ._xc_reader import open_text

LONGEST = 2**24  # bytes of a line, and of a field that goes over several
ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "parquet": "parquet",
}
FORMATS = "csv", "tsv", "jsonl", "parquet", "fasttext", "lines", "xc", "libsvm"
PREFIX = "__label__"  # of labels in lines of fastText


class Row(NamedTuple):
    """Sample of a file: the line where it begins, its text and its labels, each once."""

    line: int
    text: str
    labels: list[str]


@dataclass(frozen=True)
class TextColumns:
    """Places of text and labels in a file, which a model file remembers."""

    text: list[str]
    labels: str | None = None
    separator: str | None = None
    format: str | None = None
    header: bool = True
    quotes: bool = True

    def __post_init__(self) -> None:
        """Refuse what a model file may hold and a command line may say, but no file can have."""
        # newlines and quotation marks have meanings of their own in a line of fields
        one = self.separator
        if one is not None and (not isinstance(one, str) or len(one) != 1 or one in '"\r\n'):
            raise ValueError(f"--separator must be one character, got {one!r}")
        names = self.text if isinstance(self.text, list) else [None]
        if not all(
            isinstance(name, str) for name in [*names, self.labels or "", self.format or ""]
        ):
            raise ValueError(f"columns must be given by their names, got {self}")

    def notes(self) -> dict[str, Any]:
        """Return what `Columns(**notes)` needs."""
        return asdict(self)


def format_of(path: str, columns: TextColumns) -> str:
    """Return the format of a file by its ending, or by its first line."""
    if columns.format is not None:
        return columns.format
    parts = path.lower().split(".")
    if parts[-1] in ("gz", "bz2", "xz"):
        parts.pop()
    if parts[-1] in ("zip", "zst"):
        raise ValueError(f"{path}: .gz, .bz2 and .xz are read; decompress it first")
    if parts[-1] in ENDINGS:
        return ENDINGS[parts[-1]]
    if path == "-":
        if columns.labels is not None:
            raise ValueError(
                "the standard input has no ending that names its format; give --format"
            )
        return "lines"
    # no ending that tells: the first line does
    with open_text(path, "rb") as file:
        first = next(_lines(file, path), "").split()
    if any(word.startswith(PREFIX) for word in first):
        return "fasttext"
    if columns.text:
        if parts[-1] == "txt" and columns.labels is None:  # texts to answer for
            return "lines"
        raise ValueError(f"{path}: the ending names no format of columns; give --format")
    # a header N D K; lines of LIBSVM are labels and pairs feature:value
    if len(first) == 3 and all(word.isdecimal() for word in first):
        return "xc"
    return "libsvm" if first and all(":" in word for word in first[1:]) else "lines"


def read(path: str, columns: TextColumns) -> Iterator[Row]:
    """Yield the rows of a file of texts, one at a time; "-" is the standard input."""
    kind = format_of(path, columns)
    if kind == "parquet":
        yield from _parquet(path, columns)
        return
    name = "standard input" if path == "-" else path
    with nullcontext(sys.stdin.buffer) if path == "-" else open_text(path, "rb") as file:
        lines = _lines(file, name)
        if kind in ("csv", "tsv"):
            yield from _table(lines, name, columns, "\t" if kind == "tsv" else ",")
        elif kind == "jsonl":
            for number, line in enumerate(lines, 1):
                if line.strip():
                    place = f"{name}, line {number}"
                    yield _from_object(_json(line, place), columns, place, number)
        elif kind == "fasttext":
            for number, line in enumerate(lines, 1):
                yield _of_fasttext(line, number)
        elif kind == "lines":
            for number, line in enumerate(lines, 1):
                yield Row(number, line.rstrip("\r\n"), [])
        else:
            raise ValueError(f"{name} holds numbers ({kind}), and texts are needed here")


def labelled(path: str, columns: TextColumns) -> Iterator[Row]:
    """Return the rows of a file that have labels, of which there must be one."""
    rows = (row for row in read(path, columns) if row.labels)
    first = next(rows, None)  # at once, before a caller writes anything
    if first is None:
        raise ValueError(f"{path} has no samples with labels")
    return chain([first], rows)


def _lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Yield the lines of a file as texts, with their ends."""
    for number in count(1):
        # at most one byte more than allowed, so that a file of one line does not fill the memory
        try:
            line = file.readline(LONGEST + 1)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{name}, line {number}: cannot be read: {error}") from error
        if not line:
            return
        if number == 1:
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ValueError(f"{name} is in UTF-16; write it in UTF-8")
            line = line.removeprefix(codecs.BOM_UTF8)
        if len(line) > LONGEST:
            raise ValueError(f"{name}, line {number} is longer than {LONGEST} bytes")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number} is not UTF-8: {error.reason} at byte {error.start + 1}"
            ) from error


def _table(lines: Iterator[str], name: str, columns: TextColumns, delimiter: str) -> Iterator[Row]:
    """Yield the rows of lines of fields, the first of which names them."""
    header = None
    for line, fields in _records(lines, name, columns.quotes, delimiter):
        if not fields:
            continue
        if header is None:
            header = fields if columns.header else [str(n) for n in range(1, len(fields) + 1)]
            texts, labels = _places(header, columns, name)
            if columns.header:
                continue
        # a delimiter in a text that is not quoted would move the columns unnoticed
        place = f"{name}, line {line}"
        if len(fields) != len(header):
            raise ValueError(f"{place} has {len(fields)} fields, and the first line {len(header)}")
        found = [] if labels is None else split(fields[labels], columns.separator, place)
        yield Row(line, " ".join(fields[text] for text in texts), found)


def _records(
    lines: Iterator[str], name: str, quotes: bool, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each record begins, and its fields."""
    # the module's own limit is 128 KB, for the whole process
    csv.field_size_limit(LONGEST)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    )
    start = 1
    try:
        for fields in reader:
            yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        hint = " (--no-quotes takes quotation marks as letters)" if quotes else ""
        if "new-line" in str(error):
            hint = " (lines must end in LF, or CR LF)"
        raise ValueError(f"{name}, line {start}: {error}{hint}") from error


def _places(header: list[str], columns: TextColumns, name: str) -> tuple[list[int], int | None]:
    """Return the places of the columns of text and of labels."""
    wanted = [*columns.text, *([] if columns.labels is None else [columns.labels])]
    for column in wanted:
        if header.count(column) != 1:
            times = "no column" if column not in header else "more than one column"
            raise ValueError(f"{name} has {times} {column!r}; it has {_listed(header)}")
    labels = None if columns.labels is None else header.index(columns.labels)
    return [header.index(column) for column in columns.text], labels


def _listed(names: Iterable[str]) -> str:
    """Return names, of which blanks are seen, as the part of an error."""
    return ", ".join(map(repr, names))[:900]


def split(cell: str, separator: str | None, place: str = "") -> list[str]:
    """Return the labels of a cell; one that holds the separator stands in double quotes."""
    parts = [cell]
    # the csv module reads quoted labels; line breaks would end its record
    if separator is not None and '"' in cell:
        line = cell.replace("\r", " ").replace("\n", " ")
        try:
            one = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
            parts = next(one)
        except csv.Error as error:
            raise ValueError(f"{place}: the labels {cell:.60}: {error}") from error
    elif separator is not None:
        parts = cell.split(separator)
    return list(dict.fromkeys(part for part in map(str.strip, parts) if part))


def _json(line: str, place: str) -> dict[str, Any]:
    """Return the object of a line."""
    # deeply nested lists are a RecursionError
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{place} is not an object of JSON: each line must be one")
    return value


def _from_object(value: dict[str, Any], columns: TextColumns, place: str, number: int) -> Row:
    """Return the row of an object with the columns as keys."""
    names = [*columns.text, *([] if columns.labels is None else [columns.labels])]
    for column in names:
        if column not in value:
            raise ValueError(f"{place} has no {column!r}; it has {_listed(value)}")
    texts = [value[column] for column in columns.text]
    for column, text in zip(columns.text, texts, strict=True):
        if not isinstance(text, str):
            raise ValueError(f"{place}: {column!r} must be a text, got {text!r:.60}")
    labels = [] if columns.labels is None else value[columns.labels]
    if isinstance(labels, str):
        return Row(number, " ".join(texts), split(labels, columns.separator, place))
    labels = [] if labels is None or labels != labels else labels  # NaN of pandas
    labels = labels if isinstance(labels, list) else [labels]
    if not all(isinstance(label, (str, int)) for label in labels):
        raise ValueError(f"{place}: {columns.labels!r} must hold texts or integers")
    names = (str(label).strip() for label in labels)
    return Row(number, " ".join(texts), list(dict.fromkeys(name for name in names if name)))


def _of_fasttext(line: str, number: int) -> Row:
    """Return the row of a line whose labels are words with a prefix."""
    words = line.split()
    labels = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
    text = " ".join(word for word in words if not word.startswith(PREFIX))
    return Row(number, text, list(dict.fromkeys(label for label in labels if label)))


def _parquet(path: str, columns: TextColumns) -> Iterator[Row]:
    """Yield the rows of a Parquet file, which is read as a whole."""
    pandas = optional_import("pandas", "reading Parquet")
    try:
        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow: pip install pyarrow") from error
    names = [*columns.text, *([] if columns.labels is None else [columns.labels])]
    _places(list(map(str, frame.columns)), columns, path)
    for number, values in enumerate(zip(*(frame[name] for name in names), strict=True), 1):
        # lists of labels come as arrays
        plain = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        place = f"{path}, row {number}"
        yield _from_object(dict(zip(names, plain, strict=True)), columns, place, number)
