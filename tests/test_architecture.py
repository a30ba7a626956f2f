"""Arrows go down only: rooms, modules and kernels import without circles, and no method another."""

import re

import pytest
from _imports import (
    FACE,
    PACKAGE,
    by_room,
    circle,
    floors,
    kernel_arrows,
    kernel_room,
    python_arrows,
    python_room,
)

import sklearn_xc
from sklearn_xc.cli._main import COMMANDS

# What an estimator of its own lives in; everything else is shared by them.
METHODS = {
    cls.__module__.split(".")[1]
    for cls in vars(sklearn_xc).values()
    if isinstance(cls, type) and hasattr(cls, "get_params")
} - {"meta", "stacking"}  # wrappers stand above the methods, which are their defaults
PROGRAMS = {"cli", "serve", "__main__"}  # at the top: they import what they need, nobody them
CONSTANT = re.compile(r"^ *(?:cdef \w+ )?([A-Z][A-Z_0-9]+) = ([^#\n]+)", re.MULTILINE)


def test_methods_are_found():
    assert {"ppdsparse", "memoir", "ldgs", "word_embedding"} < METHODS
    assert {"augment_reduce", "implicit_softmax"} < METHODS


def test_nothing_imports_the_face_of_the_package():
    assert [name for name, others in python_arrows().items() if FACE in others] == []


@pytest.mark.parametrize(
    "arrows",
    [
        python_arrows,
        lambda: by_room(python_arrows(), python_room),
        kernel_arrows,
        lambda: by_room(kernel_arrows(), kernel_room),
    ],
    ids=["modules", "rooms", "kernels", "rooms of kernels"],
)
def test_there_is_no_circle(arrows):
    assert len(arrows()) > 5
    assert circle(arrows()) is None


def test_a_circle_would_be_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_shared_rooms_and_methods_import_no_method():
    """But for word vectors, which train on LDGS's candidates, and a wrapper's default."""
    rooms = {
        room: to
        for room, to in by_room(python_arrows(), python_room).items()
        if room not in PROGRAMS
    }
    allowed = {("word_embedding", "ldgs"), ("meta", "ppdsparse")}
    allowed |= {("stacking", method) for method in ("ppdsparse", "memoir", "neighbors")}
    arrows = {(room, other) for room, others in rooms.items() for other in others & METHODS}
    assert arrows - allowed == set()


def test_the_command_line_is_short_and_has_a_module_a_command():
    modules = sorted((PACKAGE / "cli").glob("*.py"))
    assert sum(len(module.read_text().splitlines()) for module in modules) <= 700
    shared = {"_main", "_model", "_options", "__init__"}
    commands = {module.__name__.rpartition(".")[2] for module in COMMANDS}
    assert {module.stem for module in modules} == commands | shared


def test_nothing_imports_the_programs_but_one_another():
    rooms = by_room(python_arrows(), python_room)
    assert {room for room, to in rooms.items() if to & PROGRAMS} <= PROGRAMS


def test_kernels_need_common_ones_only():
    """The two softmax methods also those that they share."""
    shared = {"augment_reduce": {"softmax"}, "implicit_softmax": {"softmax"}}
    for room, others in by_room(kernel_arrows(), kernel_room).items():
        assert others <= {"common"} | shared.get(room, set()), room


def test_one_kernel_file_knows_one_loss_of_ppdsparse_from_another():
    files = (PACKAGE / "_kernels" / "ppdsparse").iterdir()
    sources = [path for path in files if path.suffix in {".pyx", ".pxd", ".h"}]
    assert [path.name for path in sources if "hinge" in path.read_text()] == ["_losses.pxd"]


def test_constants_of_one_name_have_one_value_in_the_kernels_of_ppdsparse():
    values = {}
    for path in (PACKAGE / "_kernels" / "ppdsparse").glob("*.p[yx]*"):
        for name, value in CONSTANT.findall(path.read_text()):
            values.setdefault(name, set()).add(value.strip())
    assert len(values) > 40
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


def test_the_page_of_the_ppdsparse_solver_names_all_its_kernels():
    page = (PACKAGE.parent / "doc/development/ppdsparse_solver.rst").read_text()
    kernels = {path.stem for path in (PACKAGE / "_kernels" / "ppdsparse").glob("*.pyx")}
    assert kernels - set(re.findall(r"``(_\w+)``", page)) == set()


def test_rooms_mirror_one_another():
    """Each folder of kernels has a folder of Python that calls them."""
    folders = {path.name for path in (PACKAGE / "_kernels").iterdir() if path.is_dir()}
    python = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders - {"__pycache__", "common"} <= python


def test_floors():
    assert floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 2, "b": 1, "c": 0}


def test_files_that_the_guide_names_are_there():
    root = PACKAGE.parent
    text = (root / "doc/development/contributing.rst").read_text()
    paths = re.findall(r"``((?:sklearn_xc|tests|doc|benchmarks)/[\w/.]+)``", text)
    assert len(paths) > 15
    assert [path for path in paths if not (root / path).exists()] == []
