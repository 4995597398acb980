"""The page in a real browser. Needs ``pip install 'llm-shakedown[browser]'`` and a Chromium on the PATH."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.report.sample_results import demo_result, hostile_result, large_result

from shakedown.report.html import render

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra 'browser')")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra 'browser')")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH (apt-get install chromium)"),
]

RESULTS = {"demo": demo_result, "hostile": hostile_result, "large": large_result}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for name, make in RESULTS.items():
        written[name] = folder / f"{name}.html"
        written[name].write_text(render(make()), encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that is open, with all that it complained of and asked for."""

    def __init__(self, browser: "sync_api.Browser", file: Path, **options: object) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def shown(self) -> list[str]:
        return self.page.locator("table.candidates tbody tr:visible th a").all_inner_texts()


@pytest.fixture
def visit(browser, pages) -> Iterator[Visit]:
    visit = Visit(browser, pages["demo"], viewport={"width": 1280, "height": 900})
    yield visit
    assert visit.complaints == []
    visit.context.close()


@pytest.mark.parametrize("name", RESULTS)
def test_page_opens_in_silence_and_asks_nobody_for_anything(browser, pages, name: str) -> None:
    visit = Visit(browser, pages[name])
    visit.page.wait_for_load_state("networkidle")
    assert visit.complaints == []
    assert visit.requests == [pages[name].as_uri()]
    assert not visit.page.title().startswith("owned")
    visit.context.close()


def numbers(visit: Visit, column: int) -> list[float | None]:
    cells = visit.page.locator(f"table.candidates tbody tr td:nth-child({column + 1})")
    values = cells.evaluate_all("cells => cells.map(cell => cell.dataset.sort)")
    return [None if value == "" else float(value) for value in values]


@pytest.mark.parametrize(("title", "column"), [("Ratio", 2), ("tok/s", 3), ("TTFT p50", 4), ("KL", 6)])
def test_columns_sort_both_ways_with_the_unmeasured_last(visit: Visit, title: str, column: int) -> None:
    button = visit.page.get_by_role("button", name=title, exact=True)
    orders = []
    for _ in range(2):
        button.click()
        values = numbers(visit, column)
        known = [value for value in values if value is not None]
        assert all(value is None for value in values[len(known) :])
        orders.append(known)
    assert sorted(orders, key=lambda order: order[0]) == [sorted(orders[0]), sorted(orders[0], reverse=True)]
    head = visit.page.locator(f"table.candidates thead th:nth-child({column + 1})")
    assert head.get_attribute("aria-sort") in {"ascending", "descending"}


def test_columns_sort_by_keyboard(visit: Visit) -> None:
    visit.page.get_by_role("button", name="tok/s", exact=True).focus()
    visit.page.keyboard.press("Enter")
    values = [value for value in numbers(visit, 3) if value is not None]
    assert values == sorted(values, reverse=True)


def test_words_and_verdicts_filter_table_pictures_and_evidence_alike(visit: Visit) -> None:
    everything = len(visit.shown())
    visit.page.get_by_label("Find").fill("ngram slots")
    assert visit.shown() == ["speculation=ngram, slots=2"]
    assert visit.page.locator("#count").inner_text() == f"1 of {everything} shown"
    assert visit.page.locator("#throughput-latency .series:visible").count() == 2  # one a panel
    assert visit.page.locator("details.candidate:visible").count() == 1
    visit.page.get_by_label("Find").fill("")
    visit.page.get_by_label("qualified").uncheck()
    assert set(visit.shown()) == {c.label for c in demo_result().candidates if c.verdict != "qualified"}
    assert visit.page.locator("#throughput-latency .series:visible").count() == 0


def test_load_can_be_chosen(visit: Visit) -> None:
    before = numbers(visit, 3)
    visit.page.get_by_label("Load", exact=True).select_option(label="random-tokens at 1")
    after = numbers(visit, 3)
    assert before != after
    best = visit.page.locator("tr.winner td[data-figure]").first.inner_text()
    assert best.splitlines()[0] == "83.1"


def test_commands_are_copied_whole(visit: Visit) -> None:
    winner = demo_result().winner
    assert winner is not None
    visit.page.get_by_role("button", name="Copy the winner's command").click()
    visit.page.get_by_text("Copied", exact=True).first.wait_for()
    search = visit.page.get_by_label("Find")
    search.focus()
    visit.page.keyboard.press("Control+V")
    assert search.input_value() == winner.command


def test_a_link_opens_the_evidence_it_leads_to(visit: Visit) -> None:
    row = visit.page.locator("table.candidates tbody tr", has_text="kv=k-q4_0")
    row.get_by_role("link").click()
    evidence = visit.page.locator("details.candidate[open]")
    assert evidence.count() == 1
    evidence.get_by_text("mean KL divergence 0.0871 nats").first.wait_for()  # laid out once it is come near to


def test_pointing_at_a_mark_says_what_it_is_and_lights_it_up_everywhere(visit: Visit) -> None:
    mark = visit.page.locator("#scaling .series.best circle").last
    mark.hover()
    tip = visit.page.locator("#tip")
    assert "speculation=ngram\nrandom-tokens at 4: 143 tok/s" in tip.inner_text()
    assert visit.page.locator("tr.hot").count() == 1
    assert visit.page.locator("#throughput-latency .series.hot").count() == 2
    visit.page.keyboard.press("Escape")
    assert visit.page.locator(".hot").count() == 0


def test_colours_can_be_switched(visit: Visit) -> None:
    def paper() -> str:
        return visit.page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = paper()
    visit.page.get_by_role("button", name="Light or dark").click()
    assert paper() != light


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["demo", "hostile"])
def test_axe_finds_nothing(browser, pages, name: str, width: int, scheme: str) -> None:
    visit = Visit(browser, pages[name], viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    visit.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    found = axe.Axe().run(visit.page).response["violations"]
    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found] == []
    visit.context.close()


@pytest.mark.parametrize("name", RESULTS)
def test_nothing_but_tables_and_wide_pictures_scrolls_sideways_on_a_phone(browser, pages, name: str) -> None:
    visit = Visit(browser, pages[name], viewport={"width": 360, "height": 780})
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 360
    visit.context.close()


def test_page_is_whole_without_its_script(browser, pages) -> None:
    visit = Visit(browser, pages["demo"], java_script_enabled=False)
    assert len(visit.shown()) == len(demo_result().candidates)
    assert visit.page.locator("#throughput-latency svg:visible").count() == 2
    assert visit.page.get_by_role("button", name="Copy").count() == 0
    assert visit.page.locator("pre code:visible").first.inner_text() == demo_result().winner.command
    visit.context.close()


def test_paper_shows_the_evidence(browser, pages, tmp_path: Path) -> None:
    visit = Visit(browser, pages["demo"])
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.locator("details.candidate:not([open])").count() == 0
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.locator("details.candidate[open]").count() == 0
    assert visit.page.pdf().startswith(b"%PDF")
    visit.context.close()


def test_two_hundred_candidates_can_be_searched(browser, pages) -> None:
    visit = Visit(browser, pages["large"], viewport={"width": 1280, "height": 900})
    assert len(visit.shown()) == 200
    visit.page.get_by_label("Find").fill("threads=17")
    assert all(re.search(r"threads=17\d?$", label) for label in visit.shown())
    assert visit.page.locator("#count").inner_text().endswith("of 200 shown")
    visit.context.close()
