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
    return any(_changes(node, first) for node in ast.walk(function))


CHANGES = "pop", "update", "setdefault", "clear"  # of a dict, here of attributes


def _changes(node, name):
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return _is(node.value, name)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return _is_vars(node.value, name)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in CHANGES and _is_vars(node.func.value, name)
    called = isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr")
    return called and bool(node.args) and _is(node.args[0], name)


def _is(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _is_vars(node, name):
    """Return whether an expression is ``vars(name)``."""
    called = isinstance(node, ast.Call) and _is(node.func, "vars")
    return called and bool(node.args) and _is(node.args[0], name)
