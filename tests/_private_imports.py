"""Imports of private modules by tests: ``python tests/_private_imports.py`` prints them."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
APART = {"internals", "oracles"}  # folders of tests that may go with what they test


def private_imports(root=TESTS):
    """Return file and line of the imports of private names, late ones too, outside of `APART`."""
    return [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in sorted(root.rglob("*.py"))
        if not APART & set(path.relative_to(root).parts)
        for node in ast.walk(ast.parse(path.read_text()))
        if is_private(node)
    ]


def is_private(node):
    """Return whether a statement imports a private name or module of the package."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return False
    return any(name.split(".")[0] == "sklearn_xc" and "._" in name for name in names)


if __name__ == "__main__":
    print(*private_imports(), sep="\n")
