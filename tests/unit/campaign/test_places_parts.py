"""What places away from here are made of: the [place] section, the frames, what is sent along, which wheels fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.campaign.loader import load_campaign
from shakedown.campaign.places.bundle import Interpreter, requirements
from shakedown.campaign.places.errand import Errand
from shakedown.campaign.places.remote.frames import FILES, INPUT, Lines
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.errors import CampaignFileError, UserError
from shakedown.domain.spec_file import CampaignText
from shakedown.domain.trial import Gates, Span, TrialRequest
from shakedown.domain.words import EngineKind, OnDisconnect
from shakedown.domain.workload import LoadLevel, PointPlan, Workload
from shakedown.engines.base import SpanningEngine
from shakedown.engines.registry import engine_for

HEAD = """
[campaign]
name = "c"
[model]
path = "{model}"
[engine]
kind = "sglang"
python = "/only/there/python"
[[workload]]
name = "w"
concurrency = 1
"""


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ('kind = "shs"', "place.kind: should be 'local', 'ssh', 'ray' or 'slurm'"),
        ('kind = "ssh"\nhost = "a"', "place.host: unknown key (did you mean 'hosts'?)"),
        ('kind = "ssh"', "hosts is missing"),
        ('kind = "ssh"\nhosts = "-oProxyCommand=reboot"', "place.hosts"),
        ('hosts = ["a"]', "hosts is not for a place of kind local"),
        ('kind = "ssh"\nhosts = ["a"]\npartition = "gpu"', "partition is not for a place of kind ssh"),
        ('kind = "ssh"\nhosts = ["a", "a"]', "the same host stands twice"),
        ('kind = "ssh"\nhosts = ["a", "b", "c"]\nnodes = 2', "3 hosts cannot be shared out to servers of 2 nodes"),
        ('kind = "ssh"\nhosts = "a"\npython = "p"\nshakedown = "s"', "give python or shakedown, not both"),
        ('kind = "ssh"\nhosts = "a"\non_disconnect = "go on"', "should be 'stop' or 'continue'"),
    ],
)
def test_a_wrong_place_is_named_with_its_line(place: str, said: str) -> None:
    problems = CampaignText(HEAD.format(model="/m") + f"[place]\n{place}\n", "c.toml").problems
    assert len(problems) == 1
    assert said in str(problems[0])
    assert (problems[0].line or 0) >= 12


def test_what_a_section_says_it_says_again_when_it_is_sent_on() -> None:
    text = HEAD.format(model="/m") + '[place]\nkind = "ssh"\nhosts = "a"\nreconnect = "5m"\n'
    spec = CampaignText(text, "c.toml").spec
    assert spec is not None
    assert type(spec).model_validate(spec.model_dump(mode="json")) == spec


def test_models_and_programs_of_other_hosts_need_not_be_here_and_must_be_absolute(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    place = '[place]\nkind = "ssh"\nhosts = "a"\n'
    file.write_text(HEAD.format(model="/only/there/model") + place)
    assert load_campaign(file).spec.model.path == "/only/there/model"
    file.write_text(HEAD.format(model="here/model") + place)
    with pytest.raises(CampaignFileError, match="must be an absolute path"):
        load_campaign(file)


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.binary(max_size=50), st.data())
def test_lines_and_blocks_come_out_whole_however_the_stream_was_cut(lines: list[bytes], block: bytes, data) -> None:
    stream = b"".join(line + b"\n" for line in lines) + block
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    cutter, heard = Lines(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        cutter.feed(stream[start:end])
        while len(heard) < len(lines) and (line := cutter.line()) is not None:
            heard.append(line)
    assert heard == lines
    assert cutter.block(len(block)) == block
    assert cutter.block(1) is None


def request(tmp_path: Path, *, writes: bool) -> TrialRequest:
    reference = tmp_path / "reference.json"
    if not writes:
        reference.write_text("{}")
    prompts = tmp_path / "mine.jsonl"
    prompts.write_text('{"prompt": "x"}\n')
    workload = Workload(name="w", prompts=("text", f"jsonl:{prompts}"), concurrency=(1,))
    return TrialRequest(
        candidate=Candidate(engine=EngineRef(kind=EngineKind.VLLM), model=ModelRef(path="/m", name="m")),
        folder=str(tmp_path),
        gates=Gates(write_reference=writes, reference_file=str(reference)),
        points=(PointPlan(workload=workload, level=LoadLevel(concurrency=1), requests=1),),
    )


def test_files_of_this_machine_are_sent_along_once_and_named_as_they_will_be_there(tmp_path: Path) -> None:
    errand = Errand.of(request(tmp_path, writes=False), on_disconnect=OnDisconnect.STOP)
    sent = {path.name: digest for digest, path in errand.inputs.items()}
    assert set(sent) == {"reference.json", "mine.jsonl"}
    away = TrialRequest.model_validate_json(str(errand.message["request"]))
    assert away.folder == FILES
    assert away.gates.reference_file == INPUT.format(sha256=sent["reference.json"])
    assert away.points[0].workload.prompts == ("text", f"jsonl:{INPUT.format(sha256=sent['mine.jsonl'])}")
    assert str(tmp_path) not in json.dumps(errand.message)
    assert b"".join(errand.content(sent["mine.jsonl"])) == b'{"prompt": "x"}\n'


def test_the_references_log_probabilities_come_home_to_where_the_campaign_looks(tmp_path: Path) -> None:
    errand = Errand.of(request(tmp_path, writes=True), on_disconnect=OnDisconnect.STOP)
    away = TrialRequest.model_validate_json(str(errand.message["request"]))
    folder = tmp_path / "trial"
    folder.mkdir()
    (folder / (away.gates.reference_file or "").removeprefix(f"{FILES}/")).write_text("[1]")
    errand.bring_home(folder)
    assert (tmp_path / "reference.json").read_text() == "[1]"


def test_a_ticket_is_enough_to_attach(tmp_path: Path) -> None:
    errand = Errand.of(request(tmp_path, writes=True), on_disconnect=OnDisconnect.CONTINUE)
    assert Errand.from_ticket(tmp_path) is None
    errand.write_ticket(tmp_path, host="a", spool="0001-x")
    again = Errand.from_ticket(tmp_path)
    assert again is not None
    assert again[1] == {"host": "a", "spool": "0001-x"}
    assert (again[0].on_disconnect, again[0].brings) == (errand.on_disconnect, errand.brings)


def test_a_file_that_cannot_be_sent_is_named(tmp_path: Path) -> None:
    asked = request(tmp_path, writes=False)
    (tmp_path / "mine.jsonl").unlink()
    with pytest.raises(UserError, match=r"mine\.jsonl: cannot be sent"):
        Errand.of(asked, on_disconnect=OnDisconnect.STOP)


def test_wheels_are_chosen_for_the_interpreter_there_newest_platform_first() -> None:
    there = Interpreter(python="python3", version=(3, 12), machine="aarch64", glibc=(2, 28))
    tags = there.tags()
    assert tags[0] == "manylinux_2_28_aarch64"
    assert tags[-2:] == ["manylinux_2_17_aarch64", "manylinux2014_aarch64"]
    assert "manylinux_2_29_aarch64" not in tags
    with pytest.raises(UserError, match="without glibc"):
        there.model_copy(update={"glibc": None}).tags()


def test_what_only_reports_need_is_not_carried() -> None:
    names = " ".join(requirements())
    assert "pydantic" in names
    assert "numpy" in names
    assert not any(name in names for name in ("altair", "vl-convert", "jinja2", "pytest"))


@pytest.mark.parametrize("kind", [EngineKind.SGLANG, EngineKind.VLLM])
def test_ranks_find_each_other_by_the_leaders_address(kind: EngineKind) -> None:
    engine = engine_for(kind)
    assert isinstance(engine, SpanningEngine)
    lead, follow = (engine.rank_args(Span(nodes=2, rank=rank, address="10.0.0.2", port=5000)) for rank in (0, 1))
    assert (lead["node-rank"], follow["node-rank"]) == (0, 1)
    assert (lead["nnodes"], follow["nnodes"]) == (2, 2)
    assert "10.0.0.2" in " ".join(str(value) for value in follow.values())
    assert ("headless" in lead, "headless" in follow) == (False, kind is EngineKind.VLLM)
