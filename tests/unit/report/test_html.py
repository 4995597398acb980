import base64
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from tests.unit.report.sample_results import V_CACHE_LINE, demo_result, hostile_result, large_result

from shakedown.domain.result import CampaignResult
from shakedown.report.html import render

VOID = {"meta", "br", "img", "input", "hr", "link"}


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts, styles and everything else."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.raw.get(self._inside, self.text).append(data)

    def named(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)


@pytest.fixture(scope="module")
def demo() -> str:
    return render(demo_result())


def test_order_is_the_readers(demo: str) -> None:
    sections = ("sure", "findings", "candidates", "pictures", "evidence", "environment", "again")
    parts = ["<h1>", 'class="lede"', 'class="command"', *(f'id="{name}"' for name in sections)]
    places = [demo.index(part) for part in parts]
    assert places == sorted(places)


def test_page_needs_nothing_from_anywhere(demo: str) -> None:
    page = Page(demo)
    assert not [name for name, _ in page.elements if name in {"img", "link", "iframe", "object", "embed", "base"}]
    assert not [attributes for _, attributes in page.elements if "src" in attributes or "srcset" in attributes]
    style = "".join(page.raw["style"])
    assert "url(" not in style
    assert "@import" not in style
    assert "fetch(" not in "".join(page.raw["script"])


def test_policy_lets_only_the_pages_own_script_and_style_act(demo: str) -> None:
    page = Page(demo)
    policy = next(a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind, directive in (("script", "script-src"), ("style", "style-src")):
        [content] = page.raw[kind]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert not [a for _, a in page.elements if "style" in a or any(name.startswith("on") for name in a)]


@pytest.mark.parametrize("result", [demo_result(), hostile_result(), large_result(60)])
def test_size_and_wellformedness(result: CampaignResult) -> None:
    html = render(result)
    assert len(html.encode()) < 2_000_000
    ids = [a["id"] for _, a in Page(html).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_two_hundred_candidates_of_ten_levels_stay_below_two_megabytes() -> None:
    assert len(render(large_result()).encode()) < 2_000_000


def test_hostile_text_stays_text() -> None:
    page = Page(render(hostile_result()))
    assert len(page.raw["script"]) == 1
    assert not list(page.named("img"))
    assert not [a for a in page.named("a") if not (a["href"] or "").startswith(("#", "https://", "http://"))]
    text = "".join(page.text)
    assert "<script>document.title='owned'</script>" in text
    assert "${7*7} {{7*7}}" in text
    assert "\x1b" not in text
    allowed = {"id", "data-c", "data-verdict", "class"}
    known = {a for _, attributes in Page(render(demo_result())).elements for a in attributes}
    assert {a for _, attributes in page.elements for a in attributes} <= known | allowed


def test_winners_command_can_be_copied_whole(demo: str) -> None:
    result = demo_result()
    assert result.winner is not None
    code = re.search(r"<code>(.*?)</code></pre><button", demo, re.DOTALL)
    assert code is not None
    assert code.group(1) == result.winner.command


def test_table_has_every_candidate_with_what_it_is_sorted_by(demo: str) -> None:
    rows = [a for a in Page(demo).named("tr") if "data-verdict" in a]
    assert {a["data-c"] for a in rows} == {candidate.id for candidate in demo_result().candidates}
    sorts = re.findall(r'<td class="n" data-figure data-sort="([^"]*)"', demo)
    assert len(sorts) == 3 * len(rows)
    assert all(re.fullmatch(r"[0-9.e+-]*", value) for value in sorts)


def test_evidence_holds_log_lines_gates_settings_and_points(demo: str) -> None:
    evidence = demo[demo.index('id="evidence"') :]
    assert f"line 112: {V_CACHE_LINE}" in evidence
    assert "<b>Remedy:</b> Turn flash attention on. <code>--flash-attn on</code>" in evidence
    assert "mean KL 0.0871 nats" in evidence or "mean KL divergence 0.0871 nats" in evidence
    assert "<dt>max_running_requests</dt><dd>4</dd>" in evidence
    assert "n_ctx_seq (512) &lt; n_ctx_train (8192)" in evidence
    assert evidence.count('<table class="raw">') == sum(
        bool(candidate.points) for candidate in demo_result().candidates
    )


def test_every_link_within_the_page_leads_somewhere(demo: str) -> None:
    page = Page(demo)
    ids = {a["id"] for _, a in page.elements if "id" in a}
    targets = {(a["href"] or "")[1:] for a in page.named("a") if (a["href"] or "").startswith("#")}
    assert targets <= ids


@pytest.mark.parametrize(
    "change",
    [
        {"winner": None},
        {"candidates": (), "winner": None, "trials": (), "comparisons": (), "findings": ()},
        {"trials": ()},
        {"machine": {}, "model": {}, "engine": {}},
    ],
)
def test_any_part_may_be_missing(change: dict[str, object]) -> None:
    assert "</html>" in render(demo_result().model_copy(update=change))


def test_unfinished_campaign_says_so() -> None:
    html = render(demo_result(complete=False))
    assert "not complete" in html
    assert "run it again into the same folder and it resumes" in html
