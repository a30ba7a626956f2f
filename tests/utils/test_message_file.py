"""Objects whose arrays lie in a file that processes share."""

import os

import numpy as np
import pytest

from sklearn_xc.utils import _message_file
from sklearn_xc.utils._message_file import ElsewhereError, Message, written

pytestmark = pytest.mark.skipif(
    not os.path.exists(f"/proc/{os.getpid()}/fd"), reason="needs the open files of a process"
)
OBJECTS = (
    np.arange(5, dtype=np.float32), None, {"l1": 0.1}, np.empty(0, np.int64),
    np.arange(12).reshape(3, 4), "text", np.arange(10)[::2],
)  # fmt: skip


def assert_same(found, expected):
    for some, wanted in zip(found, expected, strict=True):
        assert type(some) is type(wanted)
        np.testing.assert_array_equal(some, wanted)


def test_what_is_read_is_what_was_written():
    with written(OBJECTS) as message:
        found = message.read()
        assert_same(found, OBJECTS)
        assert message.read() is found
        for array in found[0], found[4]:
            assert array.flags.aligned
            assert not array.flags.writeable
        assert len(message.head) < 1000
    assert found[0].sum() == 10  # what is mapped outlives the context


def test_mapped_arrays_are_not_copied_into_the_head(tmp_path):
    array = np.memmap(tmp_path / "array", np.float32, "w+", shape=10**5)
    with written((array,)) as message:
        assert len(message.head) < 1000
        assert_same(message.read(), (np.zeros(10**5, np.float32),))


def test_a_message_that_is_over_or_another_file(tmp_path):
    with written(OBJECTS) as message:
        path, token, head, places = message.path, message.token, message.head, message.places
        assert message.can_be_read()
        _message_file.forget()
        assert not Message(path, b"0" * 16, head, places).can_be_read()
    assert not message.can_be_read()
    (tmp_path / "empty").touch()
    for other in "empty", "nowhere":
        with pytest.raises(ElsewhereError, match=other):
            Message(str(tmp_path / other), token, head, places).read()


def test_a_full_disk_or_no_open_files_to_be_seen(monkeypatch):
    class Full:
        def fileno(self):
            return 0

        def write(self, values):
            raise OSError(28, "No space left on device")

    assert _message_file._write(Full(), OBJECTS) is None
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with written(OBJECTS) as message:
        assert message is None
