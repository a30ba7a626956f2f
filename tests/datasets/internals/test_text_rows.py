"""Files of texts and labels: CSV, TSV, JSON lines, lines; errors name file and line."""

import bz2
import csv
import gzip
import json
import lzma

import numpy as np
import pytest

from sklearn_xc.datasets import _text_rows
from sklearn_xc.datasets._text_rows import Row, TextColumns, format_of, read, split

SEMICOLON = TextColumns(["title"], "tags", ";")


@pytest.fixture
def rows(tmp_path):
    """A function of content, name and columns that writes a file and reads its rows."""

    def call(content, name="a.csv", columns=SEMICOLON):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read(str(path), columns))

    return call


def test_columns_go_by_name_and_quotes_hold_commas_and_line_ends(rows):
    text = 'tags,other,title\na;b,1,"Soil, water"\nc,2,"two\nlines ""here"""\n,3,none\n'
    assert rows(text) == [
        Row(2, "Soil, water", ["a", "b"]),
        Row(3, 'two\nlines "here"', ["c"]),
        Row(5, "none", []),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends_are_no_part_of_it(rows, end):
    lines = ["\ufefftitle,tags", "one,a", "", "two,b; c ;;a"]
    found = rows(end.join(lines))
    assert [row[1:] for row in found] == [("one", ["a"]), ("two", ["b", "c", "a"])]
    assert [row.line for row in found] == [2, 4]


@pytest.mark.parametrize(
    ("cell", "separator", "labels"),
    [
        ("a;b", ";", ["a", "b"]),
        ("a;b", None, ["a;b"]),
        ('"Smith; John"; novels', ";", ["Smith; John", "novels"]),
        ('say ""yes"";b', ";", ['say ""yes""', "b"]),
        ('"say ""yes""";b', ";", ['say "yes"', "b"]),
        ('5" disks;b', ";", ['5" disks', "b"]),
        (" a ; a;", ";", ["a"]),
        ("", ";", []),
        (" ", None, []),
        ("a b", " ", ["a", "b"]),
    ],
)
def test_labels_of_a_cell(cell, separator, labels):
    assert split(cell, separator) == labels


def test_what_csv_writes_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array(list("ab ,;\"\n\r'é☃"))
    for seed in range(30):
        texts = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(5)]
        path = tmp_path / f"{seed}.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["title", "tags"], *([text, "x"] for text in texts)])
        assert [row.text for row in read(str(path), SEMICOLON)] == texts


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.csv.gz", gzip.compress), ("a.csv.bz2", bz2.compress), ("a.csv.xz", lzma.compress)],
)
def test_compressed_files_and_damaged_ones(rows, name, pack):
    packed = pack(b"title,tags\none,a\n" * 50)
    assert len(rows(packed, name)) == 99
    with pytest.raises(ValueError, match=rf"{name}, line \d+: cannot be read: "):
        rows(packed[: len(packed) - 12], name)


def test_tsv_takes_quotation_marks_as_letters_if_asked(rows):
    text = 'title\ttags\n"Heroes" of old\ta\n'
    with pytest.raises(ValueError, match=r"a.tsv, line 2: .* \(--no-quotes takes"):
        rows(text, "a.tsv")
    plain = TextColumns(["title"], "tags", quotes=False)
    assert rows(text, "a.tsv", plain)[0].text == '"Heroes" of old'


def test_without_a_header_columns_are_numbers(rows):
    found = rows("one\ta b\n", "a.tsv", TextColumns(["1"], "2", " ", header=False))
    assert found == [Row(1, "one", ["a", "b"])]


def test_json_lines(rows):
    lines = [
        {"title": "one", "tags": ["a; b", "c"]},
        {"title": "two", "tags": "a;b"},
        {"title": "three", "tags": None},
        {"title": "four", "tags": [3, "3"]},
    ]
    found = rows("\n".join(map(json.dumps, lines)) + "\n\n", "a.jsonl")
    assert [row.labels for row in found] == [["a; b", "c"], ["a", "b"], [], ["3"]]


def test_parquet(rows, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"title": ["one", "two", "three"], "tags": [np.array(["a", "b"]), ["c"], None]}
    )
    monkeypatch.setattr(pandas, "read_parquet", lambda path: frame)
    found = rows("", "a.parquet")
    assert found == [Row(1, "one", ["a", "b"]), Row(2, "two", ["c"]), Row(3, "three", [])]
    with pytest.raises(ValueError, match=r"a.parquet has no column 'name'; it has 'title', 'tags'"):
        rows("", "a.parquet", TextColumns(["name"]))


def test_lines_of_fasttext_and_plain_lines(rows, tmp_path):
    text = "__label__a __label__b how long\n__label__c why\n"
    found = rows(text, "a.txt", TextColumns([]))
    assert [row[1:] for row in found] == [("how long", ["a", "b"]), ("why", ["c"])]
    found = rows("one, two\r\n\nthree", "b.txt", TextColumns([]))
    assert [row.text for row in found] == ["one, two", "", "three"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("2 3 2\n0 1:1\n", "xc"),
        ("0,1 1:1\n", "libsvm"),
        ("a line of text\n", "lines"),
        ("__label__a b\n", "fasttext"),
        ("", "lines"),
    ],
)
def test_formats_by_the_first_line(tmp_path, content, kind):
    path = tmp_path / "a.txt"
    path.write_text(content)
    assert format_of(str(path), TextColumns([])) == kind


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("titel,tags\n", "a.csv", "a.csv has no column 'title'; it has 'titel', 'tags'"),
        ("title,title,tags\n", "a.csv", "a.csv has more than one column 'title'"),
        ("title,tags\none\n", "a.csv", "a.csv, line 2 has 1 fields, and the first line 2"),
        ('title,tags\n"one,a\n', "a.csv", "a.csv, line 2: unexpected end of data"),
        (
            'title,tags\none,"""a;b"\n',
            "a.csv",
            "a.csv, line 2: the labels .*: unexpected end of data",
        ),
        (b"title,tags\n\xff,a\n", "a.csv", "a.csv, line 2 is not UTF-8: .* at byte 1"),
        ("title,tags\n".encode("utf-16"), "a.csv", "a.csv is in UTF-16; write it in UTF-8"),
        ("{", "a.jsonl", "a.jsonl, line 1 is not JSON: "),
        ("[" * 10**5, "a.jsonl", "a.jsonl, line 1 is not JSON: "),
        ("[1]", "a.jsonl", "a.jsonl, line 1 is not an object of JSON"),
        ('{"tags": 1}', "a.jsonl", "a.jsonl, line 1 has no 'title'; it has 'tags'"),
        ('{"title": 1, "tags": 1}', "a.jsonl", "line 1: 'title' must be a text, got 1"),
        ('{"title": "", "tags": [{}]}', "a.jsonl", "line 1: 'tags' must hold texts or integers"),
        ("title\n", "a.dat", "a.dat: the ending names no format of columns; give --format"),
    ],
)
def test_errors_name_file_and_line(rows, content, name, message):
    with pytest.raises(ValueError, match=message):
        rows(content, name)


@pytest.fixture
def limit_of_fields():
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.mark.usefixtures("limit_of_fields")
def test_long_lines_are_refused(rows, monkeypatch):
    monkeypatch.setattr(_text_rows, "LONGEST", 1000)
    assert rows("title,tags\n" + "x" * 900 + ",a\n")[0].text == "x" * 900
    with pytest.raises(ValueError, match=r"a.csv, line 2 is longer than 1000 bytes"):
        rows("title,tags\n" + "x" * 2000 + ",a\n")
    with pytest.raises(ValueError, match=r"a.csv, line 2: field larger than field limit"):
        rows('title,tags\n"' + "x\n" * 2000 + '",a\n')


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n"])
def test_separators_are_one_character(separator):
    with pytest.raises(ValueError, match="--separator must be one character"):
        TextColumns(["title"], "tags", separator)


@pytest.mark.parametrize("given", [{"text": 3}, {"text": [3]}, {"text": ["a"], "labels": 3}])
def test_columns_of_a_forged_model_are_refused(given):
    with pytest.raises(ValueError, match="columns must be given by their names"):
        TextColumns(**given)
