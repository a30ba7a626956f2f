"""The embedded docstrings: which objects they have, what the passages look like, side effects."""

import hashlib
import inspect
import os
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest

from sklearn_xc.datasets import load_docstrings


@pytest.fixture(scope="module")
def docs():
    return load_docstrings()


@pytest.fixture(scope="module")
def objects(docs):
    return {name: pydoc.locate(name) for name in docs.target_names}


def digest(docs):
    text = "\0".join([*docs.data_train, *docs.data_test, *docs.target_names])
    return hashlib.sha256(text.encode() + docs.target_train.tobytes()).hexdigest()


def test_size_and_split(docs):
    n_classes = len(docs.target_names)
    assert n_classes > 3000
    assert len(docs.data_train) == len(docs.target_train) > 20_000
    np.testing.assert_array_equal(docs.target_test, np.arange(n_classes))
    assert len(docs.data_test) == n_classes
    assert np.bincount(docs.target_train, minlength=n_classes).min() >= 2
    assert list(docs.target_names) == sorted(set(docs.target_names))
    assert "held out" in docs.DESCR


def test_passages_stand_once(docs):
    passages = [*docs.data_train, *docs.data_test]
    assert len(set(passages)) == len(passages)


def test_passages_are_prose(docs):
    for passage in [*docs.data_train, *docs.data_test]:
        assert passage == " ".join(passage.split())
        assert len(re.findall(r"[^\W\d_]{2,}", passage)) >= 3
        assert ">>>" not in passage
        assert not re.search(r"0x[0-9a-f]{6}", passage)


def test_names_resolve_to_objects_with_docstrings(objects):
    missing = [name for name, thing in objects.items() if not getattr(thing, "__doc__", None)]
    assert missing == []


def test_one_name_per_object(objects):
    assert len({id(thing) for thing in objects.values() if inspect.isclass(thing)}) == sum(
        map(inspect.isclass, objects.values())
    )
    texts = [inspect.cleandoc(thing.__doc__) for thing in objects.values()]
    assert len(set(texts)) == len(texts)


def test_names_that_users_import(docs):
    names = set(docs.target_names)
    wanted = {"numpy.linalg.svd", "sklearn.svm.LinearSVC", "os.path.splitext", "str.join"}
    wanted |= {"scipy.optimize.minimize", "subprocess.run", "sklearn.model_selection.GridSearchCV"}
    assert wanted <= names
    other_spellings = {"numpy.linalg.linalg.svd", "posixpath.splitext", "builtins.str.join"}
    other_spellings |= {"numpy.core.multiarray.dot", "sklearn.model_selection.cross_validation"}
    assert not other_spellings & names


def test_no_private_vendored_or_build_modules(docs):
    unwanted = {"externals", "distutils", "f2py", "setuptools", "ensurepip", "idlelib", "lib2to3"}
    unwanted |= {"turtle", "turtledemo", "tkinter", "antigravity", "this", "test", "tests"}
    unwanted |= {"conftest", "experimental", "asyncore", "imp", "telnetlib", "pip", "core"}
    for name in docs.target_names:
        parts = name.split(".")
        assert not any(part.startswith("_") for part in parts), name
        assert not unwanted & set(parts[:-1]), name


def test_no_deprecated_objects(objects):
    for name, thing in objects.items():
        summary = thing.__doc__.partition("----")[0]
        assert ".. deprecated::" not in summary, name
        assert not hasattr(thing, "__deprecated__"), name


@pytest.mark.full
def test_same_on_every_call():
    assert digest(load_docstrings(["scipy"])) == digest(load_docstrings(["scipy"]))


@pytest.mark.full
def test_random_state_chooses_what_is_held_out():
    docs, other = (load_docstrings(["scipy"], random_state=seed) for seed in (0, 1))
    assert list(other.target_names) == list(docs.target_names)
    assert other.data_test != docs.data_test
    assert sorted(other.data_train + other.data_test) == sorted(docs.data_train + docs.data_test)


@pytest.mark.full
def test_fresh_process(docs, tmp_path):
    """Same data whatever the order of hashes; nothing printed, warned of, or opened."""
    script = (
        "import sys, hashlib\n"
        f"sys.path[:] = {sys.path!r}\n"
        "from sklearn_xc.datasets import load_docstrings\n"
        f"{inspect.getsource(digest)}\n"
        "docs = load_docstrings()\n"
        "acting = {'antigravity', 'this', 'turtle', 'tkinter', 'idlelib', 'rlcompleter'}\n"
        "assert not acting & set(sys.modules), acting & set(sys.modules)\n"
        "print(digest(docs))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONWARNINGS": "error"}
    environment.pop("DISPLAY", None)
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert run.stderr == ""
    assert run.stdout == digest(docs) + "\n"
    assert list(tmp_path.iterdir()) == []


def test_min_passages():
    docs = load_docstrings(["numpy"], min_passages=6)
    assert np.bincount(docs.target_train).min() == 5
    assert all(name.startswith("numpy.") for name in docs.target_names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packages": "numpy"}, "packages must be a non-empty sequence of names"),
        ({"packages": []}, "packages must be a non-empty sequence of names"),
        ({"packages": ["no_such_package"]}, "packages: 'no_such_package' cannot be imported"),
        ({"min_passages": 1}, "min_passages must be a whole number of at least 2, got 1"),
        ({"min_passages": 2.5}, "min_passages must be a whole number of at least 2, got 2.5"),
        (
            {"packages": ["numpy"], "min_passages": 10**6},
            r"no object of \['numpy'\] has min_passages=1000000",
        ),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_docstrings(**arguments)
