"""The command line ``sklearn-xc``: one module a command.

`_main` has the parser and turns errors into a line and exit code 2; `_model` is shared by commands.
Each command has a text ``HELP``, ``add(command)`` for its options, and ``run(options)``.
"""

from ._main import main

__all__ = ["main"]
