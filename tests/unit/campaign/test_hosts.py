"""A campaign over several hosts: side by side, equal ones only, and none of them is needed to the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.scripted_hosts import ScriptedHosts
from tests.unit.campaign.test_runner import CAMPAIGN, Campaign, speed

from shakedown.domain.errors import PlaceError
from shakedown.domain.progress import TrialBegan
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import FindingKind, Verdict

SIX = CAMPAIGN.replace("[1, 2, 3]", "[1, 2, 3, 4, 5, 6]")


def quick(candidate, plan):
    return speed(candidate.model_copy(update={"args": {"threads": 1 + candidate.args["threads"] % 3}}), plan)


def said(result: CampaignResult, kind: FindingKind) -> list[str]:
    return [finding.summary for finding in result.findings if finding.kind is kind]


def test_every_host_measures_the_reference_before_it_takes_part(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", "c")
    result = Campaign(tmp_path / "r", SIX).run(place).result
    assert place.started[0] == ("a", "baseline")
    first = dict(reversed(place.started))
    assert first == {"a": "baseline", "b": "baseline", "c": "baseline"}
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert {trial.host for trial in result.trials} == {"a", "b", "c"}


def test_independent_trials_run_at_the_same_time_on_different_hosts(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", "c", together=3)
    campaign = Campaign(tmp_path / "r", SIX)
    campaign.run(place)
    assert place.met == 3
    assert {update.host for update in campaign.updates if isinstance(update, TrialBegan)} == {"a", "b", "c"}


def test_no_candidate_is_launched_twice_at_once(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", "c", together=3)
    Campaign(tmp_path / "r", SIX).run(place)
    explored = [label for _, label in place.started if label != "baseline"]
    assert sorted(explored) == sorted(set(explored))


def test_hosts_come_to_the_verdicts_of_one_host(tmp_path: Path) -> None:
    alone = Campaign(tmp_path / "one", SIX).run(ScriptedHosts(quick, "a")).result
    pooled = Campaign(tmp_path / "three", SIX).run(ScriptedHosts(quick, "a", "b", "c")).result
    assert [(one.label, one.verdict) for one in pooled.candidates] == [
        (one.label, one.verdict) for one in alone.candidates
    ]
    assert pooled.winner is not None
    assert alone.winner is not None
    assert pooled.winner.label == alone.winner.label


def test_a_host_whose_reference_is_slower_is_set_apart_and_named(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", "c", slowness={"b": 1.3})
    result = Campaign(tmp_path / "r", SIX).run(place).result
    assert [label for host, label in place.started if host == "b"] == ["baseline"]
    (sentence,) = said(result, FindingKind.HOST_SET_APART)
    assert "The host b was set apart" in sentence
    assert "slower there than on a" in sentence
    assert {trial.host for trial in result.trials} == {"a", "c"}


def test_a_host_that_was_set_apart_stays_so_when_the_campaign_is_resumed(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "r", SIX)
    campaign.run(ScriptedHosts(quick, "a", "b", slowness={"b": 1.3}))
    again = ScriptedHosts(quick, "a", "b")
    result = campaign.run(again).result
    assert again.started == []
    assert said(result, FindingKind.HOST_SET_APART)


def test_a_host_that_dies_loses_one_trial_which_is_run_elsewhere(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", dies_after={"b": 1})
    campaign = Campaign(tmp_path / "r", SIX)
    result = campaign.run(place).result
    lost = [label for host, label in place.started if host == "b"][-1]
    assert [host for host, _ in place.started].count("b") == 2
    assert [label for host, label in place.started if host == "a"].count(lost) == 1
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert said(result, FindingKind.HOST_LOST) == ["The host b was given up: no connection for 130 s."]
    assert any("it is run again" in line for line in campaign.told)


def test_the_first_host_may_die_too(tmp_path: Path) -> None:
    place = ScriptedHosts(quick, "a", "b", dies_after={"a": 0})
    result = Campaign(tmp_path / "r", SIX).run(place).result
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert {trial.host for trial in result.trials if trial.verdict} == {"b"}


def test_without_any_host_left_the_campaign_says_so_and_can_be_resumed(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "r", SIX)
    with pytest.raises(PlaceError, match=r"no host is left.*a: no connection.*run the same command again"):
        campaign.run(ScriptedHosts(quick, "a", dies_after={"a": 2}))
    result = campaign.run(ScriptedHosts(quick, "a")).result
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert len([trial for trial in result.trials if trial.verdict]) == 6


@pytest.mark.parametrize("refusing", ["a", "b"])
def test_a_host_that_cannot_start_a_trial_is_given_up_and_the_others_go_on(tmp_path: Path, refusing: str) -> None:
    place = ScriptedHosts(quick, "a", "b", refuses=(refusing,))
    result = Campaign(tmp_path / "r", SIX).run(place).result
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert said(result, FindingKind.HOST_LOST) == [
        f"The host {refusing} was given up: ssh: connect to host: No route to host."
    ]


def test_a_host_proven_equal_is_not_set_apart_by_one_slow_launch_of_a_contender(tmp_path: Path) -> None:
    text = SIX.replace("launches = 1", "launches = 2")
    place = ScriptedHosts(quick, "a", "b", uneven={("b", "threads=4"): 1.2, ("a", "threads=4"): 0.9})
    result = Campaign(tmp_path / "r", text).run(place).result
    assert said(result, FindingKind.HOST_SET_APART) == []
    assert {trial.host for trial in result.trials} == {"a", "b"}
