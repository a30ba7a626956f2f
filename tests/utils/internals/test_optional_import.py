"""A missing optional package stops only what needs it, and the message says how to get it."""

import subprocess
import sys

import pytest

from sklearn_xc.utils import _optional_import


def test_returns_the_module_asked_for():
    pyplot = _optional_import.optional_import("matplotlib.pyplot", "the picture")
    assert pyplot.__name__ == "matplotlib.pyplot"


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("hnswlib", ["pip install hnswlib", "C++ compiler", "HNSWLIB_NO_NATIVE=1"]),
        ("matplotlib.pyplot", ["pip install matplotlib"]),
        ("starlette", ["pip install starlette uvicorn"]),
        ("pandas", ["pip install pandas"]),
    ],
)
def test_missing_package_is_explained(monkeypatch, name, hints):
    package = name.partition(".")[0]
    for module in [package, name]:
        monkeypatch.setitem(sys.modules, module, None)  # makes its import fail
    with pytest.raises(ImportError) as raised:
        _optional_import.optional_import(name, "this feature")
    message = str(raised.value)
    assert "sklearn-xc[" not in message  # the package index has none, and anybody may take the name
    assert message.startswith(f"this feature needs {package}, which cannot be imported here (")
    assert [hint for hint in hints if hint not in message] == []
    assert raised.value.name == package


def test_package_imports_without_the_optional_ones():
    missing = ["hnswlib", "matplotlib", "dask", "distributed", "pandas"]
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({missing}))\n"
        # which boosted trees alone need
        "import sklearn_xc\nassert 'sklearn.ensemble' not in sys.modules\n"
        "import sklearn_xc.datasets, sklearn_xc.inspection, sklearn_xc.metrics, sklearn_xc.mips\n"
        "print('imported')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "imported\n", result.stderr
