"""What is decided from readings; the readings themselves need a GPU (``gpu`` marker)."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from shakedown.launch import gpu_memory
from shakedown.launch.gpu_memory import GpuMemory

GIB = 1 << 30


@pytest.fixture
def readings(monkeypatch):
    """Readings to come, one list of used bytes by GPU each; the last one stays."""
    coming = []
    monkeypatch.setattr(gpu_memory, "_PATIENCE_S", 0.3)

    def used_bytes(environment):
        reading = coming.pop(0) if len(coming) > 1 else coming[0]
        return None if reading is None else dict(enumerate(reading))

    monkeypatch.setattr(gpu_memory, "used_bytes", used_bytes)
    return coming


def test_without_nvml_nothing_is_claimed(readings):
    readings += [None]
    assert GpuMemory.measure({}) is None


def test_it_waits_until_the_memory_is_back(readings):
    readings += [[GIB, 0], [70 * GIB, 0], [70 * GIB, 0], [30 * GIB, 0], [GIB, 0]]
    memory = GpuMemory.measure({})
    assert memory is not None
    memory.note_use()
    assert memory.wait_until_free()
    assert len(readings) == 1


def test_memory_that_stays_is_said_to_stay(readings):
    readings += [[0], [70 * GIB], [5 * GIB]]
    memory = GpuMemory.measure({})
    assert memory is not None
    memory.note_use()
    assert not memory.wait_until_free()


def test_what_others_take_on_other_gpus_does_not_matter(readings):
    readings += [[0, 0], [70 * GIB, 0], [0, 40 * GIB]]
    memory = GpuMemory.measure({})
    assert memory is not None
    memory.note_use()
    assert memory.wait_until_free()


@pytest.mark.gpu
def test_a_killed_process_gives_its_memory_back():
    code = (
        "import ctypes, time\n"
        "cuda, device = ctypes.CDLL('libcuda.so.1'), ctypes.c_int()\n"
        "context, at = ctypes.c_void_p(), ctypes.c_void_p()\n"
        "assert not cuda.cuInit(0) and not cuda.cuDeviceGet(ctypes.byref(device), 0)\n"
        "assert not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)\n"
        "assert not cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(4 << 30))\n"
        "print('up', flush=True); time.sleep(300)\n"
    )
    ctypes.CDLL("libcuda.so.1")
    memory = GpuMemory.measure({})
    assert memory is not None
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        memory.note_use()
        assert not memory._is_free()
        child.kill()
    assert memory.wait_until_free()
