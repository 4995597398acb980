"""Reading a campaign that runs, that was copied, that was killed, that cannot be written."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from tests.unit.store.store_material import SPEC, TEXT, candidate, finished, point_finished, record

from shakedown.domain.errors import StoreError
from shakedown.store import CampaignReader, CampaignStore


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    with CampaignStore.create_or_open(folder, name="c", campaign_text=TEXT, spec=SPEC) as store:
        store.put_candidate(record(threads=1))
        trial_id = store.begin_trial(candidate(threads=1).id)
        store.append(trial_id, point_finished())
        store.append(trial_id, finished())
    return folder


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_a_running_campaign_is_read_as_it_stands(campaign: Path) -> None:
    with CampaignStore.create_or_open(campaign, name="c", campaign_text=TEXT, spec=SPEC) as store:
        trial_id = store.begin_trial(candidate(threads=1).id)
        with CampaignReader.open(campaign) as reader:
            assert [trial.state for trial in reader.trials()] == ["finished", "running"]
            store.append(trial_id, finished())
            assert [trial.state for trial in reader.trials()] == ["finished", "finished"]


def test_reading_leaves_the_folder_as_it_was(campaign: Path) -> None:
    before = files(campaign)
    with CampaignReader.open(campaign) as reader:
        assert len(reader.trials()) == 1
    assert files(campaign) == before


def test_a_copy_taken_while_it_runs_is_read_with_what_is_in_its_wal(campaign: Path, tmp_path: Path) -> None:
    with CampaignStore.create_or_open(campaign, name="c", campaign_text=TEXT, spec=SPEC) as store:
        store.begin_trial(candidate(threads=1).id)
        copy = Path(shutil.copytree(campaign, tmp_path / "copy"))
    assert (copy / "shakedown.sqlite-wal").stat().st_size > 0
    before = files(copy)
    with CampaignReader.open(copy) as reader:
        assert len(reader.trials()) == 2
    assert files(copy) == before


def test_a_copy_without_its_lock_file_is_read(campaign: Path) -> None:
    (campaign / "shakedown.lock").unlink()
    with CampaignReader.open(campaign) as reader:
        assert len(reader.trials()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_write_protected_folder_is_read(campaign: Path) -> None:
    for path in (*campaign.iterdir(), campaign):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        with CampaignReader.open(campaign) as reader:
            assert len(reader.trials()) == 1
    finally:
        campaign.chmod(0o755)


def test_no_campaign_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no campaign here"), CampaignReader.open(tmp_path):
        pass


def test_errors_of_the_caller_stay_the_callers(campaign: Path) -> None:
    with pytest.raises(FileNotFoundError, match="mine"), CampaignReader.open(campaign):
        raise FileNotFoundError("mine")
