"""Docstrings of the public API: their examples run, their sections are there and complete."""

import ast
import doctest
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = ["sklearn_xc", "sklearn_xc.metrics", "sklearn_xc.datasets", "sklearn_xc.mips"]
MODULES += ["sklearn_xc.inspection"]
MODULES += ["sklearn_xc.model_selection"]
METHODS = ["fit", "predict", "predict_topk", "decision_function", "predict_proba"]
METHODS += ["explain", "of_row", "to_frame", "from_explanation", "plot"]
METHODS += ["from_estimator", "from_predictions", "save"]
METHODS += ["build", "query", "candidates", "update", "transform", "score"]
METHODS += ["most_similar", "analogy", "to_keyed_vectors"]


def public_objects():
    """Qualified name -> public function or class."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member) or inspect.isfunction(member):
                yield f"{module.__name__}.{name}", member


def public_methods():
    """Qualified name -> method of ours of a public class."""
    for name, member in public_objects():
        for method in METHODS if inspect.isclass(member) else []:
            function = getattr(member, method, None)
            # Methods of a built-in base class name no module.
            if (getattr(function, "__module__", None) or "").startswith("sklearn_xc"):
                yield f"{name}.{method}", function


def sections(member):
    """Heading -> text of the sections of a numpydoc docstring."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.getdoc(member) or "", flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section):
    """Names that a section of parameters describes, without the stars of `*args`."""
    headings = re.findall(r"^(\S.*?)(?: *:.*)?$", section, flags=re.M)
    return [name.strip().lstrip("*") for heading in headings for name in heading.split(",")]


def arguments(member):
    signature = inspect.signature(member)
    return [name for name in signature.parameters if name != "self"]


OBJECTS = dict(public_objects())
CALLABLES = {**OBJECTS, **dict(public_methods())}


@pytest.mark.parametrize("name", OBJECTS)
def test_examples_run(name):
    member = OBJECTS[name]
    module = inspect.getmodule(member)
    found = doctest.DocTestFinder(recurse=False).find(member, name, module=module)
    examples = [test for test in found if test.examples]
    assert examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    for test in examples:
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_examples_of_the_readme_run():
    flags = doctest.NORMALIZE_WHITESPACE
    failed, run = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=flags
    )
    assert run > 0
    assert failed == 0


@pytest.mark.parametrize("name", CALLABLES)
def test_parameters_are_those_of_the_signature(name):
    text = sections(CALLABLES[name])
    assert described(text.get("Parameters", "")) == arguments(CALLABLES[name])


def returns_a_value(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Return) and node.value for node in ast.walk(tree))


@pytest.mark.parametrize("name", CALLABLES)
def test_result_is_described(name):
    member = CALLABLES[name]
    if inspect.isclass(member):
        assert described(sections(member)["Attributes"]) != []
    else:
        assert ("Returns" in sections(member)) == returns_a_value(member)


@pytest.mark.parametrize("name", [n for n in OBJECTS if n.endswith("Classifier")])
def test_methods_name_their_paper(name):
    text = sections(OBJECTS[name])
    assert ".. [1]" in text.get("References", "")


def test_every_public_module_says_what_it_is_for():
    assert [name for name in MODULES if not importlib.import_module(name).__doc__] == []
