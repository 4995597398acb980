import asyncio
import json
import sys
import time
from types import SimpleNamespace

import pytest
from tests.fakes.scripted_server import Reply, Request, ScriptedServer

from shakedown.client.address import parse_base_url
from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError, UserError
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.domain.workload import Target
from shakedown.inspect import nvml
from shakedown.load.sampling import counter_window
from shakedown.load.server import counter_sampler, fit_target, identify
from shakedown.load.telemetry import TelemetrySampling


def answering(**answers: object) -> Reply:
    """JSON or text by path, 404 for all else."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        found = answers.get(request.path.strip("/").replace("/", "_"))
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        status = b"404 Not Found" if found is None else b"200 OK"
        writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))

    return reply


@pytest.mark.parametrize(
    ("owner", "kind"),
    [("llamacpp", EngineKind.LLAMA_CPP), ("vllm", EngineKind.VLLM), ("sglang", EngineKind.SGLANG), ("me", None)],
)
def test_the_engine_is_known_by_its_models(owner: str, kind: EngineKind | None) -> None:
    models = {"data": [{"id": "a", "owned_by": owner}, {"id": "b"}]}
    with ScriptedServer(answering(v1_models=models)) as server, ControlClient(server.url) as client:
        facts = identify(client)
    assert facts.models == ("a", "b")
    assert facts.engine is kind


def test_or_by_its_metrics() -> None:
    reply = answering(v1_models={"data": []}, metrics="# TYPE x\nsglang:num_running_reqs 0\n")
    with ScriptedServer(reply) as server, ControlClient(server.url) as client:
        assert identify(client).engine is EngineKind.SGLANG


def test_an_unknown_server_has_no_counters() -> None:
    with ScriptedServer(answering(metrics="up 1\n")) as server, ControlClient(server.url) as client:
        assert counter_sampler(client, None) is None


def test_nobody_there_is_an_error() -> None:
    with ControlClient("http://127.0.0.1:9") as client, pytest.raises(ClientError, match="nobody answers"):
        identify(client)


def test_running_usage_is_asked_only_where_it_is_known_and_never_over_the_user() -> None:
    target = Target(base_url="http://h", model="m")
    assert fit_target(target, EngineKind.LLAMA_CPP) == target
    assert fit_target(target, None) == target
    options = fit_target(target, EngineKind.VLLM).extra_body["stream_options"]
    assert options == {"include_usage": True, "continuous_usage_stats": True}
    own = target.model_copy(update={"extra_body": {"stream_options": {}}})
    assert fit_target(own, EngineKind.VLLM) == own


def test_counters_are_differences_and_gauges_maxima() -> None:
    first = CounterWindow(drafts=10.0, drafted_tokens=30.0, accepted_per_position=(5.0, 2.0), running_max=1.0)
    middle = CounterWindow(running_max=7.0)
    last = CounterWindow(drafts=25.0, drafted_tokens=20.0, accepted_per_position=(9.0, 2.0), running_max=3.0)
    window = counter_window(first, [middle], last)
    assert window.drafts == 15.0
    assert window.drafted_tokens is None, "a counter that went backwards has no difference"
    assert window.accepted_per_position == (4.0, 0.0)
    assert window.running_max == 7.0
    assert window.preemptions is None
    assert counter_window(None, [], None) == CounterWindow()
    assert counter_window(None, [], last).drafts is None


class FakeNvmlError(Exception):
    pass


def fake_nvml() -> SimpleNamespace:
    """Two GPUs; the second has no PCIe counter."""

    def pcie(handle: int, counter: int) -> int:
        if handle == 1:
            raise FakeNvmlError
        return 1000 * (1 + counter)

    return SimpleNamespace(
        NVMLError=FakeNvmlError,
        NVML_CLOCK_SM=1,
        NVML_PCIE_UTIL_RX_BYTES=1,
        NVML_PCIE_UTIL_TX_BYTES=0,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}",
        nvmlDeviceGetPowerUsage=lambda handle: 250_000 + handle * 1000,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=50),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=10 + handle),
        nvmlDeviceGetClockInfo=lambda handle, kind: 1980,
        nvmlDeviceGetPcieThroughput=pcie,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x4 * handle,
    )


def test_telemetry_has_an_element_a_gpu_and_nothing_where_one_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "pynvml", fake_nvml())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    with TelemetrySampling({}, interval_s=0.01) as sampling:
        time.sleep(0.3)
    readings = sampling.readings
    assert readings.power_w_mean == (250.0, 251.0)
    assert readings.utilization_mean == (0.5, 0.5)
    assert readings.memory_used_bytes_max == (10, 11)
    assert readings.sm_clock_mhz_min == (1980, 1980)
    assert readings.throttled is True
    assert readings.pcie_rx_bytes_per_s_mean is None


def test_a_point_shorter_than_an_interval_has_a_reading_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "pynvml", fake_nvml())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    with TelemetrySampling({}, interval_s=60) as sampling:
        pass
    assert sampling.readings.utilization_mean == (0.5, 0.5)


def test_telemetry_is_of_the_gpus_that_the_server_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "pynvml", fake_nvml())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    with TelemetrySampling({"CUDA_VISIBLE_DEVICES": "1"}, interval_s=0.01) as sampling:
        time.sleep(0.3)
    assert sampling.readings.power_w_mean == (251.0,)


def test_addresses() -> None:
    assert parse_base_url("http://h:8000/v1/").url == "http://h:8000"
    assert parse_base_url("https://h/proxy/v1").url == "https://h/proxy"
    assert parse_base_url("127.0.0.1:9").url == "http://127.0.0.1:9"
    assert parse_base_url("http://[::1]:5/").host_header == "[::1]:5"
    for wrong in ("ftp://h", "http://", "http://h:x"):
        with pytest.raises(UserError, match="--base-url"):
            parse_base_url(wrong)


def test_an_accept_length_shown_as_a_gauge_is_averaged_without_the_reading_before() -> None:
    readings = [CounterWindow(accept_length=value) for value in (9.0, 2.0, 3.0)]
    assert counter_window(readings[0], [readings[1]], readings[2]).accept_length == 2.5
