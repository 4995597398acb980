"""What this user's earlier campaigns measured: where their results are, and which of their launches still hold.

The library is a list of results folders. A launch holds for a new campaign if everything that makes a number is the
same: the model's file and content, the engine's version and packages, the machine, the candidate's arguments and
environment, the load points and the gates. Launches under another engine version are never reused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shakedown.campaign.requests import REFERENCE_FILE, point_plans
from shakedown.client.clock import wall_time
from shakedown.domain.errors import StoreError
from shakedown.domain.events import Event, PointFinished
from shakedown.domain.spec import CampaignSpec
from shakedown.store.campaign_store import CampaignStore
from shakedown.store.reader import CampaignReader

REUSED = "reused"
"""Key of the fact that names, for each launch taken from an earlier campaign, that campaign's folder."""
_VERSION = ("engine_version", "packages")

Tell = Callable[[str], None]


def library_file() -> Path:
    """``$XDG_DATA_HOME/shakedown/library.jsonl``: a line a results folder."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "shakedown" / "library.jsonl"


def conditions(facts: dict[str, dict[str, object]]) -> dict[str, object]:
    """What a number depends on beside the candidate and the load, from a campaign's facts."""
    model, engine, machine = (facts.get(name, {}) for name in ("model", "engine", "machine"))
    gpus = machine.get("gpus")
    return {
        "model": {name: value for name, value in model.items() if name != "notes"},
        "engine_version": engine.get("version"),
        "packages": engine.get("packages"),
        "machine": machine.get("name"),
        "cpu": machine.get("cpu"),
        "gpus": [gpu.get("name") for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else gpus,
    }


@dataclass(frozen=True, slots=True)
class Earlier:
    """Launches of an earlier campaign that hold for this one."""

    folder: Path
    trials: dict[str, str]
    """Id of the launch there to its candidate's id."""


def remember(folder: Path) -> None:
    """Enter a results folder; a library that cannot be written costs a later campaign its launches and nothing else."""
    with suppress(OSError):
        file = library_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"folder": str(folder.resolve()), "at": wall_time()})
        if str(folder.resolve()) not in {str(known) for known in _folders()}:
            with file.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")


def find_earlier(
    spec: CampaignSpec, facts: dict[str, dict[str, object]], store: CampaignStore, tell: Tell
) -> list[Earlier]:
    """Look for launches that hold; what was measured under another engine version is named and left alone."""
    now = json.loads(json.dumps(conditions(facts)))
    wanted = {record.candidate.id for record in store.candidates()}
    found = []
    for folder in _folders():
        if folder == store.folder.resolve():
            continue
        with suppress(StoreError), CampaignReader.open(folder) as reader:
            then = json.loads(json.dumps(conditions(reader.facts())))
            if then == now and _asks_the_same(CampaignSpec.model_validate(reader.header().spec), spec):
                trials = {
                    trial.id: trial.candidate_id
                    for trial in reader.trials()
                    if trial.state == "finished" and trial.candidate_id in wanted and trial.id not in _taken(reader)
                }
                if trials:
                    found.append(Earlier(folder, trials))
            elif _without_version(then) == _without_version(now) and then["engine_version"] != now["engine_version"]:
                tell(
                    f"{folder} was measured with engine version {then['engine_version']}, this is "
                    f"{now['engine_version']}: nothing of it is reused"
                )
    return found


def reuse(store: CampaignStore, earlier: list[Earlier]) -> None:
    """Copy launches into a campaign that has none; where their records lie is kept, the records are not copied."""
    taken: dict[str, object] = {}
    for campaign in earlier:
        with CampaignReader.open(campaign.folder) as reader:
            for trial_id, candidate_id in campaign.trials.items():
                copy = store.begin_trial(candidate_id)
                taken[copy] = str(campaign.folder)
                store.put_fact(REUSED, taken)
                for event in reader.events(trial_id):
                    store.append(copy, _without_records(event))
        _take_reference(campaign.folder, store.folder)


def _take_reference(there: Path, here: Path) -> None:
    source, target = there / REFERENCE_FILE, here / REFERENCE_FILE
    if source.exists() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        part.write_bytes(source.read_bytes())
        part.replace(target)


def _asks_the_same(then: CampaignSpec, now: CampaignSpec) -> bool:
    return (
        point_plans(then.workloads()) == point_plans(now.workloads())
        and then.gates == now.gates
        and then.campaign.objective == now.campaign.objective
    )


def _taken(reader: CampaignReader) -> dict[str, object]:
    return reader.fact(REUSED) or {}


def _without_version(known: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in known.items() if name not in _VERSION}


def _without_records(event: Event) -> Event:
    return event.model_copy(update={"records_file": None}) if isinstance(event, PointFinished) else event


def _folders() -> Iterator[Path]:
    """Results folders that are still there, the newest first."""
    try:
        lines = library_file().read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in reversed(lines):
        with suppress(ValueError, KeyError, TypeError):
            folder = Path(json.loads(line)["folder"])
            if folder.is_dir():
                yield folder
