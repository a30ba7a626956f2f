"""Sizes of the package's files and functions, in lines of code: ``python tests/_sizes.py`` prints.

Blank lines, comments and docstrings do not count: a limit on code must not shorten explanations.
"""

import ast
import functools
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sklearn_xc"
MOST_LINES = {".py": 350, ".pyx": 500, ".pxd": 500}  # of code, in a file
MOST_IN_FUNCTION = 60
MOST_ARGUMENTS = {".py": 10, ".pyx": 12, ".pxd": 12}
STRING = re.compile(r'\w?"""(?s:.)*?"""')
KERNEL_FUNCTION = re.compile(
    r"^(?P<indent> *)c?p?def (?!class|extern|enum|struct)[^=\n(]*?(?P<name>\w+)"
    r"\((?P<arguments>[^)]*)\)",
    re.MULTILINE,
)


def code_of(text):
    """Return the lines of code, without docstrings, comments and blank lines."""
    lines = (re.sub(r"(^|\s+)#( .*|$)", "", line) for line in STRING.sub("", text).splitlines())
    return [line for line in lines if line.strip()]


def python_functions(text):
    """Yield name, lines of code and number of arguments of each function.

    Parameters of an estimator are no arguments to hold in mind at a call: `__init__` has none.
    """
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            given = node.args
            arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            n_arguments = sum(a.arg not in ("self", "cls") for a in arguments)
            yield node.name, len(code_of(body)), 0 if node.name == "__init__" else n_arguments


def kernel_functions(text):
    """Yield the same of the functions of a kernel."""
    text = re.sub(r"\[[^\]\n]*\]", "", "\n".join(code_of(text)))
    for match in KERNEL_FUNCTION.finditer(text):
        rest = text[match.end() :].split("\n")
        inside = re.compile(rf"{match['indent']}( |\)|$)")
        body = next((i for i, line in enumerate(rest[1:]) if not inside.match(line)), len(rest))
        n_lines = match[0].count("\n") + 1 + body
        arguments = [a for a in match["arguments"].split(",") if a.strip() not in ("", "self")]
        yield match["name"], n_lines, len(arguments)


@functools.cache
def sizes():
    """Return path, ending, lines of code and functions of each file."""
    found = []
    for ending in MOST_LINES:
        for path in sorted(PACKAGE.rglob(f"*{ending}")):
            text = path.read_text()
            functions = list((python_functions if ending == ".py" else kernel_functions)(text))
            found.append((path.relative_to(PACKAGE), ending, len(code_of(text)), functions))
    return found


def beyond():
    """Return what exceeds a limit, as texts."""
    found = []
    for path, ending, n_lines, functions in sizes():
        if n_lines > MOST_LINES[ending]:
            found.append(f"{path}: {n_lines} lines of code")
        for name, length, n_arguments in functions:
            if length > MOST_IN_FUNCTION:
                found.append(f"{path}: {name} has {length} lines of code")
            if n_arguments > MOST_ARGUMENTS[ending]:
                found.append(f"{path}: {name} has {n_arguments} arguments")
    return found


def main():
    print("ending  files  lines  of code  longest file  longest function  most arguments")
    for ending in MOST_LINES:
        found = [size for size in sizes() if size[1] == ending]
        texts = [(PACKAGE / path).read_text() for path, *_ in found]
        functions = [function for *_, inside in found for function in inside]
        print(
            f"{ending:6} {len(found):6} {sum(text.count(chr(10)) for text in texts):6}"
            f" {sum(size[2] for size in found):8} {max(size[2] for size in found):13}"
            f" {max((f[1] for f in functions), default=0):17}"
            f" {max((f[2] for f in functions), default=0):15}"
        )
    print(*beyond(), sep="\n")


if __name__ == "__main__":
    main()
