"""Pages are free of the habits of ``doc/prose.toml``, which ``make lint`` looks for as well."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROSE = runpy.run_path(str(ROOT / "doc" / "prose.py"))
PAGES = PROSE["pages"]()
RST = [page for page in PAGES if page.suffix == ".rst" and "examples" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_none_of_the_habits(page):
    assert PROSE["found"](page) == []


def test_a_page_begins_with_a_sentence():
    """A title, and then a sentence with a verb, not a fragment that ends at a colon or a comma."""
    for page in RST:
        text = re.sub(r"^\.\. .*\n\n", "", page.read_text(encoding="utf-8"))
        body = re.split(r"\n=+\n+", text, maxsplit=1)[-1]
        first = body.partition("\n\n")[0]
        assert len(first.split()) >= 3 or first.startswith(".. "), page


TEXT = """Title
=====

The cost is
that of a fit. Of all
labels one is best, ``by turns`` and :doc:`by turns </guide/x>`.

>>> by_turns = "by turns"
at hand

* an item
  with two lines::

      by turns

* The order is
  interleaved: at hand.

term
   It runs by turns.

.. math:: by turns
   at hand

==========  =====
Head        by
turns       2 000
==========  =====
"""


def test_sentences_run_over_lines_and_leave_out_code(tmp_path):
    """Code, doctests, literal blocks and formulas are no sentences; items, terms, cells are."""
    page = tmp_path / "page.rst"
    page.write_text(TEXT, encoding="utf-8")
    lines = [line.removeprefix(f"{page}:").split(" in ")[0] for line in PROSE["found"](page)]
    first = ["4: 'that of'", "4: 'Of '", "4: 'by turns'", "16: 'at hand'"]
    assert lines == [*first, "20: 'by turns'", "27: '2 000'"]


PROGRAM = '''"""
At hand
=======

A page, by turns.
"""

# %%
# Nothing of code
# at hand: only this.
AT_HAND = "at hand"  # by turns
'''


def test_of_an_example_the_docstring_and_the_comments_are_read(tmp_path):
    page = tmp_path / "page.py"
    page.write_text(PROGRAM, encoding="utf-8")
    lines = [line.removeprefix(f"{page}:").split(" in ")[0] for line in PROSE["found"](page)]
    assert lines == ["5: 'by turns'", "9: 'at hand'"]


def test_main_counts_the_habits_of_the_files_it_is_given(tmp_path, capsys):
    (tmp_path / "page.md").write_text("| a | at hand |\n```\nat hand\n```\nAll is well.\n")
    assert PROSE["main"]([str(tmp_path / "page.md")]) == 1
    assert capsys.readouterr().out.startswith(f"{tmp_path}/page.md:1: 'at hand' in")


@pytest.mark.parametrize("group", ["everywhere", "users"])
def test_rules_are_patterns_with_advice(group):
    assert all(re.compile(pattern) and advice for pattern, advice in PROSE["RULES"][group].items())


def test_laboratory_pages_are_read_without_their_tables():
    pages = [page for page in PAGES if page.parent == PROSE["LABORATORY"] and page.suffix == ".md"]
    assert len(pages) > 30
    assert not any(line.startswith("|") for line in PROSE["text_of"](pages[0]).splitlines())
