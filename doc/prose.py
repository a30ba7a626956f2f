"""Look for tiring habits in the sentences of pages: ``python doc/prose.py [FILE ...]``.

The habits are in ``prose.toml``; ``make lint`` runs this, and so does ``tests/test_prose.py``.
Code, formulas and directives without prose are left out; a sentence may run over several lines.
"""

import re
import sys
import tomllib
from pathlib import Path

DOC = Path(__file__).resolve().parent
ROOT, EXAMPLES = DOC.parent, DOC.parent / "examples"
RULES = tomllib.loads((DOC / "prose.toml").read_text(encoding="utf-8"))
HABITS = {group: {re.compile(p): w for p, w in rules.items()} for group, rules in RULES.items()}
MADE = {"auto_examples", "backreferences", "generated", "_build"}  # folders that the build makes
LABORATORY = DOC / "development" / "measurements"
FIRST = ["benchmarks", "coming_from", "estimators", "guide", "howto", "reference", "start"]
USERS = {("README.md",), *(("doc", folder) for folder in FIRST)}  # what users read first
USERS |= {("examples", folder.name) for folder in EXAMPLES.iterdir() if folder.is_dir()}
FILES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]

WITH_PROSE = {"admonition", "container", "dropdown", "glossary", "important", "list-table", "note"}
WITH_PROSE |= {"grid", "grid-item", "grid-item-card", "rst-class", "seealso", "tip", "warning"}
DIRECTIVE = re.compile(r"\.\. (?:([\w:-]+)::|(?!\[))")
FIELD = re.compile(r":[\w-]+:(?!`)")
UNDERLINE = re.compile(r"([=\-~^*#+])\1{2,}[ =]*$")
BULLET = re.compile(r"(?:\* - |- |\* |#?\d+\. |#\. |\.\. (?=\[))")
COLUMN = re.compile(r"\||  +")
END = re.compile(r"(?<=[.?!])\s+(?=[A-Z(\"`*:])")
ROLE = re.compile(r":[\w:]+:`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`")
LINK = re.compile(r"`([^`<]*)\s*<[^`]*>`__?|\[([^]]*)\]\([^)]*\)")
CODE = re.compile(r"``[^`]*``|`[^`]*`")


def pages():
    """Return the pages that have to be free of habits."""
    pages = [*DOC.rglob("*.rst"), *LABORATORY.glob("*.md")]
    written = [page for page in pages if not MADE & set(page.relative_to(DOC).parts)]
    gallery = [page for page in EXAMPLES.rglob("*") if page.suffix in {".py", ".rst"}]
    return [*(ROOT / name for name in FILES), *sorted(written), *sorted(gallery)]


def text_of(page):
    """Return the text of a page; of an example its docstring and comments, line by line."""
    text = page.read_text(encoding="utf-8")
    if page.parent == LABORATORY:  # cells name systems and settings
        text = "\n".join("" if line.startswith("|") else line for line in text.split("\n"))
    if page.suffix != ".py":
        return text
    inside = range(1, text.count("\n", 0, text.find('"""', 3)) if text.startswith('"""') else 0)
    return "\n".join(
        line if number in inside else line[2:] if line.startswith(("# ", "#!")) else ""
        for number, line in enumerate(text.replace("# %%", "").splitlines())
    )


def paragraphs(text):
    """Yield the first line's number and the text of each paragraph, item and cell with prose."""
    words, start, left, skipped, fenced, shell, table = [], 0, 0, None, False, False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        table = bool(stripped) and table
        shell = bool(stripped) and (shell or stripped.startswith((">>> ", "$ ")))
        if skipped is not None and (not stripped or indent > skipped):
            continue
        skipped = None
        directive = DIRECTIVE.match(stripped)
        fenced ^= stripped.startswith("```")
        bullet = BULLET.match(stripped)
        ends = not stripped or fenced or shell or directive or bullet or indent > left
        if words and (ends or stripped.startswith(("```", "#", "|"))):
            yield start, " ".join(words)
            words = []
        if directive and directive[1] not in WITH_PROSE:
            skipped = indent
        elif UNDERLINE.match(stripped):
            yield from ((start, f"§ {title}") for title in words)  # may begin as it likes
            words, table = [], " " in stripped
        elif table or stripped.startswith("|"):  # a simple table, or one of Markdown
            yield from ((number, cell.strip()) for cell in COLUMN.split(stripped))
        elif stripped and not (fenced or shell or directive or stripped.startswith(("```", "#"))):
            if FIELD.match(stripped):
                continue
            start = start if words else number
            left = indent + (bullet.end() if bullet else 0)  # further right: a definition
            words.append(stripped[bullet.end() :] if bullet else stripped)
            if stripped.endswith("::"):
                yield start, " ".join(words)
                words, skipped = [], indent


def sentences(text):
    """Yield the number of a line and a sentence, code replaced by X and links by their words."""
    for number, paragraph in paragraphs(text):
        for sentence in END.split(paragraph):
            words = ROLE.sub(lambda found: found[1] or "X", sentence)
            words = LINK.sub(lambda found: found[1] or found[2] or "X", words)
            yield number, re.sub(r"\*+", "", CODE.sub("X", words)).strip()


def found(page):
    """Return a line for each habit in a page."""
    place = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
    users = place.parts[:2] in USERS
    habits = HABITS["everywhere"] | (HABITS["users"] if users else {})
    return [
        f"{place}:{number}: {match[0]!r} in {sentence!r}: write {instead}"
        for number, sentence in sentences(text_of(page))
        for habit, instead in habits.items()
        if (match := habit.search(sentence))
    ]


def main(names):
    """Print the habits of the named files, or of all pages; return how many there are."""
    files = [Path(name).resolve() for name in names] or pages()
    habits = [line for page in files for line in found(page)]
    print(*habits, sep="\n", end="\n" if habits else "")
    return len(habits)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
