import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.report.sample_results import demo_result, hostile_result, large_result, point

from shakedown.domain.result import CampaignResult, CeilingResult
from shakedown.report.pictures.registry import pictures
from shakedown.report.pictures.scale import Scale, linear, logarithmic, spread
from shakedown.report.pictures.speculation import gains
from shakedown.report.pictures.theme import DARK, LIGHT, standalone, template

SVG = "{http://www.w3.org/2000/svg}"
positive = st.floats(min_value=1e-6, max_value=1e9)


@given(st.lists(positive, min_size=1), st.booleans())
def test_scales_keep_order_and_stay_inside(values: list[float], log: bool) -> None:
    scale = (logarithmic if log else spread)(values, 50.0, 500.0)
    pixels = [scale(value) for value in sorted(values)]
    assert pixels == sorted(pixels)
    assert all(50.0 <= pixel <= 500.0 for pixel in pixels)


@given(positive, st.floats(min_value=1.01, max_value=1e6), st.booleans())
def test_ticks_lie_within_the_scale_in_order(low: float, factor: float, log: bool) -> None:
    scale = Scale(low, low * factor, 0.0, 100.0, log)
    ticks = scale.ticks()
    assert ticks == sorted(ticks)
    assert all(low * (1 - 1e-6) <= tick <= low * factor * (1 + 1e-6) for tick in ticks)
    if not log:
        assert 2 <= len(ticks) <= 12


@given(st.lists(positive))
def test_linear_scales_begin_at_zero(values: list[float]) -> None:
    assume(all(value > 0 for value in values))
    assert linear(values, 0.0, 100.0)(0.0) == 0.0


@pytest.mark.parametrize("picture", pictures(), ids=lambda picture: picture.name)
@pytest.mark.parametrize(
    "result", [demo_result(), hostile_result(), large_result(70)], ids=["demo", "hostile", "large"]
)
def test_pictures_are_wellformed_and_named_for_readers_without_eyes(picture, result: CampaignResult) -> None:
    panels = picture.draw(result)
    assert panels or (picture.name == "speculation" and len(result.candidates) == 70)
    for panel in panels:
        root = ET.fromstring(str(panel.svg))
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert not [element for element in root.iter() if element.tag in {f"{SVG}script", f"{SVG}foreignObject"}]
        assert not [name for element in root.iter() for name in element.attrib if name.startswith(("on", "style"))]
        ET.fromstring(standalone(panel))


@pytest.mark.parametrize("picture", pictures(), ids=lambda picture: picture.name)
def test_pictures_of_an_empty_campaign_are_left_out(picture) -> None:
    empty = demo_result().model_copy(update={"candidates": (), "trials": (), "winner": None})
    assert picture.draw(empty) == []


def test_every_measured_level_of_every_candidate_is_drawn() -> None:
    result = demo_result()
    picture = next(picture for picture in pictures() if picture.name == "throughput-latency")
    for panel in picture.draw(result):
        root = ET.fromstring(str(panel.svg))
        drawn = {
            group.get("data-c"): len(group.findall(f"{SVG}circle"))
            for group in root.iter(f"{SVG}g")
            if group.get("data-c")
        }
        assert drawn == {candidate.id: 3 for candidate in result.candidates if candidate.points}


def test_the_winners_ceiling_is_drawn_where_it_does_not_dwarf_what_was_measured() -> None:
    result = demo_result()
    picture = next(picture for picture in pictures() if picture.name == "scaling")
    near = CeilingResult(output_tokens_per_s=300.0, candidate_id=result.winner.id, workload="prose")
    far = CeilingResult(output_tokens_per_s=90_000.0, workload="random-tokens")
    foreign = CeilingResult(output_tokens_per_s=310.0, candidate_id="another", workload="random-tokens")
    prose, random_tokens = picture.draw(result.model_copy(update={"ceilings": (near, far, foreign)}))
    assert "ceiling of the winner, 300 tok/s at 4" in prose.svg
    assert "ceiling" not in random_tokens.svg


def test_one_concurrency_makes_no_scaling_picture() -> None:
    result = demo_result()
    single = tuple(
        candidate.model_copy(update={"points": (point("prose", 4, 0, 100.0),) if candidate.points else ()})
        for candidate in result.candidates
    )
    picture = next(picture for picture in pictures() if picture.name == "scaling")
    assert picture.draw(result.model_copy(update={"candidates": single})) == []


def test_break_even_is_where_the_step_only_just_pays() -> None:
    found = [gain for gain in gains(demo_result()) if gain.candidate.label == "speculation=ngram"]
    assert len(found) == 6
    for gain in found:
        assert gain.speed_up is not None
        assert gain.break_even == pytest.approx(gain.accept_length / gain.speed_up, rel=0.01)
        assert (gain.accept_length > gain.break_even) == (gain.speed_up > 1)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear_parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear_parts[0] + 0.7152 * linear_parts[1] + 0.0722 * linear_parts[2]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_hold_their_contrast(palette: dict[str, str]) -> None:
    def contrast(one: str, other: str) -> float:
        light, dark = sorted((luminance(palette[one]), luminance(palette[other])), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    for text in ("ink", "soft", "link", "best-text", "failed-text"):
        for ground in ("paper", "well", "hot"):
            assert contrast(text, ground) >= 4.5, (text, ground)
    for mark in ("best", "equal", "open", "slower", "failed", "inaccurate", "pruned", "edge", "focus"):
        assert contrast(mark, "paper") >= 3.0, mark


def test_palettes_name_the_same_colours_and_all_that_are_used() -> None:
    assert LIGHT.keys() == DARK.keys()
    used = set(re.findall(r"var\(--([\w-]+)\)", template("page.css") + template("picture.css")))
    assert used <= LIGHT.keys()
