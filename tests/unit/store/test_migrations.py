"""Every schema that ever was is frozen here as a database, and must open in today's store with all it holds.

A new migration adds a file to ``frozen/`` (``python -m tests.unit.store.freeze``); the old ones are never rewritten.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.store.store_material import SPEC, TEXT, candidate, finished, record

from shakedown.store import CampaignReader, CampaignStore
from shakedown.store.database import migrations

FROZEN = Path(__file__).parent / "frozen"


def test_every_migration_has_its_frozen_database() -> None:
    assert sorted(path.stem for path in FROZEN.glob("*.sqlite")) == [name for name, _ in migrations()]


@pytest.mark.parametrize("schema", sorted(path.name for path in FROZEN.glob("*.sqlite")))
def test_a_frozen_database_opens_with_all_it_holds(schema: str, tmp_path: Path) -> None:
    shutil.copyfile(FROZEN / schema, tmp_path / "shakedown.sqlite")
    with CampaignStore.create_or_open(tmp_path, name="c", campaign_text=TEXT, spec=SPEC) as store:
        assert store.header().name == "c"
        assert store.candidates() == [record(threads=1)]
        assert store.fact("machine") == {"cpus": 2}
        (trial,) = store.trials()
        assert trial.state == "finished"
        assert trial.outcome == finished()
        assert [point.output_tokens_per_s for point in trial.points] == [100.0]
        store.append(store.begin_trial(candidate(threads=1).id), finished())
    with CampaignReader.open(tmp_path) as reader:
        assert len(reader.trials()) == 2
