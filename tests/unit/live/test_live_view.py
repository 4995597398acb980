import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.unit.live.updates import START, until_load, whole_campaign

from shakedown.domain.check import CheckResult
from shakedown.domain.events import CheckFinished, PointStarted
from shakedown.domain.progress import (
    UPDATE,
    CampaignEnded,
    CampaignStarted,
    CampaignUpdate,
    CandidateJudged,
    TimeLeft,
    TrialBegan,
    TrialEvent,
)
from shakedown.domain.words import CheckVerdict, Verdict
from shakedown.live.screen import screen
from shakedown.live.state import CampaignState
from shakedown.live.view import LiveView


def shown(updates: list[CampaignUpdate], *, now: float = START + 20, width: int = 100, height: int = 40) -> str:
    state = CampaignState()
    for update in updates:
        state.apply(update)
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(screen(state, now, height))
    return console.file.getvalue()


def lines(updates: list[CampaignUpdate]) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    with LiveView(console) as view:
        for update in updates:
            view.handle(update)
    return console.file.getvalue().splitlines()


def test_screen_shows_stage_phase_load_point_and_time_left() -> None:
    text = shown(until_load())
    assert "baseline" in text
    assert "under load" in text
    assert "weights 0.40 s → ready 0.84 s" in text
    assert "gates  1 passed" in text
    assert "prose at 4, repeat 2" in text
    assert "15/16" in text
    assert "150 tok/s" in text
    assert "4 running" in text
    assert "about 1 min 00 s left" in text
    assert "0 of 2 candidates · 1 pruned · 20 s so far" in text


def test_screen_shows_candidates_so_far_with_verdicts() -> None:
    text = shown(whole_campaign()[:-1])
    assert "2 of 3 candidates" in text  # the remedy's candidate is counted
    assert "161 tok/s at 4" in text
    assert "failed" in text
    assert "V cache quantization requires flash_attn" in text


def test_screen_says_when_the_estimate_has_passed() -> None:
    assert "longer than expected" in shown(until_load(), now=START + 500)


def test_screen_never_outgrows_the_terminal() -> None:
    updates = until_load()
    for number in range(100):
        updates.append(
            CandidateJudged(
                at=START + 30,
                candidate_id=f"{number}",
                label=f"c{number}",
                verdict=Verdict.QUALIFIED,
                reason="long " * 60,
            )
        )
    text = shown(updates, height=30)
    assert len(text.splitlines()) <= 30
    assert "c99" in text
    assert "and 84 before these" in text


def test_resumed_campaign_counts_what_was_finished_before() -> None:
    started = CampaignStarted(at=START, name="d", folder="f", candidates=9, pruned=0, finished=4, estimated_s=None)
    assert "4 of 9 candidates" in shown([started])


def test_plain_lines_say_each_step_once_and_no_progress() -> None:
    said = lines(whole_campaign())
    assert said == [
        "demo: 2 candidates to launch, 1 pruned, about 2 min 00 s; results in /tmp/demo",
        "[1/2] baseline: launching",
        "[1/2] baseline: process 101 on port 45123, log trials/1/server.log",
        "[1/2] baseline: ready after 0.84 s",
        "[1/2] baseline: gates: 1 passed",
        "[1/2] baseline: prose at 4: 161 tok/s, TTFT 440 ms, TPOT 24.8 ms, 16/16 ok",
        "[1/2] baseline: prose at 4: 161 tok/s, TTFT 440 ms, TPOT 24.8 ms, 16/16 ok",
        "baseline: qualified: starts, answers, accurate",
        "[2/2] kv=kv-q8_0: launching",
        "kv=kv-q8_0: failed: V cache quantization requires flash_attn",
        "new candidate kv=kv-q8_0 + flash-attn=on from kv=kv-q8_0: flash-attn on",
        "demo: done, winner baseline",
    ]


def test_a_failed_gate_is_told_by_name_at_once() -> None:
    failed = CheckResult(name="token_runs", verdict=CheckVerdict.FAIL, summary="8 of 8 are '!!!!'", seconds=1.0)
    event = CheckFinished(at=START + 5, check=failed)
    updates = [*until_load()[:3], TrialEvent(at=START + 5, trial_id="t1", event=event)]
    assert lines(updates)[-1] == "[1/2] baseline: token_runs failed: 8 of 8 are '!!!!'"
    assert "1 failed · token_runs" in shown(updates)


def test_plain_lines_stay_one_line_each_and_plain_whatever_the_labels_hold() -> None:
    hostile = CampaignStarted(
        at=START, name="[red]x[/red]\n\x1b[31m", folder="f", candidates=1, pruned=0, estimated_s=None
    )
    assert lines([hostile]) == ["[red]x[/red] \\x1b[31m: 1 candidates to launch; results in f"]


def test_interrupted_campaign_says_how_far_it_came() -> None:
    ended = CampaignEnded(at=START + 70, winner=None, interrupted=True)
    assert lines([*whole_campaign()[:-1], ended])[-1] == "demo: interrupted after 2 of 3 candidates"


def test_terminal_view_draws_and_leaves_the_screen_clean() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=40)
    with LiveView(console, clock=lambda: START + 20) as view:
        for update in until_load():
            view.handle(update)
    drawn = console.file.getvalue()
    assert "prose at 4" in drawn
    assert drawn.endswith("\x1b[2K") or "\x1b[?25h" in drawn  # cursor is shown again


def test_every_update_survives_json() -> None:
    for update in whole_campaign():
        assert UPDATE.validate_json(UPDATE.dump_json(update)) == update


@given(st.permutations(whole_campaign()), st.floats(min_value=0, max_value=1e5))
def test_no_order_of_updates_breaks_view_or_count(updates: list[CampaignUpdate], later: float) -> None:
    state = CampaignState()
    for update in [*updates, TimeLeft(at=START, seconds=None)]:
        state.apply(update)
        assert 0 <= state.finished <= max(state.candidates, 0)
        screen(state, START + later, 40)


def test_every_host_is_shown_with_its_trial() -> None:
    began = [
        TrialBegan(at=START, trial_id=f"t{host}", candidate_id="c", label=f"slots={host}", index=1, of=2, host=host)
        for host in ("ada", "bob")
    ]
    load = PointStarted(at=START + 1, workload="w", concurrency=4, request_rate=None, repeat=0, requests=8)
    updates = [*until_load()[:1], *began, TrialEvent(at=START + 1, trial_id="tada", event=load)]
    drawn = shown(updates)
    assert "slots=ada  on ada" in drawn
    assert "slots=bob  on bob" in drawn
    assert "w at 4" in drawn
    assert lines(updates)[1:] == ["[1/2] slots=ada: launching on ada", "[1/2] slots=bob: launching on bob"]


def test_the_next_trial_of_a_host_takes_the_place_of_the_one_before() -> None:
    began = [
        TrialBegan(at=START, trial_id=label, candidate_id="c", label=label, index=1, of=2, host="ada")
        for label in ("first", "second")
    ]
    drawn = shown([*until_load()[:1], *began])
    assert "second" in drawn
    assert "first" not in drawn
