import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.fakes.scripted_hosts import ScriptedHosts
from tests.fakes.scripted_place import FLASH, Script, ScriptedPlace, failing, measured, started

from shakedown.campaign.interrupt import Interrupt
from shakedown.campaign.results import load_result
from shakedown.campaign.runner import CampaignRunner, Ended
from shakedown.campaign.subject import Subject
from shakedown.domain.candidate import Candidate
from shakedown.domain.errors import UserError
from shakedown.domain.events import Event, TrialFinished
from shakedown.domain.facts import EngineFacts, ModelFacts, Quantization
from shakedown.domain.failure import Failure, Remedy
from shakedown.domain.progress import CampaignUpdate, CandidateAdded, TrialEvent
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import Category, EngineKind, FindingKind, Stage, Verdict
from shakedown.domain.workload import PointPlan
from shakedown.store.campaign_store import CampaignStore

CAMPAIGN = """
[campaign]
name = "c"
strategy = "grid"
[model]
path = "/m.gguf"
[engine]
kind = "llama.cpp"
args = { flash-attn = "auto" }
[[vary]]
name = "threads"
arg = "threads"
values = [1, 2, 3]
[[workload]]
name = "w"
concurrency = [1, 4]
[decide]
margin = 0.02
launches = 1
repeats = 2
"""
FAST = {1: 100.0, 2: 150.0, 3: 120.0, 4: 110.0}


def speed(candidate: Candidate, plan: PointPlan) -> float:
    threads = candidate.args["threads"]
    assert isinstance(threads, int)
    return FAST[threads] * (plan.level.concurrency or 1) * (1 + 0.001 * plan.repeat)


def quick(request: TrialRequest) -> list[Event]:
    return measured(request, speed)


class Campaign:
    """Runs campaigns in one folder, as often as asked."""

    def __init__(self, folder: Path, text: str = CAMPAIGN) -> None:
        self.folder = folder
        self.text = text
        self.updates: list[CampaignUpdate] = []
        self.version = "1"
        self.told: list[str] = []
        self.killed = False

    @property
    def spec(self) -> CampaignSpec:
        return parse_campaign(self.text, "c.toml")

    def run(
        self,
        place: ScriptedPlace | ScriptedHosts,
        *,
        stop_after_trials: int | None = None,
        model: ModelFacts | None = None,
        kind: EngineKind = EngineKind.LLAMA_CPP,
        die_on: Verdict | None = None,
        reuse: bool = False,
    ) -> Ended:
        interrupt = Interrupt()

        def watch(update: CampaignUpdate) -> None:
            self.updates.append(update)
            event = update.event if isinstance(update, TrialEvent) else None
            if isinstance(event, TrialFinished) and event.verdict is die_on:
                raise KeyboardInterrupt
            if (
                stop_after_trials is not None
                and isinstance(place, ScriptedPlace)
                and len(place.requests) > stop_after_trials
            ):
                interrupt.stop()

        facts = EngineFacts(kind=kind, version=self.version, flags=None)
        subject = Subject(spec=self.spec, model=model, machine=None, engine=facts, builds=())
        spec = self.spec
        with CampaignStore.create_or_open(
            self.folder, name=spec.campaign.name, campaign_text=self.text, spec=spec.model_dump(mode="json")
        ) as store:
            return CampaignRunner(
                subject, store, place, watch=watch, tell=self.told.append, interrupt=interrupt, reuse_earlier=reuse
            ).run()


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path / "result")


def by_label(result: CampaignResult) -> dict[str, CandidateResult]:
    return {candidate.label: candidate for candidate in result.candidates}


def failing_for(threads: int, then: Script = quick) -> Script:
    def script(request: TrialRequest) -> Sequence[Event]:
        args = request.candidate.args
        return failing(request) if args["threads"] == threads and args.get("flash-attn") != "on" else then(request)

    return script


def test_the_fastest_correct_candidate_wins_and_the_reference_goes_first(campaign: Campaign) -> None:
    place = ScriptedPlace(quick)
    ended = campaign.run(place)
    assert place.launched() == ["baseline", "threads=2", "threads=3"]
    assert ended.result.winner is not None
    assert ended.result.winner.label == "threads=2"
    assert not ended.interrupted
    assert ended.result.campaign.complete
    standing = by_label(ended.result)["baseline"].standing
    assert standing is not None
    assert standing.ratio == pytest.approx(100 / 150)


def test_every_point_is_measured_in_rounds(campaign: Campaign) -> None:
    place = ScriptedPlace(quick)
    campaign.run(place)
    plans = [(plan.repeat, plan.level.concurrency) for plan in place.requests[0].points]
    assert plans == [(0, 1), (0, 4), (1, 1), (1, 4)]


def test_a_failure_with_a_remedy_becomes_a_derived_candidate_that_runs(campaign: Campaign) -> None:
    place = ScriptedPlace(failing_for(2))
    result = campaign.run(place).result
    failed = by_label(result)["threads=2"]
    assert failed.verdict is Verdict.FAILED
    assert failed.failure is not None
    assert failed.failure.root_line == FLASH.root_line
    derived = next(candidate for candidate in result.candidates if candidate.id == failed.mended_by)
    assert derived.derived_from == failed.id
    assert derived.args["flash-attn"] == "on"
    assert derived.verdict is Verdict.QUALIFIED
    assert result.winner is not None
    assert result.winner.id == derived.id
    assert [type(update) for update in campaign.updates].count(CandidateAdded) == 1


def test_a_remedy_that_does_not_help_is_not_applied_again(campaign: Campaign) -> None:
    place = ScriptedPlace(
        lambda request: failing(request) if request.candidate.args["threads"] == 2 else quick(request)
    )
    result = campaign.run(place).result
    assert sum(request.candidate.args["threads"] == 2 for request in place.requests) == 2
    assert {candidate.verdict for candidate in result.candidates if candidate.args["threads"] == 2} == {Verdict.FAILED}


def test_when_the_remedy_makes_a_candidate_that_is_there_the_failed_one_names_it(tmp_path: Path) -> None:
    text = CAMPAIGN + '[[vary]]\nname = "fa"\narg = "flash-attn"\nvalues = ["off", "on"]\n'
    campaign = Campaign(tmp_path / "r", text)
    place = ScriptedPlace(failing_for(2))
    result = campaign.run(place).result
    failed = by_label(result)["threads=2"]
    assert failed.mended_by == by_label(result)["threads=2 fa=on"].id
    assert len(result.candidates) == 6


@pytest.mark.parametrize("stops", [[0], [1], [2], [0, 1], [1, 1]])
def test_a_stopped_campaign_resumes_and_ends_as_an_undisturbed_one(tmp_path: Path, stops: list[int]) -> None:
    whole = Campaign(tmp_path / "whole").run(ScriptedPlace(failing_for(2))).result
    campaign = Campaign(tmp_path / "stopped")
    finished: list[str] = []
    for trials in stops:
        ended = campaign.run(ScriptedPlace(failing_for(2)), stop_after_trials=trials)
        assert ended.interrupted
        assert not ended.result.campaign.complete
    place = ScriptedPlace(failing_for(2))
    result = campaign.run(place).result
    finished = [trial.candidate for trial in result.trials if trial.verdict is not None]
    assert sorted(finished) == sorted(set(finished)), "a finished trial ran twice"
    shape = [(candidate.label, candidate.verdict, len(candidate.points)) for candidate in whole.candidates]
    assert [(candidate.label, candidate.verdict, len(candidate.points)) for candidate in result.candidates] == shape
    assert result.winner == whole.winner


def test_a_finished_campaign_run_again_launches_nothing(campaign: Campaign) -> None:
    campaign.run(ScriptedPlace(quick))
    again = ScriptedPlace(quick)
    assert campaign.run(again).result.winner is not None
    assert again.requests == []


def dying(times: int) -> tuple[Script, Callable[[], int]]:
    deaths = 0

    def script(request: TrialRequest) -> Sequence[Event]:
        nonlocal deaths
        if request.candidate.args["threads"] == 2 and deaths < times:
            deaths += 1
            return started(request)
        return quick(request)

    return script, lambda: deaths


@pytest.mark.parametrize("times", [1, 2])
def test_a_trial_process_that_dies_now_and_then_is_run_again(campaign: Campaign, times: int) -> None:
    script, deaths = dying(times)
    result = campaign.run(ScriptedPlace(script)).result
    assert deaths() == times
    assert by_label(result)["threads=2"].verdict is Verdict.QUALIFIED


def test_a_trial_process_that_keeps_dying_fails_its_candidate(campaign: Campaign) -> None:
    script, _ = dying(99)
    result = campaign.run(ScriptedPlace(script)).result
    failed = by_label(result)["threads=2"]
    assert failed.verdict is Verdict.FAILED
    assert "killed by signal 9" in failed.reason
    assert result.winner is not None


PORT_TAKEN = Failure(
    category=Category.PORT_IN_USE,
    signature="port-in-use",
    stage=Stage.LAUNCH,
    root_line="port 1 is held by process 2",
    title="The port is taken",
    remedy=Remedy(advice="another port", retry_unchanged=True),
)


def stealing(*launches: int) -> Script:
    """Somebody takes the port of those launches of the candidate with two threads, counted from 1."""
    seen = 0

    def script(request: TrialRequest) -> Sequence[Event]:
        nonlocal seen
        seen += request.candidate.args["threads"] == 2
        stolen = request.candidate.args["threads"] == 2 and seen in launches
        return failing(request, PORT_TAKEN) if stolen else quick(request)

    return script


@pytest.mark.parametrize("launch", [1, 2])
def test_a_port_that_was_taken_costs_a_launch_and_no_verdict(tmp_path: Path, launch: int) -> None:
    campaign = Campaign(tmp_path / "r", CAMPAIGN.replace("launches = 1", "launches = 2"))
    place = ScriptedPlace(stealing(launch))
    result = campaign.run(place).result
    assert by_label(result)["threads=2"].verdict is Verdict.QUALIFIED
    assert len(by_label(result)["threads=2"].launch_ratios) == 2
    assert place.launched().count("threads=2") == 3


@pytest.mark.parametrize(("stolen", "verdict"), [((1, 2), Verdict.QUALIFIED), ((1, 2, 3), Verdict.FAILED)])
def test_a_port_taken_over_and_over_is_given_up_at_the_third(
    campaign: Campaign, stolen: tuple[int, ...], verdict: Verdict
) -> None:
    place = ScriptedPlace(stealing(*stolen))
    result = campaign.run(place).result
    assert by_label(result)["threads=2"].verdict is verdict
    assert place.launched().count("threads=2") == 3


@pytest.mark.parametrize("failure", [FLASH, PORT_TAKEN])
def test_a_campaign_killed_before_it_applied_a_remedy_owes_it(campaign: Campaign, failure: Failure) -> None:
    def script(request: TrialRequest) -> Sequence[Event]:
        failed = campaign.killed is False and request.candidate.args["threads"] == 2
        return failing(request, failure) if failed else quick(request)

    campaign.killed = False
    with pytest.raises(KeyboardInterrupt):
        campaign.run(ScriptedPlace(script), die_on=Verdict.FAILED)
    campaign.killed = True
    result = campaign.run(ScriptedPlace(script)).result
    failed = by_label(result)["threads=2"]
    assert failed.mended_by is not None or failed.verdict is Verdict.QUALIFIED
    assert result.winner is not None
    assert result.winner.label.startswith("threads=2")


def test_a_failure_whose_remedy_is_owed_teaches_nothing(tmp_path: Path) -> None:
    """Two failures, the campaign killed after each; while the second one's remedy is owed it is no lesson."""
    text = CAMPAIGN + '[[vary]]\nname = "v"\narg = "cache-type-v"\nvalues = ["f16", "q8_0"]\n'

    def script(request: TrialRequest) -> Sequence[Event]:
        args = request.candidate.args
        return failing(request) if args["cache-type-v"] == "q8_0" and args["flash-attn"] != "on" else quick(request)

    whole = Campaign(tmp_path / "whole", text).run(ScriptedPlace(script)).result
    campaign = Campaign(tmp_path / "killed", text)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            campaign.run(ScriptedPlace(script), die_on=Verdict.FAILED)
    result = campaign.run(ScriptedPlace(script)).result
    assert {one.label: one.verdict for one in result.candidates} == {one.label: one.verdict for one in whole.candidates}


def test_nothing_qualifies_when_nothing_starts(campaign: Campaign) -> None:
    result = campaign.run(
        ScriptedPlace(lambda request: failing(request, FLASH.model_copy(update={"remedy": None, "signature": None})))
    ).result
    assert result.winner is None
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.FAILED}


def test_pruned_candidates_are_launched_once_to_prove_the_rule(tmp_path: Path) -> None:
    text = (
        CAMPAIGN.replace('"auto"', '"off"') + '[[vary]]\nname = "v"\narg = "cache-type-v"\nvalues = ["f16", "q8_0"]\n'
    )

    def script(request: TrialRequest) -> Sequence[Event]:
        args = request.candidate.args
        refused = args["cache-type-v"] == "q8_0" and args["flash-attn"] == "off"
        return failing(request) if refused else quick(request)

    silent = ScriptedPlace(script)
    result = Campaign(tmp_path / "silent", text).run(silent).result
    pruned = [candidate for candidate in result.candidates if candidate.verdict is Verdict.PRUNED]
    assert len(pruned) == 3
    assert all(candidate.rule for candidate in pruned)
    assert len(silent.requests) == 6

    proving = ScriptedPlace(script)
    proven = text.replace('strategy = "grid"', 'strategy = "grid"\nlaunch_pruned = true')
    result = Campaign(tmp_path / "proving", proven).run(proving).result
    pruned = [candidate for candidate in result.candidates if candidate.verdict is Verdict.PRUNED]
    assert len(proving.requests) == 9
    assert proving.launched()[0] == "baseline"
    assert all(candidate.failure and candidate.failure.root_line for candidate in pruned)
    assert all(candidate.mended_by for candidate in pruned)


def test_another_engine_version_is_not_pooled_with_what_is_there(campaign: Campaign) -> None:
    campaign.run(ScriptedPlace(quick), stop_after_trials=0)
    campaign.version = "2"
    with pytest.raises(UserError, match="never pooled"):
        campaign.run(ScriptedPlace(quick))


def test_the_result_can_be_read_from_the_folder_alone(campaign: Campaign) -> None:
    result = campaign.run(ScriptedPlace(quick)).result
    loaded = load_result(campaign.folder)
    assert loaded.winner == result.winner
    assert loaded.campaign.complete


def test_a_failure_that_nothing_mends_is_not_launched_again_with_anything_it_does_not_depend_on(tmp_path: Path) -> None:
    text = CAMPAIGN + '[[vary]]\nname = "k"\narg = "cache-type-k"\nvalues = ["f16", "q4_0"]\n'
    failure = FLASH.model_copy(update={"signature": "llama-kv-type-does-not-divide-head", "remedy": None})

    def script(request: TrialRequest) -> Sequence[Event]:
        refused = request.candidate.args["cache-type-k"] == "q4_0"
        return failing(request, failure) if refused else quick(request)

    place = ScriptedPlace(script)
    result = Campaign(tmp_path / "r", text).run(place).result
    assert sum(request.candidate.args["cache-type-k"] == "q4_0" for request in place.requests) == 1
    learned = [candidate for candidate in result.candidates if candidate.rule == "learned-from-failure"]
    assert len(learned) == 2
    assert all("would fail as" in candidate.reason for candidate in learned)


SPACE = """
[[vary]]
name = "k"
arg = "cache-type-k"
values = ["f16", "q8_0"]
[[vary]]
name = "batch"
arg = "batch-size"
values = [2048, 512]
"""
ODD = Failure(category=None, signature=None, stage=Stage.BOOT, root_line="OddError: 7", title="OddError: 7")


def failing_if(guilty: Callable[[Candidate], bool]) -> Script:
    return lambda request: failing(request, ODD) if guilty(request.candidate) else quick(request)


def test_of_several_changes_the_one_to_blame_is_found_by_dropping_one_at_a_time(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("[1, 2, 3]", "[1, 2]").replace('"grid"', '"staged"') + SPACE
    place = ScriptedPlace(failing_if(lambda candidate: candidate.args["cache-type-k"] == "q8_0"))
    result = Campaign(tmp_path / "r", text).run(place).result
    first = next(request.candidate for request in place.requests if request.candidate.args["cache-type-k"] == "q8_0")
    assert len(first.label.split()) > 1, "the strategy began with a single change; nothing would have to be dropped"
    without = {**first.settings, "k": "f16"}
    assert any(request.candidate.settings == without for request in place.requests)
    assert "dropped: without k it starts" in by_label(result)[first.label].reason
    assert len(place.requests) == len({request.candidate.id for request in place.requests})


BUNDLE = """
[[vary]]
name = "bundle"
options = [
  { label = "off" },
  { label = "on", args = { batch-size = 512, ubatch-size = 256, keep = 4 } },
]
"""


@pytest.mark.parametrize("culprit", ["batch-size", "ubatch-size", "keep"])
def test_of_an_option_with_several_flags_the_one_to_blame_is_found(tmp_path: Path, culprit: str) -> None:
    campaign = Campaign(tmp_path / "r", CAMPAIGN.replace("[1, 2, 3]", "[1]") + BUNDLE)
    place = ScriptedPlace(failing_if(lambda candidate: culprit in candidate.args))
    result = campaign.run(place).result
    failed = by_label(result)["bundle=on"]
    assert failed.verdict is Verdict.FAILED
    assert f"dropped: without {culprit} it starts" in failed.reason
    probes = [candidate for candidate in result.candidates if candidate.derived_from == failed.id]
    assert len(place.requests) == 2 + len(probes) <= 5
    assert [update.label for update in campaign.updates if isinstance(update, CandidateAdded)] == [
        probe.label for probe in probes
    ]
    assert by_label(result)[f"bundle=on without {culprit}"].verdict is Verdict.QUALIFIED


def test_two_culprits_are_admitted_and_a_second_run_searches_no_more(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "r", CAMPAIGN.replace("[1, 2, 3]", "[1]") + BUNDLE)
    script = failing_if(lambda candidate: "keep" in candidate.args or "batch-size" in candidate.args)
    result = campaign.run(ScriptedPlace(script)).result
    assert "fails with each dimension dropped alone" in by_label(result)["bundle=on"].reason
    again = ScriptedPlace(script)
    campaign.run(again)
    assert again.requests == []


def test_nothing_is_blamed_where_the_reference_itself_does_not_start(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "r", CAMPAIGN.replace("[1, 2, 3]", "[1]") + BUNDLE)
    result = campaign.run(ScriptedPlace(failing_if(lambda candidate: True))).result
    assert all("dropped" not in candidate.reason for candidate in result.candidates)
    assert len(result.candidates) == 2


SPECULATING = """
[[vary]]
name = "drafts"
options = [
  { label = "off" },
  { label = "on", args = { spec-type = "draft-simple", spec-draft-model = "/d.gguf", spec-draft-n-max = 2 } },
]
"""


def forced_requests(place: ScriptedPlace) -> list[TrialRequest]:
    return [request for request in place.requests if request.measure_only]


def test_the_cost_of_a_step_is_measured_with_acceptance_made_up_and_never_as_a_candidate(campaign: Campaign) -> None:
    campaign.text = CAMPAIGN + SPECULATING + "[speculation]\ndraft_tokens = [1, 2, 4]\n"
    place = ScriptedPlace(quick)
    result = campaign.run(place).result
    forced = forced_requests(place)
    assert [request.candidate.args["spec-draft-n-max"] for request in forced] == [1, 4]
    assert all("spec-synth-len" in request.candidate.args for request in forced)
    (workload,) = {point.workload.name for request in forced for point in request.points}
    repeats = {point.repeat for point in place.requests[0].points if point.workload.name == workload}
    passes = [[point.repeat for point in request.points] for request in forced]
    wanted = sorted([*range(1 + len(repeats))] * 2)
    assert passes == [wanted] * 2, (
        "one workload at its two concurrencies, once to warm the server, then as for a candidate"
    )
    assert not {request.candidate.id for request in forced} & {candidate.id for candidate in result.candidates}
    assert place.requests[-2:] == forced, "they come last"
    again = ScriptedPlace(quick)
    campaign.run(again)
    assert again.requests == [], "a finished campaign has nothing to launch"


def test_it_is_not_measured_without_speculation_or_when_switched_off(tmp_path: Path) -> None:
    for name, text in (
        ("plain", CAMPAIGN),
        ("off", CAMPAIGN + SPECULATING + "[speculation]\nforced_acceptance = false\n"),
    ):
        place = ScriptedPlace(quick)
        Campaign(tmp_path / name, text).run(place)
        assert forced_requests(place) == []


def test_limits_of_the_file_reach_every_launch(campaign: Campaign) -> None:
    campaign.text = CAMPAIGN + '[limits]\nboot_stall = "5s"\nserve_stall = "1min"\n'
    place = ScriptedPlace(quick)
    campaign.run(place)
    assert {(r.limits.boot_stall_s, r.limits.boot_total_s, r.limits.serve_stall_s) for r in place.requests} == {
        (5.0, 7200.0, 60.0)
    }


def test_a_cache_type_left_to_a_checkpoint_that_asks_for_a_quantised_one_is_lossy(campaign: Campaign) -> None:
    wish = Quantization(method="modelopt", algorithm="NVFP4", kv_cache="FP8")
    model = ModelFacts(
        path="/m", format="safetensors", architecture="A", model_type="a", parameters=1, active_parameters=1,
        weight_bytes=1, layers=1, hidden_size=64, attention_layers=1, heads=1, kv_heads=1, head_dim=64, vocab_size=10,
        context_tokens=4096, quantization=wish,
    )  # fmt: skip
    text = CAMPAIGN.replace('kind = "llama.cpp"\nargs = { flash-attn = "auto" }', 'kind = "sglang"').replace(
        'name = "threads"\narg = "threads"\nvalues = [1, 2, 3]',
        'name = "kv"\narg = "kv-cache-dtype"\nvalues = ["auto", "bf16"]',
    )
    campaign.text = text
    place = ScriptedPlace(lambda request: measured(request, lambda *_: 100.0))
    result = campaign.run(place, model=model, kind=EngineKind.SGLANG).result
    lossy = {candidate.label: candidate.lossy for candidate in result.candidates}
    assert "asks for FP8" in lossy["baseline"][0]
    assert lossy["kv=bf16"] == ()
    assert place.launched()[0] == "kv=bf16", "a lossless candidate writes the reference"
    assert place.requests[0].gates.write_reference


def test_a_remedy_that_helped_is_given_to_whoever_would_fail_alike(campaign: Campaign) -> None:
    head = CAMPAIGN.split("[engine]", maxsplit=1)[0].replace("grid", "staged")
    tail = CAMPAIGN.split("[[workload]]")[1]
    campaign.text = (
        head + '[engine]\nkind = "sglang"\n[[vary]]\nname = "attention"\narg = "attention-backend"\n'
        'values = ["triton", "flashinfer"]\n[[vary]]\nname = "speculation"\noptions = [{ label = "off" }, '
        '{ label = "nextn", args = { speculative-algorithm = "NEXTN" } }]\n[[workload]]' + tail
        + "[speculation]\nforced_acceptance = false\n"
    )  # fmt: skip
    refusal = Failure(
        category=Category.SPECULATION, signature="sglang-spec-needs-extra-buffer", stage=Stage.BOOT, root_line="x",
        title="needs extra_buffer", remedy=Remedy(advice="x", set_args={"mamba-scheduler-strategy": "extra_buffer"}),
    )  # fmt: skip

    def script(request: TrialRequest) -> Sequence[Event]:
        args = request.candidate.args
        refused = "speculative-algorithm" in args and "mamba-scheduler-strategy" not in args
        return failing(request, refusal) if refused else measured(request, lambda *_: 100.0)

    place = ScriptedPlace(script)
    result = campaign.run(place, kind=EngineKind.SGLANG).result
    verdicts = [c.verdict for c in result.candidates if c.settings.get("speculation") == "nextn"]
    assert sorted(verdicts) == [Verdict.FAILED, Verdict.PRUNED, Verdict.QUALIFIED, Verdict.QUALIFIED]
    (spared,) = (c for c in result.candidates if c.verdict is Verdict.PRUNED)
    assert "would fail as" in spared.reason
    mended = next(c for c in result.candidates if c.id == spared.mended_by)
    assert (mended.derived_from, mended.verdict) == (spared.id, Verdict.QUALIFIED)
    assert len(place.requests) == 5


def test_only_exploring_launches_race_and_only_once_there_is_somebody_to_race_against(campaign: Campaign) -> None:
    campaign.text = CAMPAIGN.replace("launches = 1", "launches = 2")
    place = ScriptedPlace(quick)
    campaign.run(place)
    raced = [(request.candidate.label, request.race.incumbent if request.race else None) for request in place.requests]
    assert raced[:3] == [("baseline", None), ("threads=2", "baseline"), ("threads=3", "threads=2")]
    assert {incumbent for _, incumbent in raced[3:]} == {None}


def test_what_the_budget_leaves_is_told_to_every_launch(tmp_path: Path) -> None:
    text = CAMPAIGN.replace('strategy = "grid"', 'strategy = "grid"\nbudget = "1h"')
    place = ScriptedPlace(quick)
    Campaign(tmp_path / "r", text).run(place)
    left = [request.time_left_s for request in place.requests]
    assert all(seconds is not None and 3500 < seconds <= 3600 for seconds in left)
    assert left == sorted(left, reverse=True)


def test_a_clock_that_was_set_does_not_spend_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CAMPAIGN.replace('strategy = "grid"', 'strategy = "grid"\nbudget = "1h"')
    jumps = itertools.count(step=86_400)
    true_time = time.time
    monkeypatch.setattr(time, "time", lambda: true_time() + next(jumps))
    place = ScriptedPlace(quick)
    Campaign(tmp_path / "r", text).run(place)
    assert len(place.requests) == 3


def test_a_budget_that_ran_out_may_be_raised_and_the_campaign_goes_on(tmp_path: Path) -> None:
    short = Campaign(tmp_path / "r", CAMPAIGN.replace('strategy = "grid"', 'strategy = "grid"\nbudget = "1ms"'))
    place = ScriptedPlace(quick)
    ended = short.run(place)
    assert len(place.requests) < 3
    exhausted = [finding for finding in ended.result.findings if finding.kind is FindingKind.BUDGET_EXHAUSTED]
    assert len(exhausted) == 1
    assert "left" in exhausted[0].summary
    longer = Campaign(tmp_path / "r", CAMPAIGN.replace('strategy = "grid"', 'strategy = "grid"\nbudget = "1h"'))
    again = ScriptedPlace(quick)
    result = longer.run(again).result
    assert len(place.requests) + len(again.requests) == 3
    assert not [finding for finding in result.findings if finding.kind is FindingKind.BUDGET_EXHAUSTED]
