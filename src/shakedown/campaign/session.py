"""One run of a campaign file in a folder, from opening the file to the result: what ``run`` and ``demo`` call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from shakedown.campaign.equal_hosts import unlike_the_first
from shakedown.campaign.interrupt import stop_signals
from shakedown.campaign.library import remember
from shakedown.campaign.loader import LoadedCampaign
from shakedown.campaign.places.registry import open_place
from shakedown.campaign.results import write_result
from shakedown.campaign.runner import CampaignRunner, Ended
from shakedown.domain.progress import Watch
from shakedown.launch.orphans import find_orphans, kill_orphans
from shakedown.store.campaign_store import CampaignStore
from shakedown.store.lock import machine_claim


def run_campaign(
    loaded: LoadedCampaign, folder: Path, *, watch: Watch, tell: Callable[[str], None], reuse_earlier: bool = False
) -> Ended:
    """Run or resume a campaign at the place it names; the folder then holds ``result.json``.

    Args:
        loaded: the campaign file.
        folder: results folder, made if missing.
        watch: told what happens while it runs.
        tell: told, in a sentence, what takes time before the first launch.
        reuse_earlier: take launches of earlier campaigns that were made under the same conditions.

    Raises:
        UserError: what the file names cannot be used, or the folder belongs to something else.
        StoreError: the folder cannot be written.
    """
    with closing(open_place(loaded.spec.place, tell)) as place:
        subjects = place.inspect(loaded.spec, tell)
        apart = unlike_the_first(subjects)
        for host, reason in apart.items():
            tell(f"{host} is set apart: {reason}")
        with (
            stop_signals() as interrupt,
            machine_claim() as other,
            CampaignStore.create_or_open(
                folder,
                name=loaded.spec.campaign.name,
                campaign_text=loaded.text,
                # Another place is no other campaign: a host may be dead, another one free, when it is resumed.
                spec=loaded.spec.model_dump(mode="json", exclude={"place"}),
            ) as store,
        ):
            if other is not None:
                tell(f"{other} runs a campaign from this machine too; here, each spoils the other's numbers")
            _clear_orphans(folder, tell)
            ended = CampaignRunner(
                next(iter(subjects.values())),
                store,
                place,
                watch=watch,
                tell=tell,
                interrupt=interrupt,
                apart=apart,
                reuse_earlier=reuse_earlier,
            ).run()
    write_result(folder, ended.result)
    remember(folder)
    return ended


def _clear_orphans(folder: Path, tell: Callable[[str], None]) -> None:
    """Kill what an earlier run of this folder left behind; name, and leave alone, what other campaigns left."""
    for orphan in kill_orphans(folder):
        tell(f"killed process {orphan.pid}, left behind by an earlier run: {orphan.command}")
    for orphan in find_orphans():
        tell(f"process {orphan.pid} was left behind by {orphan.folder} and may hold memory: {orphan.command}")
