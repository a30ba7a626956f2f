"""Modules that ask whether weights are sparse or dense, read from the source tree.

``python tests/_weight_forms.py`` prints them with the lines.
"""

import ast
import re

from _imports import PACKAGE

WEIGHTS = {"coef", "coef_", "weights", "W"}  # what weights are called
QUESTIONS = {"issparse", "isspmatrix", "is_sparse", "are_weights"}
KINDS = re.compile(r"ndarray|sparray|spmatrix|\w+_(array|matrix)\b")
ATTRIBUTES = {"format", "toarray", "todense", "tocsr", "indptr"}  # of one form only, or by its name


def name_of(node):
    """Return the last part of a name, as ``coef_`` of ``self.coef_``; None of anything else."""
    return getattr(node, "attr", None) or getattr(node, "id", None)


def asks(node):
    """Return whether an expression asks for the form of weights."""
    if isinstance(node, ast.Attribute):
        return node.attr == "format" and name_of(node.value) in WEIGHTS
    if not isinstance(node, ast.Call) or not node.args or name_of(node.args[0]) not in WEIGHTS:
        return False
    function, others = name_of(node.func), " ".join(map(ast.unparse, node.args[1:]))
    if function in ("hasattr", "getattr"):
        return any(repr(name) in others for name in ATTRIBUTES)
    if function == "isinstance":
        return KINDS.search(others) is not None
    return function == "type" or function in QUESTIONS


def questions(text):
    """Return the lines of a source that ask for the form of weights."""
    return [node.lineno for node in ast.walk(ast.parse(text)) if asks(node)]


def askers():
    """Return the modules that ask, each with its lines."""
    files = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    lines = {name: questions(path.read_text()) for name, path in sorted(files.items())}
    return {name: found for name, found in lines.items() if found}


if __name__ == "__main__":
    print(*(f"{name}: {lines}" for name, lines in askers().items()), sep="\n")
