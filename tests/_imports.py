"""Which rooms, modules and kernels import which, read from the source tree."""

import ast
import functools
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sklearn_xc"
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
                continue
            target = f"{source}.{member}"
            while target not in modules and "." in target:  # a kernel: its folder
                target = target.rpartition(".")[0]
            if target in modules:
                yield target


@functools.cache
def python_arrows():
    modules = python_modules()
    return {
        name: {other for other in imported_by(name, path, modules) if other != name}
        for name, path in modules.items()
    }


@functools.cache
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


def floors(arrows):
    """Name -> floor: 0 for what imports nothing, else one above the highest that it imports."""
    found = {}

    def floor(name):
        if name not in found:
            found[name] = 1 + max(map(floor, arrows.get(name, ())), default=-1)
        return found[name]

    for name in arrows:
        floor(name)
    return found
