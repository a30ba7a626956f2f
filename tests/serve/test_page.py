"""The page of the service, in a browser: typing, keyboard, errors, markup, small screens."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from _driven_browser import PATH, Browser
from _service import asked, running, serving
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

import sklearn_xc
from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier, save

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

FOLDER = Path(sklearn_xc.__file__).parent / "serve" / "page"
MARKUP = "<img src=x onerror=\"document.title = 'run'\">"
NAMES = [*(f"label {i}" for i in range(6)), MARKUP]
TEXTS = [f"word{i % 7} word{i % 11} and word{i % 13}" for i in range(300)]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a service whose model has probabilities, and markup in the name of a label."""
    names = MultiLabelBinarizer(sparse_output=True)
    Y = names.fit_transform([[NAMES[i % 7]] for i in range(300)])
    last = PPDSparseClassifier(
        label_names=names.classes_, calibration="sigmoid", calibration_cv=0.2, random_state=0
    )
    path = tmp_path_factory.mktemp("model") / "model.sxc"
    save(make_pipeline(TfidfVectorizer(), last).fit(TEXTS, Y), path)
    with running(path) as port:
        yield port


# ------------------------------------------------------------------------------ without a browser


def test_files_of_the_page_are_served_and_ask_no_other_host(port):
    for name in ("", "page.css", "page.js"):
        status, text = asked(port, "GET", f"/{name}")
        assert status == 200
        assert text == (FOLDER / (name or "index.html")).read_bytes()
        assert re.findall(rb"(?:https?:)?//(?=\w)\w[\w.]+", text.replace(b"// ", b"")) == []


def test_the_page_sets_texts_as_texts():
    code = (FOLDER / "page.js").read_text()
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code) == []


def test_every_field_has_a_label():
    page = (FOLDER / "index.html").read_text()
    fields = re.findall(r'<(?:input|textarea)[^>]*id="(\w+)"', page)
    assert len(fields) == 5
    assert all(f'for="{name}"' in page for name in fields)
    assert 'role="status" aria-live="polite"' in page
    assert 'role="alert"' in page


# ------------------------------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if PATH is None:
        pytest.skip("there is no Chromium; the Debian package chromium has it")
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def page(browser, port):
    """The browser with a fresh page, the text field in focus."""
    browser.screen(1000)
    browser.problems.clear()
    browser.open("about:blank")
    browser.open(f"http://127.0.0.1:{port}/")
    browser.until("at('about').textContent.includes('7 labels')")
    browser.value("at('text').focus()")
    return browser


def names_of(page):
    return page.value("[...document.querySelectorAll('#answers .name')].map(n => n.textContent)")


def found(page, n):
    page.until(f"document.querySelectorAll('#answers li').length === {n} && !at('found').hidden")


def test_typing_finds_labels_and_their_words(page, port):
    page.type("Word3 and word4")
    found(page, 5)
    _, answer = asked(port, "POST", "/answer", {"text": "Word3 and word4"})
    assert names_of(page) == [line["label"] for line in answer["labels"]]
    bar = page.value("parseFloat(document.querySelector('#answers .fill').style.width)")
    np.testing.assert_allclose(bar, 100 * answer["labels"][0]["probability"], atol=0.01)
    assert page.value("at('status').textContent") == "5 labels found."
    assert page.value("at('marked').textContent") == "Word3 and word4"
    marks = page.value("[...document.querySelectorAll('#marked mark')].map(m => m.textContent)")
    words = {piece for piece, part in answer["labels"][0]["text"] if part}
    assert set(marks) == words
    assert page.problems == []


def test_markup_is_shown_and_not_followed(page):
    page.type(f"word6 word2 <b>word6</b> <script>document.title = 'run'</script> {MARKUP}")
    found(page, 5)
    assert MARKUP in names_of(page)
    page.value(
        "[...document.querySelectorAll('#answers button')]"
        ".find(b => b.textContent.includes('<img')).click()"
    )
    assert MARKUP in page.value("at('why').textContent")
    assert "<b>word6</b>" in page.value("at('marked').textContent")
    time.sleep(0.1)
    assert page.value("document.title") == "Try the model"
    assert (
        page.value("document.querySelectorAll('#found img, #found b, #found script').length") == 0
    )
    assert page.problems == []


def test_the_link_gives_the_same_answer(page):
    page.type("word3 & word4 + 100%")
    found(page, 5)
    same = "fetch(at('json').href).then(r => r.json()).then(a => JSON.stringify(a) === "
    assert page.value(same + "JSON.stringify(answer))") is True
    page.value("at('text').value = 'word3 '.repeat(2000)")
    page.value("ask()")
    assert page.value("at('json').protocol") == "blob:"
    page.value("at('json').click()")
    opened = page.target(lambda one: one["url"].startswith("blob:"))
    with page.attached(opened):
        page.until("document.body && document.body.textContent.includes('label')")
        text = page.value("document.body.textContent")
    page.call("Target.closeTarget", targetId=opened)
    assert json.loads(text[text.index("{") :])["labels"] == page.value("answer.labels")


def test_labels_are_allowed_and_excluded_from_the_keyboard(page):
    page.type("word3 word4")
    found(page, 5)
    best = names_of(page)[0]
    page.value("document.querySelector('details').open = true")
    page.value("at('bar').focus()")
    page.type(best[:7])
    page.until("document.querySelectorAll('#names option').length > 0")
    page.type(best[7:])
    page.press("Enter", 13)
    page.until(f"!answer.labels.some(line => line.label === {best!r})")
    page.until("document.querySelectorAll('#excluded button').length === 1")
    page.value("document.querySelector('#excluded button').focus()")
    page.press("Enter", 13)
    page.until(f"answer.labels[0].label === {best!r}")
    assert page.value("document.activeElement.id") == "bar"
    for name in ("label 1", "label 2"):
        page.value("at('allow').focus()")
        page.type(name)
        page.press("Enter", 13)
    found(page, 2)
    assert set(names_of(page)) == {"label 1", "label 2"}


def test_all_is_reached_by_the_tabulator_and_has_a_name(page):
    page.type("word3 word4")
    found(page, 5)
    page.value("document.querySelector('details').open = true")
    seen = []
    for _ in range(30):
        page.press("Tab", 9)
        seen.append(page.value("document.activeElement.id || document.activeElement.tagName"))
    assert {"k", "threshold", "allow", "bar", "json", "BUTTON", "SUMMARY"} <= set(seen)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "textbox", "slider", "spinbutton", "link", "combobox"}
    named = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if node.get("role", {}).get("value") in roles
    ]
    assert len(named) >= 11
    assert all(name for _, name in named), named


def test_another_label_is_explained_when_it_is_pressed(page):
    page.type("word3 word4")
    found(page, 5)
    page.value("document.querySelectorAll('#answers button')[2].focus()")
    page.press("Enter", 13)
    page.until(f"at('why').textContent.includes({json.dumps(names_of(page)[2])})")
    pressed = "[...document.querySelectorAll('#answers button')].map(b => b.ariaPressed)"
    assert page.value(pressed) == ["false", "false", "true", "false", "false"]


def test_the_threshold_hides_labels(page):
    page.type("word3 word4")
    found(page, 5)
    page.value("at('threshold').focus()")
    page.press("End", 35)
    page.until("at('least').textContent === '100 %'")
    page.until("at('status').textContent === 'No label is above the threshold.'")
    assert names_of(page) == []
    page.press("Home", 36)
    found(page, 5)
    assert len(names_of(page)) == 5


def test_errors_and_large_texts_are_told(page):
    page.type("word3")
    found(page, 5)
    page.value("at('text').value = 'word3 '.repeat(3000)")
    page.value("at('text').dispatchEvent(new Event('input'))")
    page.until("at('length').textContent.startsWith('2,000 characters left')")
    page.until("at('marked').textContent.length === 18000")
    page.value("at('text').value = 'x'.repeat(30000)")
    page.value("at('text').dispatchEvent(new Event('input'))")
    page.until("at('error').textContent.includes('20000 characters at most')")
    assert page.value("at('length').textContent") == "The text is 10,000 characters too long."
    assert page.value("at('found').hidden") is True
    page.value("at('text').value = 'word3'")
    page.value("ask()")
    assert page.value("at('error').textContent") == ""


@pytest.mark.parametrize(
    ("last", "proba", "what"),
    [
        (TopKNeighborsClassifier(random_state=0), True, "neighbour"),
        (PPDSparseClassifier(random_state=0), False, "word"),
    ],
    ids=["neighbours", "scores"],
)
def test_neighbours_and_scores_are_shown(browser, tmp_path, last, proba, what):
    model = make_pipeline(TfidfVectorizer(), last)
    save(model.fit(TEXTS, [NAMES[i % 6] for i in range(300)]), tmp_path / "model.sxc")
    browser.screen(1000)
    with serving(tmp_path / "model.sxc") as port:
        browser.open(f"http://127.0.0.1:{port}/")
        browser.until("at('about').textContent.includes('6 labels')")
        assert browser.value("at('about').textContent.includes('not probabilities')") != proba
        assert browser.value("at('threshold').disabled") != proba
        browser.value("at('text').focus()")
        browser.type("word3 word4")
        browser.until("document.querySelectorAll('#answers li').length === 5")
        assert browser.value("at('what').textContent") == what
        assert browser.value("at('words').textContent").startswith("row " if proba else "word")
        assert browser.value("at('marked').hidden") == proba
        widths = "[...document.querySelectorAll('.fill')].map(f => parseFloat(f.style.width))"
        widths = browser.value(widths)
        assert widths == sorted(widths, reverse=True)
        assert min(widths) >= 0
        assert max(widths) <= 100


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_small_and_dark_screens(page, width, dark):
    page.screen(width, dark=dark)
    page.value(f"at('text').value = 'word3 ' + 'long'.repeat(200) + {MARKUP!r}")
    page.value("document.querySelector('details').open = true")
    page.value("ask()")
    assert page.value("document.documentElement.scrollWidth") <= width
    every = "[...document.querySelectorAll('body *')]"
    wide = f"{every}.filter(n => n.getBoundingClientRect().right > {width} + 1)"
    assert page.value(f"{wide}.map(n => n.tagName + n.id)") == []
    colours = (
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    ink, paper = (sum(map(int, re.findall(r"\d+", one)[:3])) for one in page.value(colours))
    assert (ink > paper) == dark
    assert abs(ink - paper) > 450
