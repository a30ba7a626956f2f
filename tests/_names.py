"""Names of classes, and functions that work on objects of another file, read from the source."""

import ast
from collections import defaultdict

from _imports import PACKAGE


def _modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())


def classes():
    """Return the files that define a class of each name."""
    found = defaultdict(list)
    for file, tree in _modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(file)
    return found


def exiles():
    """Find functions outside of classes that assign attributes of their first argument."""
    return {
        f"{file}: {node.name}"
        for file, tree in _modules()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.args.args and assigns_first(node)
    }


def assigns_first(function):
    """Return whether a function assigns, or deletes, an attribute of its first argument."""
    first = function.args.args[0].arg
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if isinstance(node.value, ast.Name) and node.value.id == first:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == first
            if node.func.id in ("setattr", "delattr") and named:
                return True
    return False
