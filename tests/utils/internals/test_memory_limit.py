"""Memory limits from the system, from control groups and from the environment."""

import pytest

from sklearn_xc.utils import _memory_limit
from sklearn_xc.utils._memory_limit import (
    VARIABLE,
    memory_available,
    memory_limit,
    require_memory,
)

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A made-up /proc and /sys with 8 GiB available and no control groups."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    monkeypatch.setattr(_memory_limit, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory_limit, "OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(_memory_limit, "CGROUP_ROOT", tmp_path / "fs")
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_half_of_what_is_available(system):
    assert memory_available() == 8 * GIB
    assert memory_limit() == 4 * GIB


@pytest.mark.parametrize(
    ("groups", "limits", "available"),
    [
        ("0::/\n", {"memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        ("0::/\n", {"memory.max": "max\n"}, 8 * GIB),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": f"{GIB}\n"}, GIB),
        ("0::/a\n", {"a/memory.max": f"{64 * GIB}\n"}, 8 * GIB),
        (
            "5:cpu:/\n4:memory,hugetlb:/box\n",
            {"memory/box/memory.limit_in_bytes": f"{3 * GIB}\n"},
            3 * GIB,
        ),
        ("4:memory:/gone\n", {"memory/memory.limit_in_bytes": f"{GIB}\n"}, GIB),
    ],
)
def test_control_groups_of_both_versions(system, groups, limits, available):
    write(system / "cgroup", groups)
    for path, text in limits.items():
        write(system / "fs" / path, text)
    assert memory_available() == available


def test_without_meminfo_the_physical_memory_counts(system, monkeypatch):
    monkeypatch.setattr(_memory_limit, "MEMINFO", system / "absent")
    monkeypatch.setattr(
        _memory_limit.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}.get
    )
    assert memory_available() == 40960


def test_nothing_is_refused_where_nothing_is_known(system, monkeypatch):
    monkeypatch.setattr(_memory_limit, "MEMINFO", system / "absent")
    monkeypatch.delattr(_memory_limit.os, "sysconf", raising=False)
    assert memory_available() is None
    assert memory_limit() is None
    assert require_memory(2**80, "everything", "think again") is None


def test_this_machine_has_memory():
    assert memory_available() > 0


def test_the_variable_sets_the_limit(system, monkeypatch):
    monkeypatch.setenv(VARIABLE, " 1000 ")
    assert memory_limit() == 1000
    assert require_memory(1000, "a table", "think again") is None
    with pytest.raises(MemoryError) as caught:
        require_memory(1001, "a table", "think again")
    message = str(caught.value)
    for part in ("a table would take 1,001 bytes", "limit of 1,000 bytes", VARIABLE, "think again"):
        assert part in message
    monkeypatch.setenv(VARIABLE, "")
    assert memory_limit() == 4 * GIB


@pytest.mark.parametrize("text", ["1e9", "-5", "4 GB", "lots"])
def test_the_variable_has_to_be_a_number(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=f"{VARIABLE}='{text}': must be a whole number of bytes"):
        memory_limit()
