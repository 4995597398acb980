"""A second campaign beside an earlier one: what it may take over, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.scripted_place import ScriptedPlace
from tests.unit.campaign.test_runner import CAMPAIGN, Campaign, by_label, failing_for, quick

from shakedown.campaign.library import library_file, remember


@pytest.fixture(autouse=True)
def own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def earlier(tmp_path: Path) -> Campaign:
    campaign = Campaign(tmp_path / "earlier")
    campaign.run(ScriptedPlace(quick))
    remember(campaign.folder)
    return campaign


def test_launches_under_the_same_conditions_are_taken_over_and_it_is_said(tmp_path: Path, earlier: Campaign) -> None:
    again = Campaign(tmp_path / "again", CAMPAIGN.replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    result = again.run(ScriptedPlace(quick), reuse=True).result
    assert by_label(result)["threads=4"].launches == 1
    taken = [trial.reused_from for trial in result.trials]
    assert taken == [str(earlier.folder)] * 3 + [None]
    assert any("3 launches" in said and str(earlier.folder) in said for said in again.told)
    assert result.winner is not None
    assert f"3 launches of 4 were taken from {earlier.folder}" in result.winner.why


def test_without_being_asked_nothing_is_taken_but_the_possibility_is_told(tmp_path: Path, earlier: Campaign) -> None:
    again = Campaign(tmp_path / "again")
    place = ScriptedPlace(quick)
    again.run(place)
    assert len(place.requests) == 3
    assert any("--reuse" in said for said in again.told)


def test_another_engine_version_is_never_taken_and_is_named(tmp_path: Path, earlier: Campaign) -> None:
    again = Campaign(tmp_path / "again")
    again.version = "2"
    place = ScriptedPlace(quick)
    again.run(place, reuse=True)
    assert len(place.requests) == 3
    assert any("version 1" in said and "this is 2" in said for said in again.told)


@pytest.mark.parametrize(
    ("then", "now"),
    [("concurrency = [1, 4]", "concurrency = [1, 8]"), ("repeats = 2", "repeats = 3"), ('"auto"', '"on"')],
)
def test_another_load_or_other_arguments_are_not_taken(tmp_path: Path, earlier: Campaign, then: str, now: str) -> None:
    place = ScriptedPlace(quick)
    Campaign(tmp_path / "again", CAMPAIGN.replace(then, now)).run(place, reuse=True)
    assert len(place.requests) == 3


def test_a_failure_is_taken_over_with_its_remedy(tmp_path: Path) -> None:
    first = Campaign(tmp_path / "first")
    first.run(ScriptedPlace(failing_for(2)))
    remember(first.folder)
    place = ScriptedPlace(failing_for(2))
    result = Campaign(tmp_path / "again").run(place, reuse=True).result
    assert place.launched() == ["threads=2 + set flash-attn = 'on'"]
    assert by_label(result)["threads=2"].mended_by is not None


def test_a_campaign_that_has_launches_takes_nothing_more(tmp_path: Path, earlier: Campaign) -> None:
    again = Campaign(tmp_path / "again")
    again.run(ScriptedPlace(quick), stop_after_trials=0)
    place = ScriptedPlace(quick)
    result = again.run(place, reuse=True).result
    assert {trial.reused_from for trial in result.trials} == {None}


def test_a_folder_is_entered_once_and_one_that_is_gone_is_passed_over(tmp_path: Path, earlier: Campaign) -> None:
    remember(earlier.folder)
    assert len(library_file().read_text().splitlines()) == 1
    earlier.folder.rename(tmp_path / "elsewhere")
    place = ScriptedPlace(quick)
    Campaign(tmp_path / "again").run(place, reuse=True)
    assert len(place.requests) == 3
