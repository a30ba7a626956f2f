"""The package as a whole: version, public names, what is tracked, which build is under test."""

import email
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_xc
import sklearn_xc._kernels
from sklearn_xc._version import HOME

pytestmark = pytest.mark.kernel

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sklearn_xc.__file__).parent
GENERATED = {".c", ".cpp", ".so", ".pyd", ".o", ".html"}


@pytest.fixture(scope="module")
def tracked():
    """Paths of the files that git tracks, or would with `git add --all`."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "-c",
        "safe.directory=*",
        "ls-files",
        "-coz",
        "--exclude-standard",
    ]
    try:
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not in a git repository, or no git")
    return [Path(name) for name in listing.split("\0") if name]


def kernels():
    found = pkgutil.walk_packages(sklearn_xc._kernels.__path__, "sklearn_xc._kernels.")
    return [importlib.import_module(module.name) for module in found if not module.ispkg]


def test_installed_version_is_the_one_of_the_package():
    try:
        installed = importlib.metadata.version("sklearn-xc")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("run from the source tree without an installation")
    assert installed == sklearn_xc.__version__


def test_version_is_written_once(tracked):
    texts = [p for p in tracked if p.suffix in {".py", ".toml", ".rst", ".md"}]
    holders = [p for p in texts if f'"{sklearn_xc.__version__}"' in (ROOT / p).read_text()]
    assert holders == [Path("sklearn_xc/_version.py")]


def test_address_is_written_once(tracked):
    texts = [p for p in tracked if p.suffix in {".py", ".toml", ".rst", ".md", ".cff", ".html"}]
    address = HOME.partition("://")[2]
    holders = [p for p in texts if address in (ROOT / p).read_text()]
    assert holders == [Path("sklearn_xc/_version.py")]


def test_metadata_and_first_page_show_the_address(tmp_path):
    """Metadata is made anew: what is installed may be of another day."""
    pytest.importorskip("setuptools", minversion="77")
    pytest.importorskip("Cython")
    if not (ROOT / "setup.py").exists():
        pytest.skip("not in the source tree")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "sklearn_xc", ignore=shutil.ignore_patterns("*.so", "page"))
    code = "import setuptools.build_meta as m; m.prepare_metadata_for_build_wheel('made')"
    (tmp_path / "made").mkdir()
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=6000
    )
    (made,) = (tmp_path / "made").glob("*.dist-info/METADATA")
    metadata = email.message_from_string(made.read_text())
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    names = {"Homepage", "Documentation", "Source", "Issue tracker", "Changelog"}
    assert set(urls) == names
    assert all(url.startswith(HOME) for url in urls.values())
    # conf.py fills in the version and the links
    first = (ROOT / "doc/index.rst").read_text()
    for what in ("|release|", "|source|", metadata["License-Expression"], "$ pip install ."):
        assert what in first
    assert "it takes two minutes, needs a C/C++ compiler" in first


def test_nothing_generated_is_tracked(tracked):
    ours = [p for p in tracked if p.parts[0] == "sklearn_xc" and p.parent.name != "page"]
    assert [p for p in ours if p.suffix in GENERATED] == []


def test_files_of_the_page_are_installed():
    assert {path.name for path in (PACKAGE / "serve" / "page").iterdir()} == {
        "index.html",
        "page.css",
        "page.js",
    }


def test_public_names_exist_and_are_documented():
    pages = [page.read_text() for page in (ROOT / "doc/api").glob("*.rst")]
    parts = [part.split() for page in pages for part in page.split(".. currentmodule:: ")[1:]]
    listed = {f"{module}.{name}" for module, *names in parts for name in names}
    modules = [
        "",
        ".metrics",
        ".feature_extraction",
        ".datasets",
        ".mips",
        ".inspection",
        ".model_selection",
        ".dask",
        ".serve",
    ]
    if importlib.util.find_spec("dask") is None:
        modules.remove(".dask")
    for module in map(importlib.import_module, (f"sklearn_xc{name}" for name in modules)):
        for member in module.__all__:
            assert hasattr(module, member)
            assert f"{module.__name__}.{member}" in listed


def test_all_lists_every_public_name_of_the_package():
    modules = {module.name for module in pkgutil.iter_modules(sklearn_xc.__path__)}
    public = {name for name in vars(sklearn_xc) if not name.startswith("_")} - modules
    assert public == {name for name in sklearn_xc.__all__ if not name.startswith("_")} - modules


def test_kernels_are_compiled_beside_the_package():
    assert kernels() != []
    for kernel in kernels():
        assert Path(kernel.__file__).parent.parent == PACKAGE / "_kernels"
        assert Path(kernel.__file__).suffix in {".so", ".pyd"}


def test_kernels_are_of_the_build_under_test():
    """The machine code says which build it is: `make test-debug` must not test a release."""
    build = os.environ.get("SKLEARN_XC_BUILD", "release")
    code = {kernel.__name__: Path(kernel.__file__).read_bytes() for kernel in kernels()}
    checked = {name for name, text in code.items() if b"RaiseBufferIndexError" in text}
    sanitized = {name for name, text in code.items() if b"__asan_report_" in text}
    undefined = {name for name, text in code.items() if b"__ubsan_handle_" in text}
    if build != "release":
        assert PACKAGE.parent == ROOT / "build" / build
    assert sanitized == (set(code) if build == "asan" else set())
    assert (undefined != set()) == (build == "ubsan")
    assert (checked != set()) == (build == "debug")


def test_softmax_regression_is_a_classifier_by_name_too():
    assert sklearn_xc.ImplicitSoftmaxClassifier is sklearn_xc.ImplicitSoftmaxRegressor
    with pytest.raises(AttributeError, match="has no attribute 'SoftmaxClassifier'"):
        sklearn_xc.SoftmaxClassifier  # noqa: B018


def test_public_modules_need_no_import_of_their_own():
    code = "import sklearn_xc as s; print(s.datasets.load_xc.__name__, s.mips.ExactIndex.__name__)"
    # -P: not the sources of this folder, where a wheel is tested
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True, timeout=600
    )
    assert run.stdout.split() == ["load_xc", "ExactIndex"]


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file()
