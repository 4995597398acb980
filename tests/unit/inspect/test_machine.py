import json
from pathlib import Path

import pytest

from shakedown.domain.errors import UserError
from shakedown.domain.facts import MachineFacts
from shakedown.inspect.machine import inspect_machine, read_machine_file


def test_this_machine_is_seen_with_or_without_a_gpu() -> None:
    facts = inspect_machine()
    assert facts.threads is not None
    assert facts.threads >= 1
    assert facts.memory_total_bytes is not None
    assert facts.memory_total_bytes > 2**28
    assert (facts.gpus is None) == (facts.gpus_unknown_because is not None)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    facts = inspect_machine()
    alone, whole = tmp_path / "box.json", tmp_path / "inspect.json"
    alone.write_text(facts.model_dump_json())
    whole.write_text(json.dumps({"model": None, "machine": facts.model_dump(mode="json"), "engine": None}))
    assert read_machine_file(alone) == read_machine_file(whole) == facts


def test_a_machine_without_gpus_is_not_an_unknown_one(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"gpus": []}')
    (tmp_path / "unknown.json").write_text("{}")
    assert read_machine_file(tmp_path / "none.json").gpus == ()
    assert read_machine_file(tmp_path / "unknown.json") == MachineFacts()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a machine description"),
        ('{"gpu": []}', "gpu: Extra inputs"),
        (
            '{"gpus": [{"name": "x", "compute_capability": "sm90", "memory_total_bytes": 1}]}',
            "gpus.0.compute_capability",
        ),
    ],
)
def test_a_wrong_file_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "box.json").write_text(text)
    with pytest.raises(UserError, match=message):
        read_machine_file(tmp_path / "box.json")


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the machine file"):
        read_machine_file(tmp_path / "nowhere.json")
