"""The command line ``sklearn-xc``: one module a command.

`_main` has the parser and turns errors into a line and exit code 2; `_options` and `_model` are
shared by commands. Each command has a text ``HELP``, a table ``OPTIONS``, and ``run(options)``.
"""

from ._main import main

__all__ = ["main"]
