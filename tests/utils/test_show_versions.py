"""Versions that a report of a problem needs are printed."""

import sklearn

import sklearn_xc


def test_versions_and_variables_are_printed(capsys, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "5 GB")
    monkeypatch.setattr(
        "sklearn_xc.utils._show_versions.OPTIONAL", ("pandas", "a-package-that-is-not-there")
    )
    sklearn_xc.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["sklearn-xc"] == sklearn_xc.__version__
    assert lines["scikit-learn"] == sklearn.__version__
    assert lines["a-package-that-is-not-there"] == "not installed"
    assert lines["SKLEARN_XC_MEMORY_LIMIT"] == "5 GB"
