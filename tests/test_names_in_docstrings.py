"""Names in docstrings and comments of the package lead somewhere: modules move, and texts stay."""

import re
from pathlib import Path

import sklearn_xc

ROOT = Path(sklearn_xc.__file__).parent
FILES = [path for ending in ("py", "pyx", "pxd", "h") for path in ROOT.rglob(f"*.{ending}")]
ENDINGS = {"py", "pyx", "pxd", "h"}
NAME = re.compile(r"(?<!`)`(_[\w./]+|\w+[./][\w./]+)`(?!`)")
ELSEWHERE = {"_raw_predict"}  # names of scikit-learn
IMPORT = r"^\s*(?:from [\w. ]+ c?import \([^)]*\)|from .*|import .*)$"


def defined(path):
    """Return the words of the code of a file, but for what it imports."""
    code = re.sub(r'"""(?s:.)*?"""|#.*', "", path.read_text())
    return set(re.findall(r"\w+", re.sub(IMPORT, "", code, flags=re.MULTILINE)))


def places():
    """Return the words of each file, and the files by module and by folder."""
    words = {path: defined(path) for path in FILES}
    found = {}
    for path in FILES:
        found.setdefault(path.stem, []).append(path)
        for folder in path.relative_to(ROOT).parents:
            found.setdefault(folder.name, []).append(path)
    return words, found


def leads_nowhere(name, words, found):
    """Say whether a part of a dotted name is not in what the parts before it name."""
    here = FILES
    for part in filter(None, re.split(r"[./]", name)):
        inside = [path for path in found.get(part, []) if path in here]
        if inside:
            here = inside
        elif part not in ENDINGS and not any(part in words[path] for path in here):
            return True
    return False


def test_names_lead_somewhere():
    words, found = places()
    lost = []
    for path in FILES:
        text = path.read_text()
        for match in NAME.finditer(text):
            name = match[1].removeprefix("sklearn_xc.")
            if name in ELSEWHERE or name.startswith("sklearn."):
                continue
            if leads_nowhere(name, words, found):
                lost.append(
                    (str(path.relative_to(ROOT)), text[: match.start()].count("\n") + 1, name)
                )
    assert lost == []


def test_what_leads_nowhere_is_seen():
    words, found = places()
    assert leads_nowhere("utils._nowhere", words, found)
    assert leads_nowhere("topk/_layout.InvertedIndex.nothing", words, found)
    assert not leads_nowhere("utils/_rows.Rows", words, found)


PAGE = re.compile(r"""\bpages? (?:"([^"]+)"|'([^']+)')""")
VAGUE = re.compile(
    r"(?i)\buser guide\b|\bsee the (?:guide|page|documentation)\b(?! [\"'])|\bpage on\b"
)
TITLE = re.compile(r"(?m)^(?:# (.+)|(\S.*)\n[=-]{3,}$)")


def running_text(path):
    """Return the text of a file with a space in place of line breaks, indents and comment signs."""
    return re.sub(r"\s+(?:#\s+)?", " ", path.read_text())


def test_pages_that_messages_and_docstrings_name_are_there():
    pages = [*(ROOT.parent / "doc").rglob("*.rst"), *(ROOT.parent / "doc").rglob("*.md")]
    heads = filter(None, (TITLE.search(page.read_text()) for page in pages))
    titles = {head[1] or head[2] for head in heads}
    assert {"Probabilities", "Splitting"} <= titles
    named = [
        (path.name, match[1] or match[2])
        for path in FILES
        for match in PAGE.finditer(running_text(path))
    ]
    assert len(named) > 10
    assert [(file, page) for file, page in named if page not in titles] == []


def test_pages_are_named_by_their_titles():
    found = [(path.name, VAGUE.findall(running_text(path))) for path in FILES]
    assert [entry for entry in found if entry[1]] == []
