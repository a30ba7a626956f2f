"""examples/programs/annif_backend.py through Annif's command line, where Annif is installed.

That is in this environment, or in the one that benchmarks/peers/annif_titles.py makes, build/annif.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "build" / "annif" / "bin" / "python"
PYTHON = sys.executable if find_spec("annif") else OWN if OWN.exists() else None
pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs annif, or build/annif with it")

TOPICS = ["lighthouse", "river", "violin", "volcano", "castle", "wheat"]
PROJECTS = """
[xc]
language=en
backend=sklearn_xc
analyzer=snowball(english)
vocab=topics
allow_learn=True

[fixed]
language=en
backend=sklearn_xc
analyzer=snowball(english)
vocab=topics
limit=2
method=ppdsparse
l1=0.01

[warm]
language=en
backend=sklearn_xc
analyzer=snowball(english)
vocab=topics
method=ppdsparse
allow_learn=True

[near]
language=en
backend=sklearn_xc
analyzer=snowball(english)
vocab=topics
method=neighbors
allow_learn=True

[bad]
language=en
backend=sklearn_xc
analyzer=snowball(english)
vocab=topics
l1=0.01
"""


def titles(topics):
    """Eighteen titles each, from word to subject."""
    return "".join(
        f"a {colour} history of the {word}\t<http://t/{subject}>\n"
        for colour in ("green", "red", "blue") * 6
        for word, subject in topics.items()
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a vocabulary that is loaded and a project that is trained."""
    folder = tmp_path_factory.mktemp("annif")
    table = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
    table.mkdir(parents=True)  # of abbreviations, which Annif asks NLTK for; empty here
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (table / name).touch()
    (folder / "projects.cfg").write_text(PROJECTS)
    vocabulary = "".join(f"<http://t/{word}>\t{word.title()}\n" for word in TOPICS)
    (folder / "topics.tsv").write_text(vocabulary)
    topics = {f"{word}s": word for word in TOPICS}
    (folder / "all.tsv").write_text(titles(topics))
    (folder / "old.tsv").write_text(titles(dict(list(topics.items())[:4])))
    (folder / "new.tsv").write_text(titles({"lighthouses and rivers": "castle"}))
    annif(folder, "load-vocab", "topics", "topics.tsv", "--language", "en")
    for name in ("xc", "warm", "near"):
        annif(folder, "train", name, "old.tsv", "-j", "1")
    annif(folder, "train", "fixed", "all.tsv", "-j", "1")
    return folder


def annif(folder, *arguments, text=None, fails=False):
    paths = [str(ROOT)] if PYTHON == OWN else [str(ROOT), *filter(None, sys.path)]
    variables = {"PYTHONPATH": os.pathsep.join(paths), "NLTK_DATA": str(folder / "nltk")}
    result = subprocess.run(
        [PYTHON, ROOT / "examples" / "programs" / "annif_backend.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        input=text,
        env={**os.environ, **variables},
    )
    assert (result.returncode != 0) == fails, result.stderr
    return result.stderr if fails else result.stdout


def suggested(folder, project, text):
    """Labels and scores, best first."""
    lines = annif(folder, "suggest", project, text=text)
    found = re.findall(r"^<http://t/\w+>\t(\w+)\t([\d.]+)$", lines, re.M)
    return [label for label, _ in found], [float(score) for _, score in found]


def test_suggests_names_and_scores(project):
    names, scores = suggested(project, "fixed", "the lighthouses of Finland")
    assert names[0] == "Lighthouse"
    assert len(names) == 2  # the limit of the project
    assert 1 > scores[0] > 0.5 > scores[1] > 0
    assert suggested(project, "fixed", "xyzzy") == ([], [])


def test_evaluates(project):
    found = annif(project, "eval", "fixed", "all.tsv", "-m", "Precision@1", "-j", "2")
    assert re.search(r"Precision@1:\s+1\.0", found)


LEARNING = ["xc", "warm", "near"]


@pytest.mark.parametrize("name", LEARNING)
def test_subjects_without_a_document_are_found_by_their_names(project, name):
    assert suggested(project, name, "fields of wheat")[0][0] == "Wheat"


@pytest.mark.parametrize("name", LEARNING)
def test_learns_and_trains_on_what_it_has(project, name):
    text = "lighthouses and rivers"
    assert suggested(project, name, text)[0][0] != "Castle"
    annif(project, "learn", name, "new.tsv")
    assert suggested(project, name, text)[0][0] == "Castle"
    assert suggested(project, name, "volcanos")[0][0] == "Volcano"  # what it knew
    annif(project, "train", name, "--cached", "-j", "1")
    assert suggested(project, name, text)[0][0] == "Castle"
    names = sorted(path.name for path in (project / "data" / "projects" / name).iterdir())
    assert names == ["xc-model.sxc", "xc-train-rows.txt", "xc-train-subjects.npz"]


def test_learns_subjects_that_are_new_in_the_vocabulary(project):
    with open(project / "topics.tsv", "a") as file:
        file.write("<http://t/bridge>\tBridge\n<http://t/red>\tRed\n")
    annif(project, "load-vocab", "topics", "topics.tsv", "--language", "en")
    (project / "more.tsv").write_text(titles({"violins and volcanos": "bridge"}))
    for name in LEARNING:
        annif(project, "learn", name, "more.tsv")
        assert suggested(project, name, "violins and volcanos")[0][0] == "Bridge"
        assert suggested(project, name, "rivers")[0][0] == "River"
        found = suggested(project, name, "red")[0]  # Red by its name alone
        # Every subject has titles with the word, which are neighbours of the text.
        assert "Red" in (found if name == "near" else found[:1])


def test_refuses_parameters_of_another_method(project):
    assert "l1 and l2 are for ppdsparse" in annif(project, "train", "bad", "old.tsv", fails=True)


def test_refuses_to_learn_unless_the_project_allows_it(project):
    said = annif(project, "learn", "fixed", "new.tsv", fails=True)
    assert "Learning not enabled" in said
