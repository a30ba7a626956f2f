"""The built site: nothing comes from elsewhere, no link is broken, no page is too wide.

`make test-site` builds it; the environment variable SKLEARN_XC_SITE says where it is.
"""

import functools
import html
import http.server
import json
import os
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from _driven_browser import PATH, Browser

SITE = Path(os.environ.get("SKLEARN_XC_SITE", "no site")).resolve()
# Elements that make the browser fetch something, and the attribute that says what.
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
FETCHED |= {"video": "src", "audio": "src", "embed": "src", "object": "data"}
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author"}  # rel of <link>
WIDTHS = [1200, 390]

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="SKLEARN_XC_SITE names no site; see make test-site"
)


class Page(HTMLParser):
    """What a page fetches, where its links lead, and which places in it have a name."""

    def __init__(self, path):
        super().__init__()
        self.fetched, self.links, self.names = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        self.names |= {attributes[key] for key in ("id", "name") if key in attributes}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in FETCHED and not set(attributes.get("rel", "").split()) & NOT_FETCHED:
            self.fetched.append(attributes.get(FETCHED[tag], ""))
            self.fetched += re.findall(r"\S+(?= \S*(?:,|$))", attributes.get("srcset", ""))


@functools.cache
def page(path):
    return Page(path)


def pages():
    """All pages; the theme has templates among its static files."""
    found = (path for path in SITE.rglob("*.html") if "_static" not in path.parts)
    return sorted(found)


def written_pages():
    """Names of the pages but those of source code and those that lead to another one."""
    written = [path for path in pages() if 'http-equiv="refresh"' not in path.read_text("utf-8")]
    names = [path.relative_to(SITE).as_posix() for path in written]
    return [name for name in names if not name.startswith("_modules/")]


def is_external(address):
    return bool(re.match(r"(https?:)?//", address))


def test_pages_fetch_nothing_from_elsewhere():
    found = {
        str(path.relative_to(SITE)): external
        for path in pages()
        if (external := [address for address in page(path).fetched if is_external(address)])
    }
    assert found == {}


def test_styles_fetch_nothing_from_elsewhere():
    pattern = re.compile(r"@import[^;]*//[^;]*;|url\(\s*['\"]?(?:https?:)?//[^)]*\)")
    texts = [*SITE.rglob("*.css"), *pages()]
    found = [(path.name, pattern.findall(path.read_text(encoding="utf-8"))) for path in texts]
    assert [item for item in found if item[1]] == []


def test_links_within_the_site_lead_somewhere():
    broken = []
    for path in pages():
        for link in [*page(path).links, *page(path).fetched]:
            parts = urlsplit(html.unescape(link))
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment) if target.suffix == ".html" else ""
            if not target.exists() or (place and place not in page(target).names):
                broken.append((path.name, link))
    assert broken == []


def test_formulas_are_set_by_a_script_of_the_site():
    with_formulas = [path for path in pages() if 'class="math' in path.read_text("utf-8")]
    assert with_formulas != []
    for path in with_formulas:
        (script,) = [a for a in page(path).fetched if "tex-svg" in a]
        assert (path.parent / urlsplit(script).path).resolve().stat().st_size > 1e6


def test_examples_ran_and_have_pictures():
    names = {path.stem for path in (SITE / "auto_examples").glob("*/*.html")}
    assert {"first_steps", "suggest_tags", "recommender", "cluster", "ldgs", "serve"} <= names
    pictures = {path.name for path in (SITE / "_images").glob("sphx_glr_*_001.png")}
    if not pictures:
        pytest.skip("the site was built with plot_gallery=0")
    assert {"sphx_glr_first_steps_001.png", "sphx_glr_memoir_001.png"} <= pictures


# ----------------------------------------------------------------------------------- in a browser

# Opens a page in a frame, waits for its formulas, and returns what it measures.
LOOK = """
async function look(name, width) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.src = name;
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame); await loaded;
  const inside = frame.contentWindow, page = frame.contentDocument;
  if (inside.MathJax) await inside.MathJax.startup.promise;
  await new Promise(done => inside.requestAnimationFrame(() => setTimeout(done, 20)));
  const all = [...page.querySelectorAll("main *, header *")];
  const clipped = node => {
    for (let up = node.parentElement; up && up !== page.body; up = up.parentElement)
      if (inside.getComputedStyle(up).overflowX !== "visible") return true;
  };
  const wide = all.filter(node => node.getBoundingClientRect().right > width + 1 && !clipped(node));
  const scrolled = all.filter(node => node.scrollWidth > node.clientWidth + 1 && node.clientWidth
    && ["auto", "scroll"].includes(inside.getComputedStyle(node).overflowX));
  const found = {
    name, width, scrolled: scrolled.map(node => node.textContent.trim().slice(0, 60)),
    scroll: page.documentElement.scrollWidth, body: page.body.scrollWidth,
    formulas: page.querySelectorAll(".math").length,
    set: page.querySelectorAll(".math mjx-container, mjx-container .math").length,
    wide: wide.slice(0, 3).map(node => node.tagName + "." + node.className),
    pictures: [...page.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src),
  };
  frame.remove();
  return found;
}
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The site, and a list of requests that failed."""

    def __init__(self, *arguments, failed, **options):
        self.failed = failed
        super().__init__(*arguments, directory=str(SITE), **options)

    def send_error(self, code, message=None, explain=None):
        if self.path != "/favicon.ico":  # which a browser asks for beside the one of the page
            self.failed.append((code, self.path))
        super().send_error(code, message, explain)

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A browser that has opened a page of the site, and the requests that failed."""
    if PATH is None:
        pytest.skip("there is no Chromium; the Debian package chromium has it")
    failed = []
    handler = functools.partial(Handler, failed=failed)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Browser(tmp_path_factory.mktemp("browser")) as browser:
            browser.open(f"http://127.0.0.1:{server.server_address[1]}/genindex.html")
            yield browser, failed
        server.shutdown()


@pytest.fixture(scope="module")
def seen(site):
    """Measures of every page at every width, and the requests that failed."""
    browser, failed = site
    browser.value(f"(() => {{ {LOOK}; window.look = look; }})()")
    measures = [
        browser.value(f"look({json.dumps(name)}, {width})")
        for width in WIDTHS
        for name in written_pages()
    ]
    return measures, failed


def test_no_request_fails(seen):
    measures, failed = seen
    assert failed == []
    assert [m["name"] for m in measures if m["pictures"]] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_screen(seen, width):
    measures = [m for m in seen[0] if m["width"] == width]
    assert len(measures) == len(written_pages())
    wide = [m for m in measures if max(m["scroll"], m["body"]) > width or m["wide"]]
    assert wide == []


def test_nothing_is_scrolled_sideways_on_a_desktop(seen):
    laboratory = "development/measurements/"  # tables of all that was measured
    wide = [m for m in seen[0] if m["width"] == 1200 and m["scrolled"]]
    found = [(m["name"], m["scrolled"]) for m in wide if not m["name"].startswith(laboratory)]
    assert found == []


def test_every_formula_is_set(seen):
    assert sum(m["formulas"] for m in seen[0]) > 100
    assert [m["name"] for m in seen[0] if m["set"] < m["formulas"]] == []


# ------------------------------------------------------------------------------------- its search

FINDS = {  # what people type -> the page that answers, among the first three
    "threshold": "guide/label_sets",
    "probability": "guide/probabilities",
    "calibration": "guide/probabilities",
    "confidence": "guide/probabilities",
    "abstain": "guide/label_sets",
    "save model": "guide/saving",
    "load model": "guide/saving",
    "memory limit": "reference/environment",
    "environment variables": "reference/environment",
    "OMP_NUM_THREADS": "reference/environment",
    "n_jobs": "reference/threads",
    "unknown label": "reference/faq",
    "new category": "reference/faq",
    "label names": "guide/restrictions",
    "exclude items": "guide/restrictions",
    "early stopping": "estimators/index",
    "docker": "guide/serving",
    "fastapi": "guide/serving",
    "duplicates": "guide/preparing",
    "missing values": "guide/preparing",
    "time split": "guide/evaluating",
    "cross validation": "guide/evaluating",
    "hit rate": "howto/recommend",
    "MRR": "howto/recommend",
    "license": "reference/faq",
    "deprecated": "development/versions",
    "cite": "development/citing",
    "install": "start/install",
    "imbalanced": "howto/rare_labels",
    "embeddings": "howto/embeddings",
    "partial_fit": "guide/growing",
    "fasttext": "coming_from/fasttext",
    "out of memory": "guide/large_data",
    "hyperparameter search": "guide/tuning",
    "retrain": "guide/growing",
    "sample weight": "guide/tuning",
    "confusion matrix": "guide/explaining",
    "list of labels": "guide/predicting",
    "negative scores": "reference/faq",
    "csv": "reference/command_line",
    "reproducible": "reference/threads",
    "speed": "benchmarks/index",
    "LinearSVC": "coming_from/sklearn",
    "class imbalance": "howto/rare_labels",
    "similar documents": "estimators/neighbors",
    "unseen words": "guide/preparing",
    "ranking metrics": "api/metrics",
    "upgrade": "development/versions",
    "onnx": "reference/command_line",
    "word2vec": "coming_from/gensim",
    "gpu": "reference/faq",
    "windows": "start/install",
}
SEARCH = """
async function ask(query) {
  const frame = document.createElement("iframe");
  frame.src = "search.html?q=" + encodeURIComponent(query);
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame); await loaded;
  const page = frame.contentDocument;
  for (let tries = 0; tries < 100; tries++) {
    await new Promise(done => setTimeout(done, 50));
    const links = [...page.querySelectorAll("#search-results ul.search li > a")];
    const summary = page.querySelector(".search-summary");
    if (links.length > 5 || (summary && /finished|match/.test(summary.textContent))) {
      const found = links.map(a => a.getAttribute("href").replace(/\\.html.*/, ""));
      frame.remove();
      return [...new Set(found)].slice(0, 5);
    }
  }
  return [];
}
"""


@pytest.fixture(scope="module")
def found(site):
    """Pages that the site's search answers each query with, best first."""
    browser, _ = site
    browser.value(f"(() => {{ {SEARCH}; window.ask = ask; }})()")
    return {query: browser.value(f"ask({json.dumps(query)})") for query in FINDS}


@pytest.mark.parametrize("query", FINDS)
def test_search_finds_the_page_that_answers(found, query):
    assert FINDS[query] in found[query][:3]
