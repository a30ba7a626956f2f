"""Names and docstrings of the public functions, classes and methods of installed packages."""

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from operator import itemgetter
from types import ModuleType
from typing import Any

import numpy as np

# Modules of the standard library that are not walked, by reason.
_SKIPPED_STDLIB = frozenset(
    # act when they are imported
    {"antigravity", "idlelib", "readline", "rlcompleter", "this", "tkinter", "turtle", "turtledemo"}
    # build tools, data and tests
    | {"distutils", "ensurepip", "lib2to3", "venv", "encodings", "pydoc_data", "test"}
    # other spellings of os, os.path, urllib.request, dis, xml.parsers.expat and re
    | {"nt", "posix", "genericpath", "ntpath", "posixpath", "nturl2path", "opcode", "pyexpat"}
    | {"sre_compile", "sre_constants", "sre_parse"}
    # deprecated, most by PEP 594
    | {"aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "imp"}
    | {"mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd"}
    | {"sunau", "telnetlib", "uu", "xdrlib"}
)
# Parts of a dotted name that mark build tools, tests, vendored or deprecated code, or (for
# sklearn.experimental) modules that act on import.
_SKIPPED_PARTS = frozenset(
    {"conftest", "test", "tests", "testutils", "estimator_checks"}
    | {"distutils", "f2py", "setup", "externals", "macholib"}
    | {"core", "matlib", "experimental"}
)

# Functions that are there to be replaced: what stands there depends on the process.
_HOOKS = frozenset({"breakpointhook", "displayhook", "excepthook", "unraisablehook"})
# Part of scikit-learn only once some module has imported sklearn.experimental.
_EXPERIMENTAL = frozenset({"HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"})


def public_docstrings(package: str) -> dict[str, str]:
    """Return the docstrings of public functions, classes and methods of a package, by dotted name.

    `package` is installed, or ``"stdlib"`` for the standard library. Names are sorted. Every object
    stands here once, under the public name with the fewest parts, methods under the class that
    defines them.
    """
    # id -> (object, its names), since not all objects hash; the object is kept so that no id is
    # used twice
    candidates: dict[int, tuple[Any, list[str]]] = {}
    for module_name, module in _public_modules(package):
        for name, thing in _public_names(module):
            path = f"{module_name}.{name}".removeprefix("builtins.")
            candidates.setdefault(id(thing), (thing, []))[1].append(path)
    docstrings = {}
    for thing, paths in candidates.values():
        path = min(paths, key=lambda path: _awkwardness(path, thing))
        _add_docstring(docstrings, path, thing)
        if inspect.isclass(thing):
            for name, method in _methods(thing):
                _add_docstring(docstrings, f"{path}.{name}", method)
    return dict(sorted(docstrings.items()))


def _awkwardness(path: str, thing: Any) -> tuple:
    """Return the key that puts first the name that a user would import."""
    module, _, name = path.rpartition(".")
    return (
        path.count("."),
        name != getattr(thing, "__name__", None),
        module != getattr(thing, "__module__", None),
        len(path),
        path,
    )


def _public_modules(package: str) -> list[tuple[str, ModuleType]]:
    """Return names and modules of the public part of a package, imported, in alphabetical order."""
    if package == "stdlib":
        names = _stdlib_roots()
    else:
        importlib.import_module(package)
        names = [package]
    modules = []
    while names:
        name = names.pop()
        module = _imported(name)
        if module is None:
            continue
        modules.append((name, module))
        if hasattr(module, "__path__"):
            names += [
                f"{name}.{part}"
                for _, part, _ in pkgutil.iter_modules(module.__path__)
                if not part.startswith("_") and part not in _SKIPPED_PARTS
            ]
    return sorted(modules, key=itemgetter(0))


def _stdlib_roots() -> list[str]:
    """Return the modules of the standard library that are walked."""
    roots = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    return [*sorted(roots - _SKIPPED_STDLIB), "os.path"]


def _imported(name: str) -> ModuleType | None:
    """Return the module, or None where it belongs to another platform or lacks a dependency."""
    # modules that are deprecated warn of it on import
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


def _public_names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield functions and classes that a module offers, with the names it offers them under.

    What a module makes on demand counts if it is listed in ``__all__``; the rest of that kind are
    deprecated spellings.
    """
    listed = getattr(module, "__all__", None)
    root = module.__name__.partition(".")[0]
    for name, thing in _attributes(module, vars(module) if listed is None else listed):
        if (
            name.startswith("_")
            or name in _HOOKS | _EXPERIMENTAL
            or not (inspect.isclass(thing) or _is_routine(thing))
        ):
            continue
        # where the object was made: a module without `__all__` shows its imports as well; C
        # functions may lack it
        home = getattr(thing, "__module__", None) or module.__name__
        # its own names, or those of its private part, as of _bisect in bisect
        if listed is None:
            public = home in (module.__name__, f"_{module.__name__}")
            public = public or home.startswith(f"{module.__name__}._")
        else:
            public = home.partition(".")[0] == root or root in sys.stdlib_module_names
        if public:
            yield name, thing


def _attributes(module: ModuleType, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of these names, but for those whose very use warns of their end."""
    for name in sorted(set(names)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", DeprecationWarning)
            try:
                thing = getattr(module, name)
            except (AttributeError, ImportError, DeprecationWarning):
                continue
        yield name, thing


def _is_routine(thing: Any) -> bool:
    """Return whether an object is a function of any kind, such as one of NumPy in C."""
    return inspect.isroutine(thing) or isinstance(thing, np.ufunc | type(np.dot))


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods that a class defines itself."""
    for name, attribute in vars(cls).items():
        if not name.startswith("_") and _is_routine(attribute):
            yield name, attribute


def _add_docstring(docstrings: dict[str, str], path: str, thing: Any) -> None:
    """Add the docstring of an object, if it has one of its own and is not deprecated."""
    # of a class its own attribute: `__doc__` would be that of a base class
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    if not isinstance(text, str) or text is type(thing).__doc__:  # that of the class of `thing`
        return
    if not _is_deprecated(thing, text):
        docstrings[path] = inspect.cleandoc(text)


def _is_deprecated(thing: Any, text: str) -> bool:
    """Return whether the object says so: by its decorator (PEP 702), or before its first
    section.
    """
    summary = text.partition("----")[0].lower()
    return hasattr(thing, "__deprecated__") or any(
        mark in summary
        for mark in ("deprecated::", "deprecated:", "is deprecated", "deprecated since")
    )
