"""The XC text format: round trips, every error, and bytes that are no such file."""

import gzip
from fractions import Fraction
from math import frexp

import numpy as np
import pytest
import scipy.sparse as sp
from _xc_texts import COMPRESS, data_sets, load_text, one_folder
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc.datasets import dump_xc, load_xc, make_xc_classification

pytestmark = pytest.mark.kernel


def load_value(folder, number):
    X, _ = load_text(folder, f"1 1 1\n0 0:{number}\n")
    return X.data[0]


def nearest_float32(exact):
    """Reference: round a Fraction to 24 bits, half to even."""
    if exact == 0:
        return np.float32(0)
    exponent = max(frexp(float(exact))[1] - 24, -149)
    unit = Fraction(2) ** exponent
    if abs(round(exact / unit)) > 1 << 24:  # float() may have rounded up to a power of two
        unit *= 2
    return np.float32(float(round(exact / unit) * unit))


def assert_same(A, B):
    assert A.shape == B.shape
    np.testing.assert_array_equal(A.indptr, B.indptr)
    np.testing.assert_array_equal(A.indices, B.indices)
    assert A.data.tobytes() == B.data.tobytes()  # bit by bit: -0.0 is not 0.0


@pytest.mark.parametrize("ending", COMPRESS)
def test_endings(tmp_path, ending):
    text = b"3 4 5\n0,4 0:0.5 3:-2e1\n 1:7\n2\n"
    path = tmp_path / f"data.txt{ending}"
    path.write_bytes(COMPRESS[ending](text))
    X, Y = load_xc(str(path))
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, 0, -20], [0, 7, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(Y.toarray(), [[1, 0, 0, 0, 1], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]])
    assert (X.dtype, X.indices.dtype, Y.dtype) == (np.float32, np.int32, np.int32)
    dump_xc(path, X, Y)
    for A, B in zip((X, Y), load_xc(path), strict=True):
        assert_same(A, B)


@one_folder
@given(data=data_sets())
def test_round_trip(tmp_path, data):
    path = tmp_path / "data.txt"
    dump_xc(path, *data)
    for A, B in zip(data, load_xc(path), strict=True):
        assert_same(A, B)


@pytest.mark.full
def test_round_trip_over_many_pieces(tmp_path):
    """A file of several megabytes is read in pieces whose ends fall anywhere in a row."""
    X = sp.random(20_000, 1000, 0.01, "csr", np.float32, random_state=0)
    Y = sp.random(20_000, 300, 0.01, "csr", random_state=1).astype(bool)
    path = tmp_path / "data.txt"
    dump_xc(path, X, Y)
    assert path.stat().st_size > 2 << 20
    X_read, Y_read = load_xc(path)
    assert_same(X_read, X)
    assert_same(Y_read, Y.astype(np.int32))


def test_line_longer_than_a_piece(tmp_path):
    n = 400_000
    pairs = " ".join(f"{j}:1" for j in range(n))
    X, Y = load_text(tmp_path, f"2 {n} 2\n1 {pairs}\n0\n")
    assert X.nnz == n
    np.testing.assert_array_equal(Y.toarray(), [[0, 1], [1, 0]])


@one_folder
@given(
    number=st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})", fullmatch=True),
    exponent=st.none() | st.integers(-50, 12),
)
def test_value_is_the_nearest_float32(tmp_path, number, exponent):
    text = number if exponent is None else f"{number}e{exponent}"
    assert load_value(tmp_path, text) == nearest_float32(Fraction(text))


@one_folder
@given(
    low=st.floats(2**-14, 2**20, width=32),
    nudge=st.sampled_from(["", "0001"]),
    below=st.booleans(),
)
def test_rounding_next_to_a_midpoint(tmp_path, low, nudge, below):
    """Where rounding to double precision on the way gives the wrong neighbour."""
    high = float(np.nextafter(np.float32(low), np.float32(np.inf)))
    midpoint = (low + high) / 2  # exact
    digits = f"{midpoint:.40f}"  # all of them: the last bit is 2 ** -38 at least
    text = digits + nudge
    if below and nudge:
        text = f"{int(digits.replace('.', '') + '0' * len(nudge)) - 1}e-{40 + len(nudge)}"
    value = load_value(tmp_path, text)
    assert value == nearest_float32(Fraction(text))
    if nudge:
        assert value == (low if below else high)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("-0", -0.0),
        ("5.", 5),
        (".5", 0.5),
        ("1E3", 1000),
        ("1e-46", 0.0),
        ("1e-99999999999999999999", 0.0),
        ("1e-45", 1e-45),
        ("1.1754942e-38", 1.1754942e-38),
        ("3.4028235e38", 3.4028235e38),
        ("16777217", 16777216),
        ("16777219", 16777220),
        ("0." + "0" * 60 + "1e60", 0.1),
    ],
)
def test_particular_values(tmp_path, number, value):
    read = load_value(tmp_path, number)
    assert read == np.float32(value)
    assert np.signbit(read) == np.signbit(value)


@pytest.mark.parametrize(
    ("text", "X", "Y"),
    [
        ("0 3 2\n", np.zeros((0, 3)), np.zeros((0, 2))),
        ("0 3 2", np.zeros((0, 3)), np.zeros((0, 2))),
        ("2 0 0\n\n\n", np.zeros((2, 0)), np.zeros((2, 0))),
        ("1 2 2\n1 1:3", [[0, 3]], [[0, 1]]),
        ("2 2 2\r\n1 1:3\r\n 0:1 \r\n", [[0, 3], [1, 0]], [[0, 1], [0, 0]]),
        ("1 2 2\n0,1\t1:3   0:2\t\n", [[2, 3]], [[1, 1]]),
        ("1 2 3\n2,0,2 1:1 0:4 1:2\n", [[4, 3]], [[1, 0, 1]]),
        ("2 2 2\n\n0\n", np.zeros((2, 2)), [[0, 0], [1, 0]]),
        (" 1  2 1 \n000 01:1\n", [[0, 1]], [[1]]),
    ],
    ids=[
        "no rows",
        "no newline after the header",
        "no columns",
        "no newline at the end",
        "line ends of Windows",
        "tabs and repeated spaces",
        "duplicates and disorder",
        "empty row",
        "leading zeros",
    ],
)
def test_accepted(tmp_path, text, X, Y):
    X_read, Y_read = load_text(tmp_path, text)
    np.testing.assert_array_equal(X_read.toarray(), X)
    np.testing.assert_array_equal(Y_read.toarray(), Y)
    assert X_read.has_canonical_format
    assert Y_read.has_canonical_format
    assert set(Y_read.data) <= {1}


def test_label_named_256_times(tmp_path):
    """The sum of as many ones is 0 in uint8."""
    _, Y = load_text(tmp_path, "1 1 1\n" + ",".join(["0"] * 256) + "\n")
    np.testing.assert_array_equal(Y.toarray(), [[1]])


def test_what_is_computed_with_an_indicator_does_not_overflow(tmp_path):
    _, loaded = load_text(tmp_path, "300 1 3\n" + "0,2\n" * 299 + "0\n")
    _, made = make_xc_classification(3000, n_features=50, n_classes=4, n_labels=2.0, random_state=0)
    assert (loaded.T @ loaded).toarray().tolist() == [[300, 0, 299], [0, 0, 0], [299, 0, 299]]
    for Y in loaded, made:
        counts = Y.toarray().astype(np.int64)
        assert (Y.T @ Y).max() == (counts.T @ counts).max() > 255
        frequency = np.asarray(Y.sum(axis=0)).ravel()
        assert np.argsort(-frequency, kind="stable")[0] == np.argmax(counts.sum(axis=0))
        np.testing.assert_array_equal(-frequency, -counts.sum(axis=0))
        np.testing.assert_array_equal((Y - Y[::-1]).toarray(), counts - counts[::-1])


def test_stored_zero_stays(tmp_path):
    X, _ = load_text(tmp_path, "1 2 1\n0 1:0\n")
    assert X.nnz == 1


def test_dump_writes_the_shortest_text(tmp_path):
    path = tmp_path / "data.txt"
    dump_xc(path, np.array([[0.1, 1, 0], [0, 1e20, -0.25]], np.float32), [[1, 0], [0, 0]])
    assert path.read_text() == "2 3 2\n0 0:0.1 1:1\n 1:1e+20 2:-0.25\n"


@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, lambda a: a.tolist()]
)
def test_dump_containers(tmp_path, container):
    path = tmp_path / "data.txt"
    X, Y = np.array([[0.0, 2, 0], [0, 0, 3]]), np.array([[True, True], [False, True]])
    dump_xc(path, container(X), container(Y))
    for read, written in zip(load_xc(path), (X, Y), strict=True):
        np.testing.assert_array_equal(read.toarray(), written)


def test_dump_leaves_its_input_alone(tmp_path):
    data, indices, indptr = np.array([1.0, 2, 3]), np.array([1, 0, 1]), np.array([0, 3])
    X = sp.csr_matrix((data, indices, indptr), shape=(1, 2))
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    dump_xc(tmp_path / "data.txt", X, [[1]])
    assert (tmp_path / "data.txt").read_text() == "1 2 1\n0 0:2 1:4\n"
    np.testing.assert_array_equal(X.indices, [1, 0, 1])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0], [2.0]], [[1]], "X has 2 samples and Y has 1"),
        ([1.0, 2.0], [[1], [0]], r"X must be two-dimensional, it has shape \(2,\)"),
        ([[1.0]], [1], r"Y must be two-dimensional, it has shape \(1,\)"),
        ([[np.nan]], [[1]], "X has NaN, infinite or too large values"),
        ([[np.inf]], [[1]], "X has NaN, infinite or too large values"),
        ([[1e39]], [[1]], "X has NaN, infinite or too large values"),
        ([[1.0]], [[2]], "Y must be a label indicator of entries 0 and 1, it has 2"),
        ([[1.0]], [[0.5]], "Y must be a label indicator of entries 0 and 1, it has 0.5"),
    ],
)
def test_dump_refuses(tmp_path, X, Y, message):
    path = tmp_path / "data.txt"
    with pytest.raises(ValueError, match=message):
        dump_xc(path, X, Y)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "shape", "n_unlabelled"),
    [("delicious", (12920, 500, 983), 10), ("bibtex", (4880, 1836, 159), 0)],
)
def test_shared_data(data_folder, name, shape, n_unlabelled):
    X, Y = load_xc(data_folder / name / "train.txt.xz")
    assert (*X.shape, Y.shape[1]) == shape
    assert np.sum(np.diff(Y.indptr) == 0) == n_unlabelled


# ------------------------------------------------------------------------------ what is bounded


def test_a_line_without_end_is_refused_at_once(tmp_path):
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"0" * 2**20)
    with pytest.raises(ValueError, match=r"bomb.txt.gz: a line has more than \d+ bytes"):
        load_xc(path)
    with gzip.open(path, "wb") as file:
        file.write(b"1 10 10\n0 ")
        for _ in range(64):
            file.write(b"1:1 " * 2**18)
    with pytest.raises(ValueError, match=r"a line has more than \d+ bytes and begins with '0 1:1"):
        load_xc(path)


def test_more_than_memory_is_refused_by_the_header(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "10_000_000".replace("_", ""))
    path = tmp_path / "large.txt"
    path.write_bytes(b"1000000 10 10\n" + b"\n" * 10**6)
    with pytest.raises(MemoryError, match=r"large.txt: X and Y would take more than"):
        load_xc(path)
    path.write_bytes(b"100000 10 10\n" + b"0 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1\n" * 10**5)
    with pytest.raises(MemoryError, match="SKLEARN_XC_MEMORY_LIMIT"):
        load_xc(path)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "100000000")
    assert load_xc(path)[0].nnz == 9 * 10**5


# ------------------------------------------------------------------- files as others write them


def test_files_without_a_header(tmp_path):
    """As LIBSVM has them: several labels a row, features from 1."""
    path = tmp_path / "rows.txt"
    path.write_text("0,2 1:0.5 4:2\n 2:1\n1\n\n3 4:1e1")
    X, Y = load_xc(path, header=False)
    assert X.toarray().tolist() == [
        [0.5, 0, 0, 2],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 10],
    ]
    assert Y.toarray().tolist() == [
        [1, 0, 1, 0],
        [0, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
    ]
    path.write_text("0 0:0.5 3:2\n1 1:1\n")
    assert load_xc(path, header=False)[0].toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0]]
    with pytest.raises(ValueError, match=r"line 1: expected the header.*header=False"):
        load_xc(path)
    path.write_text("0 0:0.5\n1 a:1\n")
    with pytest.raises(ValueError, match=r"line 2: .*'a:1'"):
        load_xc(path, header=False)
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        load_xc(path, header=False)
    with pytest.raises(ValueError, match="without `to`"):
        load_xc(path, header=False, to=tmp_path / "folder")


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"\xef\xbb\xbf1 2 2\n1 0:1\n")
    assert load_xc(path)[0].toarray().tolist() == [[1, 0]]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "rows.txt"
    dump_xc(path, [[1.0]], [[1]])
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr("sklearn_xc.datasets._xc_format._rows_as_text", fail)
    with pytest.raises(OSError, match="no space"):
        dump_xc(path, [[2.0]], [[1]])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["rows.txt"]
