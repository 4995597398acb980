from pathlib import Path

import pytest

from shakedown.inspect import cache


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_kept_is_found_again() -> None:
    key = cache.key_of("sglang", "0.5.23", {"b": 1, "a": 2})
    assert key == cache.key_of("sglang", "0.5.23", {"a": 2, "b": 1})
    assert cache.load(key) is None
    cache.keep(key, {"version": "0.5.23"})
    assert cache.load(key) == {"version": "0.5.23"}
    assert cache.load(cache.key_of("sglang", "0.5.24")) is None


def test_a_damaged_answer_is_asked_for_again(own_folder: Path) -> None:
    cache.keep("k", {"a": 1})
    (own_folder / "shakedown" / "asked" / "k.json").write_text("{")
    assert cache.load("k") is None


def test_a_folder_that_cannot_be_written_does_no_harm(own_folder: Path) -> None:
    (own_folder / "shakedown").write_text("a file in the way")
    cache.keep("k", {"a": 1})
    assert cache.load("k") is None
