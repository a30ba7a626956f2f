"""The parser, and what becomes of errors."""

import argparse
import os
import sys
import warnings
from contextlib import suppress

from .._version import __version__
from ..datasets._text_writers import require_other_file
from . import _add_labels, _convert, _evaluate, _explain, _info, _predict, _serve, _train, _tune

COMMANDS = _train, _evaluate, _predict, _explain, _tune, _add_labels, _info, _convert, _serve
# Errors of input, whose text says what is wrong; all others are ours, and show where they arose.
REFUSED = ValueError, TypeError, OSError, MemoryError, ImportError
DESCRIPTION = """\
Train, measure and use models with very many labels.

  sklearn-xc train titles.csv --text title --labels subjects --separator ";" -o tagger.sxc
  echo "a history of lighthouses" | sklearn-xc predict tagger.sxc -k 3
  sklearn-xc serve tagger.sxc

`sklearn-xc COMMAND --help` has the options and examples of a command."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    raw = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser("sklearn-xc", description=DESCRIPTION, formatter_class=raw)
    whole.add_argument("--version", action="version", version=f"sklearn-xc {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        title, _, examples = module.HELP.partition("\n")
        name = module.__name__.rpartition("._")[2].replace("_", "-")
        texts = {"help": title, "description": title, "epilog": examples}
        command = commands.add_parser(name, **texts, formatter_class=raw, allow_abbrev=False)
        for names, details in module.OPTIONS.items():
            command.add_argument(*names.split(), **details)
        command.set_defaults(run=module.run, command=name)
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 2 for an error of the user, told in one line."""
    whole = parser()
    with suppress(ImportError):  # completion of the shell, where it is installed
        import argcomplete

        argcomplete.autocomplete(whole)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # a stream of a test or of another program
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = whole.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            if getattr(options, "output", None) is not None:
                # add-labels has read all of a model before it replaces the file at once
                names = ["file", "label_texts"] + ["model"] * (options.command != "add-labels")
                require_other_file(options.output, [vars(options).get(name) for name in names])
            options.run(options)
            sys.stdout.flush()
        return 0
    except BrokenPipeError:  # who read the output has ended
        with suppress(Exception):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except REFUSED as error:
        text = " ".join(str(error).split()) or type(error).__name__
        print(f"sklearn-xc {options.command}: error: {text}", file=sys.stderr)
        return 2


def _show_warning(message: Warning | str, *where: object) -> None:
    """Print a warning in one line, without the place in our code."""
    print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)
