"""Samples as CSV, JSON lines or lines of fastText, and answers as CSV or JSON lines."""

import csv
import json
import os
import re
from collections.abc import Iterable
from typing import Any, TextIO, TypeAlias

from ._text_rows import PREFIX, Row

# The line of a sample, and pairs of label and score.
Answer: TypeAlias = tuple[int, Iterable[tuple[Any, float]]]
# How files are opened. UTF-8 has no halves of a character: they are written as JSON escapes them.
AS_TEXT: dict[str, Any] = {"encoding": "utf-8", "newline": "", "errors": "backslashreplace"}


def require_other_file(output: str, read: Iterable[str | None]) -> None:
    """Refuse to write over a file or folder that is read, which opening it would empty."""
    if os.path.isfile(output) or os.path.isdir(output):  # no terminal, which is read and written
        there = (path for path in read if path is not None and os.path.exists(path))
        if any(os.path.samefile(path, output) for path in there):
            raise ValueError(f"-o {output} is read by this command: name another file")


def as_csv(file: TextIO, rows: Iterable[Row], separator: str) -> None:
    """Write a header and a line a sample; a label that holds the separator is quoted."""
    writer = csv.writer(file)
    writer.writerow(["text", "labels"])
    # within a cell labels are quoted as within a line, as `_text_rows.split` reads them
    for row in rows:
        cells = [
            '"' + one.replace('"', '""') + '"' if separator in one or '"' in one else one
            for one in row.labels
        ]
        writer.writerow([row.text, separator.join(cells)])


def as_jsonl(file: TextIO, rows: Iterable[Row], _: str) -> None:
    """Write an object a sample."""
    for row in rows:
        json.dump({"text": row.text, "labels": row.labels}, file, ensure_ascii=False)
        file.write("\n")


def as_fasttext(file: TextIO, rows: Iterable[Row], _: str) -> None:
    """Write a line a sample; blanks in labels become "_", and two labels never the same word."""
    words = {}
    for row in rows:
        for label in row.labels:
            word = re.sub(r"\s", "_", label)
            if words.setdefault(word, label) != label:
                raise ValueError(f"{label!r} and {words[word]!r} would be one label of fastText")
        labels = " ".join(PREFIX + re.sub(r"\s", "_", label) for label in row.labels)
        # words of the text that look like labels would be read as some
        text = " ".join(word for word in row.text.split() if not word.startswith(PREFIX))
        file.write(f"{labels} {text}\n")


WRITERS = {"csv": as_csv, "fasttext": as_fasttext, "jsonl": as_jsonl}


def answers_as_jsonl(file: TextIO, answers: Iterable[Answer], kind: str) -> None:
    """Write an object a sample, of pairs of (line, pairs of label and score)."""
    for line, found in answers:
        labels = [{"label": label, kind: round(score, 6)} for label, score in found]
        json.dump({"line": line, "labels": labels}, file, ensure_ascii=False)
        file.write("\n")


def answers_as_csv(file: TextIO, answers: Iterable[Answer], kind: str) -> None:
    """Write a header and a line for each label of each sample."""
    writer = csv.writer(file)
    writer.writerow(["line", "rank", "label", kind])
    for line, found in answers:
        for rank, (label, score) in enumerate(found, 1):
            writer.writerow([line, rank, label, f"{score:.6g}"])


ANSWER_WRITERS = {"jsonl": answers_as_jsonl, "csv": answers_as_csv}
