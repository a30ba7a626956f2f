"""Arrows go down only: rooms, modules and kernels import without circles, and no method another."""

import ast
import re
from pathlib import Path

import pytest

import sklearn_xc

PACKAGE = Path(__file__).resolve().parents[1] / "sklearn_xc"
# What an estimator of its own lives in; everything else is shared by them.
METHODS = {
    cls.__module__.split(".")[1]
    for cls in vars(sklearn_xc).values()
    if isinstance(cls, type) and hasattr(cls, "get_params")
} - {"meta"}  # the wrappers stand above the methods: one of them is their default
FACE = "sklearn_xc"


def python_modules():
    """Dotted name -> path, packages by the name of their folder."""
    return {
        ".".join(("sklearn_xc", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
    }


def imported_by(name, path, modules):
    """The modules of the package that a module imports, anywhere in its text.

    A name from a package is followed to the module of that name where there is one; the package
    itself is imported too, unless the importer is inside it.
    """
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            targets = [(source, alias.name) for alias in node.names]
        else:
            continue
        for source, member in targets:
            if source == FACE and f"{source}.{member}" not in modules:
                yield FACE
            elif f"{source}.{member}" in modules:
                yield f"{source}.{member}"
            elif source in modules:
                yield source


def python_arrows():
    modules = python_modules()
    return {
        name: {other for other in imported_by(name, path, modules) if other != name}
        for name, path in modules.items()
    }


def kernel_arrows():
    """Kernel -> kernels that its ``.pyx`` and ``.pxd`` import; an own ``.pxd`` is no arrow."""
    root = PACKAGE / "_kernels"
    arrows = {}
    for path in sorted([*root.glob("*/*.pyx"), *root.glob("*/*.pxd")]):
        name = f"{path.parent.name}.{path.stem}"
        found = re.findall(r"sklearn_xc\._kernels\.(\w+\.\w+) c?import", path.read_text())
        arrows.setdefault(name, set()).update(set(found) - {name})
    return arrows


def by_room(arrows, room_of):
    rooms = {}
    for name, others in arrows.items():
        rooms.setdefault(room_of(name), set()).update(
            room_of(other) for other in others if room_of(other) != room_of(name)
        )
    return rooms


def circle(arrows):
    """Names that import one another in a ring, first and last the same; None if there are none."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return None
        way.append(name)
        found = next(filter(None, map(visit, sorted(arrows.get(name, ())))), None)
        way.pop()
        done.add(name)
        return found

    return next(filter(None, map(visit, sorted(arrows))), None)


def python_room(name):
    return (name.split(".") + [""])[1]


def kernel_room(name):
    return name.split(".")[0]


ARROWS = python_arrows()
KERNEL_ARROWS = kernel_arrows()


def test_methods_are_found():
    assert {"ppdsparse", "memoir", "ldgs", "word_embedding"} < METHODS
    assert {"augment_reduce", "implicit_softmax"} < METHODS


def test_nothing_imports_the_face_of_the_package():
    assert [name for name, others in ARROWS.items() if FACE in others] == []


@pytest.mark.parametrize(
    "arrows",
    [
        ARROWS,
        by_room(ARROWS, python_room),
        KERNEL_ARROWS,
        by_room(KERNEL_ARROWS, kernel_room),
    ],
    ids=["modules", "rooms", "kernels", "rooms of kernels"],
)
def test_there_is_no_circle(arrows):
    assert len(arrows) > 5
    assert circle(arrows) is None


def test_a_circle_would_be_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_shared_rooms_and_methods_import_no_method():
    """But for word vectors, which train on LDGS's candidates, and a wrapper's default."""
    rooms = by_room(ARROWS, python_room)
    allowed = {("word_embedding", "ldgs"), ("meta", "ppdsparse")}
    arrows = {(room, other) for room, others in rooms.items() for other in others & METHODS}
    assert arrows - allowed == set()


def test_kernels_need_common_ones_only():
    """The two softmax methods also those that they share."""
    shared = {"augment_reduce": {"softmax"}, "implicit_softmax": {"softmax"}}
    for room, others in by_room(KERNEL_ARROWS, kernel_room).items():
        assert others <= {"common"} | shared.get(room, set()), room


def test_rooms_mirror_one_another():
    """Each folder of kernels has a folder of Python that calls them."""
    folders = {path.name for path in (PACKAGE / "_kernels").iterdir() if path.is_dir()}
    python = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders - {"__pycache__", "common"} <= python
