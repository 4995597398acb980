"""Writes the frozen database of the newest schema; run once when a migration is added, refuses to rewrite one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.unit.store.store_material import SPEC, TEXT, candidate, finished, point_finished, record, started

from shakedown.store import CampaignStore
from shakedown.store.database import DATABASE_NAME, migrations


def main() -> None:
    target = Path(__file__).parent / "frozen" / f"{migrations()[-1][0]}.sqlite"
    if target.exists():
        sys.exit(f"{target} exists; a frozen database is never rewritten")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with CampaignStore.create_or_open(folder, name="c", campaign_text=TEXT, spec=SPEC) as store:
            store.put_candidate(record(threads=1))
            store.put_fact("machine", {"cpus": 2})
            trial_id = store.begin_trial(candidate(threads=1).id)
            for event in (started(candidate(threads=1).id), point_finished(), finished()):
                store.append(trial_id, event)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / DATABASE_NAME, target)


if __name__ == "__main__":
    main()
