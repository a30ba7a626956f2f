"""Texts that are no XC format, and damaged files: each error says where and what."""

import numpy as np
import pytest
from _xc_texts import COMPRESS, data_sets, load_text, one_folder
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc.datasets import dump_xc, load_xc

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected the header 'N D K', found nothing"),
        ("\n", 1, "expected the header 'N D K', found nothing"),
        ("1 2\n", 1, "expected the header 'N D K' of three whole numbers, found '1 2'"),
        ("1 2 3 4\n", 1, "found '1 2 3 4'"),
        ("1 -2 3\n", 1, "found '1 -2 3'"),
        ("0 0:1\n", 1, "found '0 0:1'"),
        ("1 3000000000 3\n", 1, "D=3000000000 is too large, indices of 32 bits allow 2147483647"),
        ("1 3 3000000000\n", 1, "K=3000000000 is too large"),
        ("1 2 2\nx 0:1\n", 2, "'x' is not a list of labels"),
        ("1 2 2\n-1 0:1\n", 2, "'-1' is not a list of labels"),
        ("1 2 2\n0, 0:1\n", 2, "'0,' is not a list of labels"),
        ("1 2 2\n0,,1 0:1\n", 2, "'0,,1' is not a list of labels"),
        ("1 2 2\n1.0 0:1\n", 2, "'1.0' is not a list of labels"),
        ("1 2 2\n0:1 1:1\n", 2, "a row without labels starts with a space"),
        ("2 2 2\n1\n1,2 0:1\n", 3, "a label of '1,2' is out of range, the header allows 0 to 1"),
        ("1 2 2\n99999999999999999999999\n", 2, "is out of range, the header allows 0 to 1"),
        ("1 2 2\n0 2:1\n", 2, "the feature of '2:1' is out of range, the header allows 0 to 1"),
        ("1 2 2\n0 18446744073709551617:1\n", 2, "is out of range, the header allows 0 to 1"),
        ("1 2 2\n0 -1:1\n", 2, "'-1:1' is not a pair feature:value"),
        ("1 2 2\n0 a:1\n", 2, "'a:1' is not a pair feature:value"),
        ("1 2 2\n0 :1\n", 2, "':1' is not a pair feature:value"),
        ("1 2 2\n0 1.0:1\n", 2, "'1.0:1' is not a pair feature:value"),
        ("1 2 2\n0 1:1\r 0:1\n", 2, r"'\\r' is not a pair feature:value"),
        ("1 2 2\n0 1\n", 2, "'1' has no colon, expected feature:value"),
        ("1 2 2\n0 1 :5\n", 2, "'1' has no colon, expected feature:value"),
        ("1 2 2\n0 1:\n", 2, "the value of '1:' is not a decimal number"),
        ("1 2 2\n0 1:two\n", 2, "the value of '1:two' is not a decimal number"),
        ("1 2 2\n0 1:0x10\n", 2, "the value of '1:0x10' is not a decimal number"),
        ("1 2 2\n0 1:1_0\n", 2, "the value of '1:1_0' is not a decimal number"),
        ("1 2 2\n0 1:.\n", 2, "the value of '1:.' is not a decimal number"),
        ("1 2 2\n0 1:1e\n", 2, "the value of '1:1e' is not a decimal number"),
        ("1 2 2\n0 1:1e+\n", 2, "the value of '1:1e+' is not a decimal number"),
        ("1 2 2\n0 1:--1\n", 2, "the value of '1:--1' is not a decimal number"),
        ("1 2 2\n0 1:1,5\n", 2, "the value of '1:1,5' is not a decimal number"),
        ("1 2 2\n0 1:2:3\n", 2, "the value of '1:2:3' is not a decimal number"),
        ("1 2 2\n0 1:nan\n", 2, "the value of '1:nan' is not a decimal number"),
        ("1 2 2\n0 1:-inf\n", 2, "the value of '1:-inf' is not a decimal number"),
        ("2 2 2\n0\n0 0:1 1:1e39\n", 3, "the value '1e39' is too large for float32"),
        ("1 2 2\n0 1:1e9999999999999\n", 2, "the value '1e9999999999999' is too large"),
        ("1 2 2\n0 0:3e38 0:3e38\n", 2, "values of one feature add up to more than float32"),
        ("1 2 2\n0 1:" + "1" * 101 + "\n", 2, "has more than 100 characters"),
        ("1 2 2\n0 1:1\0\n", 2, r"the value of '1:1\x00' is not a decimal number"),
        (b"1 2 2\n0 1:\xff\xfe\n", 2, r"the value of '1:\xff\xfe' is not a decimal number"),
        ("3 2 2\n0\n1\n", 4, "the file ends after 2 rows, the header says N=3 (truncated?)"),
        ("1 2 2\n0\n1 0:1\n", 3, "the header says N=1 rows, here is another: '1 0:1'"),
        ("0 2 2\n\n", 2, "the header says N=0 rows, here is another: ''"),
    ],
)
def test_errors_say_where_and_what(tmp_path, text, line, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011, the text is compared below
        load_text(tmp_path, text)
    start = f"{tmp_path / 'data.txt'}, line {line}: "
    assert str(error.value).startswith(start)
    assert message.replace(r"\\", "\\") in str(error.value)


def test_error_far_into_the_file(tmp_path):
    rows = ["0 0:1"] * 300_000
    rows[222_222] = "0 0:one"
    with pytest.raises(ValueError, match="line 222224: the value of '0:one'"):
        load_text(tmp_path, "\n".join(["300000 1 1", *rows]))


def test_errors_cut_long_content(tmp_path):
    with pytest.raises(ValueError, match=r"'x{60}'\.\.\. is not a list of labels") as error:
        load_text(tmp_path, "1 2 2\n" + "x" * 100_000)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", ["truncated", "another format", "scrambled"])
def test_damaged_compressed_data(tmp_path, ending, damage):
    whole = COMPRESS[ending](b"1000 9 9\n" + b"0 1:2\n" * 1000)
    half = len(whole) // 2
    data = {
        "truncated": whole[:half],
        "another format": b"1 2 2\n0 1:1\n",
        "scrambled": whole[:half] + bytes(255 - byte for byte in whole[half:]),
    }[damage]
    path = tmp_path / f"data{ending}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"data{ending}: damaged"):
        load_xc(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_xc(tmp_path / "nowhere.txt")


def loads_or_raises_value_error(folder, text):
    try:
        X, Y = load_text(folder, text)
    except ValueError:
        return
    n_rows, n_features, n_classes = map(int, text.split(b"\n")[0].split())
    assert (X.shape, Y.shape) == ((n_rows, n_features), (n_rows, n_classes))
    assert np.isfinite(X.data).all()
    for matrix in (X, Y):
        matrix.check_format(full_check=True)


@one_folder
@given(rows=st.binary(max_size=200), header=st.sampled_from([b"", b"2 3 4\n", b"1 1 1\n"]))
def test_any_bytes(tmp_path, rows, header):
    loads_or_raises_value_error(tmp_path, header + rows)


@one_folder
@given(rows=st.text("0123456789:,.-+eE \t\r\n", max_size=80), n_rows=st.integers(0, 3))
def test_any_bytes_of_the_format(tmp_path, rows, n_rows):
    loads_or_raises_value_error(tmp_path, f"{n_rows} 12 12\n{rows}".encode())


@one_folder
@given(data=data_sets(), edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3))))
def test_damaged_files(tmp_path, data, edits):
    path = tmp_path / "data.txt"
    dump_xc(path, *data)
    text = bytearray(path.read_bytes())
    for where, replacement in edits:
        at = int(where * len(text))
        text[at : at + len(replacement) or at + 1] = replacement
    loads_or_raises_value_error(tmp_path, bytes(text))
