"""Habits that make pages tiring to read, each with the words to use instead."""

import re
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
MADE = {"api", "auto_examples", "_build"}  # folders that the build makes
LABORATORY = DOC / "development" / "measurements"
PAGES = sorted(
    page
    for page in DOC.rglob("*.rst")
    if not MADE & set(page.relative_to(DOC).parts) and LABORATORY not in page.parents
)
HABITS = {
    r"^For (everybody|readers|those)\b": "begin with the result, or with what to do",
    r"\bby turns\b": "interleaved",
    r"\bat hand\b": "available, or name it",
    r"\bin (the|its|their) place of\b": "instead of",
    r"\bon a (faster|slower) day\b": "measure again",
    r"\b(class|classes|label|labels) a row\b": "a sample",
    r"\b\d{1,3} \d{3}\b(?! *[=:])": "a comma between groups of digits",
    r"\bThat of\b|\bThose (of|that|from)\b": "the noun",
    r"^What (is|are|was|has)\b[^?]*$": "a subject and a verb",
}

# On the pages that users read first; pages of methods and of development may say more in a line.
USERS = {"start", "howto", "guide", "reference"}
HABITS_OF_USERS = {
    r"\b[Bb]eside\b": "next to, as well as, against, or compare",
    r"\b[Tt]hose (are|in|it|of|that|there|who|with)\b": "the noun",
    r"\bare those\b|\bwhat is (best|better|needed|said|wrong)\b": "the noun",
    r"\banew\b": "again",
    r"\b(is|are|was) told\b": "gets, or a message says",
    r"\bso many\b": "the number",
    r"\b(test|training|held-out|new|few|many|hundred|thousand|[\d,]+) rows\b": "samples",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOC).as_posix())
def test_a_page_has_none_of_the_habits(page):
    users = page.relative_to(DOC).parts[0] in USERS
    found = [
        f"line {number}: {line.strip()!r}: write {instead}"
        for number, line in enumerate(page.read_text().splitlines(), 1)
        for habit, instead in {**HABITS, **(HABITS_OF_USERS if users else {})}.items()
        if re.search(habit, line)
    ]
    assert found == []


def test_a_page_begins_with_a_sentence():
    """A title, and then a sentence with a verb, not a fragment that ends at a colon or a comma."""
    for page in PAGES:
        text = re.sub(r"^\.\. .*\n\n", "", page.read_text())
        body = re.split(r"\n=+\n+", text, maxsplit=1)[-1]
        first = body.partition("\n\n")[0]
        assert len(first.split()) >= 3 or first.startswith(".. "), page
