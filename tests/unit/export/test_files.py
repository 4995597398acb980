import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.unit.export.winners import API_KEY, HUB_TOKEN, WINNERS, llama_cpp, sglang, sglang_two_nodes, vllm

from shakedown.domain.result import CampaignResult
from shakedown.export.registry import export

SECRET_VALUES = {"API_KEY": API_KEY, "HF_TOKEN": HUB_TOKEN, "DB_PASSWORD": "hunter2"}


def only(files: dict[str, str]) -> str:
    [text] = files.values()
    return text


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def beside_python(program: str) -> str | None:
    """Find a program that pip installed beside this interpreter, or one on the PATH."""
    return shutil.which(program, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def run(*argv: str, check: bool = False, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, check=check, env=env, text=True, capture_output=True, timeout=30)


def asked_for(result: CampaignResult) -> tuple[dict[str, str], list[str]]:
    """Environment and words of the winner's command, as a real shell reads the line."""
    assert result.winner is not None
    spy = "import json, sys; print(json.dumps(sys.argv[1:]))"
    words = json.loads(run("sh", "-c", f"python3 -c '{spy}' {result.winner.command}", check=True).stdout)
    env = dict(word.split("=", 1) for word in itertools.takewhile(lambda word: re.match(r"\w+=", word), words))
    return env, words[len(env) + 1 :]


@pytest.mark.parametrize("winner", WINNERS)
def test_script_starts_what_the_winners_command_starts(winner: str, tmp_path: Path) -> None:
    result = WINNERS[winner]
    text = only(export(result, "command"))
    spy = tmp_path / "spy"
    spy.write_text(
        "#!/usr/bin/env python3\nimport json, os, sys\nprint(json.dumps([dict(os.environ), sys.argv[1:]]))\n"
    )
    spy.chmod(0o755)
    script = re.sub(r"^exec (?:'[^']*'|\S+)", f"exec {spy}", text, flags=re.MULTILINE)
    done = run("sh", "-c", script, env=os.environ | SECRET_VALUES, check=True)
    env, words = json.loads(done.stdout)
    wanted_env, wanted_words = asked_for(result)
    assert words == wanted_words
    assert {name: env[name] for name in wanted_env} == wanted_env


def test_script_names_the_secret_that_is_missing() -> None:
    done = run("sh", "-c", only(export(sglang(), "command")), env={"PATH": os.environ["PATH"]})
    assert done.returncode != 0
    assert "set HF_TOKEN in the environment" in done.stderr


@pytest.mark.parametrize("winner", WINNERS)
def test_script_passes_shellcheck(winner: str, tmp_path: Path) -> None:
    shellcheck = beside_python("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (extra 'dev' brings it); the script was run by sh above")
    script = tmp_path / "start.sh"
    script.write_text(only(export(WINNERS[winner], "command")))
    done = run(shellcheck, str(script))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("winner", WINNERS)
def test_unit_passes_systemd_analyze(winner: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed; the unit's words are read back below")
    files = export(WINNERS[winner], "systemd")
    unit = next(name for name in files if name.endswith(".service"))
    # The engine of another machine is not installed here, and verify insists that the program exists.
    text = re.sub(r"^ExecStart=(?:\"[^\"]*\"|\S+)", "ExecStart=/usr/bin/env", files[unit], flags=re.MULTILINE)
    (tmp_path / unit).write_text(text)
    done = run(
        "systemd-analyze", "verify", "--man=no", str(tmp_path / unit), env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning"}
    )
    complaints = [line for line in done.stderr.splitlines() if unit in line or "Failed" in line]
    assert done.returncode == 0, done.stderr
    assert complaints == []


def systemd_words(line: str) -> list[str]:
    """Read a command line as systemd.service(5) says: quotes, backslashes, doubled signs."""
    words = [quoted or bare for quoted, bare in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)]
    plain = [re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), word) for word in words]
    return [word.replace("%%", "%").replace("$$", "$") for word in plain]


@pytest.mark.parametrize("winner", ["llama.cpp", "sglang", "vllm", "tensorrt-llm"])
def test_unit_starts_what_the_winners_command_starts(winner: str) -> None:
    files = export(WINNERS[winner], "systemd")
    unit = next(text for name, text in files.items() if name.endswith(".service"))
    line = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", unit, re.MULTILINE)
    assert line is not None
    words = systemd_words(line.group(1).replace("\\\n", " "))
    words = words[2:] if words[0] == "/usr/bin/env" else words[1:]
    _, wanted = asked_for(WINNERS[winner])
    assert [word.replace("${API_KEY}", API_KEY) for word in words] == wanted


def test_unit_waits_for_health_as_long_as_the_measured_boot_needs() -> None:
    unit = export(sglang(), "systemd")["qwen3-5-397b.service"]
    assert "TimeoutStartSec=1250" in unit
    assert "http://127.0.0.1:30000/health" in unit
    assert "Restart=on-failure" in unit
    assert "EnvironmentFile=/etc/qwen3-5-397b.env" in unit


def test_environment_file_is_read_by_a_shell_the_same_way() -> None:
    text = export(WINNERS["awkward"], "systemd")["qwen3-5-397b.env"]
    done = run("sh", "-c", f'set -a\n{text}\nprintf %s "$ODD"', check=True)
    assert done.stdout == "a'b\"c $d `e` \\f %g # h"


@pytest.mark.parametrize("winner", WINNERS)
def test_compose_holds_the_command_and_what_it_needs(winner: str) -> None:
    result = WINNERS[winner]
    [(name, service)] = documents(only(export(result, "compose")))[0]["services"].items()
    assert re.fullmatch(r"[a-z0-9-]+", name)
    _, wanted = asked_for(result)
    words = [word.replace("$$", "$") for word in service["command"][1:]]
    for index, word in enumerate(wanted):
        if word == "127.0.0.1":
            assert words[index] == "0.0.0.0"
        elif word == API_KEY:
            assert words[index].startswith("${API_KEY:?")
        else:
            assert words[index] == word
    assert service["healthcheck"]["test"][-1].endswith("/health")
    assert service["image"].startswith("${ENGINE_IMAGE:?")


def test_compose_files_hold_to_the_compose_specification(tmp_path: Path) -> None:
    checker = beside_python("check-jsonschema")
    if checker is None:
        pytest.skip("check-jsonschema is not installed (extra 'dev' brings it); the YAML was read above")
    files = [tmp_path / f"{winner}.yaml" for winner in WINNERS]
    for file in files:
        file.write_text(only(export(WINNERS[file.stem], "compose")))
    done = run(checker, "--builtin-schema", "vendor.compose-spec", *map(str, files))
    assert done.returncode == 0, done.stdout
    files[0].write_text(files[0].read_text().replace("image:", "picture:"))
    assert run(checker, "--builtin-schema", "vendor.compose-spec", str(files[0])).returncode == 1


def test_compose_reserves_gpus_and_shared_memory() -> None:
    [service] = documents(only(export(sglang(), "compose")))[0]["services"].values()
    [device] = service["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 8, "capabilities": ["gpu"]}
    assert service["shm_size"] == "32gb"
    assert service["ulimits"]["memlock"] == -1
    [plain] = documents(only(export(llama_cpp(), "compose")))[0]["services"].values()
    assert "deploy" not in plain
    assert "shm_size" not in plain


@pytest.mark.parametrize("winner", [name for name in WINNERS if name != "sglang-two-nodes"])
def test_manifests_match_the_kubernetes_schemas(winner: str) -> None:
    manifests = documents(only(export(WINNERS[winner], "kubernetes")))
    assert [manifest["kind"] for manifest in manifests] == ["Deployment", "Service"]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def container(result: CampaignResult) -> dict[str, Any]:
    deployment = documents(only(export(result, "kubernetes")))[0]
    return deployment["spec"]["template"]["spec"]["containers"][0]


def test_probes_allow_the_measured_boot() -> None:
    probe = container(sglang())["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 4 * 312.4
    quick = container(llama_cpp())["startupProbe"]
    assert quick["periodSeconds"] * quick["failureThreshold"] == 60


def test_manifest_takes_gpus_shm_and_secrets_from_where_they_belong() -> None:
    deployment = documents(only(export(sglang(), "kubernetes")))[0]
    spec = deployment["spec"]["template"]["spec"]
    [engine] = spec["containers"]
    assert engine["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}} in spec["volumes"]
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "qwen3-5-397b", "key": "HF_TOKEN"}}} in engine[
        "env"
    ]
    assert "$(API_KEY)" in engine["command"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_dollar_brackets_are_left_to_nobody() -> None:
    command = container(WINNERS["awkward"])["command"]
    assert any("$$(id)" in word for word in command)


def test_several_nodes_become_a_leader_and_its_workers() -> None:
    group, service = documents(only(export(sglang_two_nodes(), "kubernetes")))
    assert group["apiVersion"] == "leaderworkerset.x-k8s.io/v1"
    template = group["spec"]["leaderWorkerTemplate"]
    assert template["size"] == 2
    for role in ("leaderTemplate", "workerTemplate"):
        command = template[role]["spec"]["containers"][0]["command"]
        assert command[command.index("--node-rank") + 1] == "$(LWS_WORKER_INDEX)"
        assert command[command.index("--dist-init-addr") + 1] == "$(LWS_LEADER_ADDRESS):20000"
    assert "startupProbe" in template["leaderTemplate"]["spec"]["containers"][0]
    assert "startupProbe" not in template["workerTemplate"]["spec"]["containers"][0]
    assert service["spec"]["selector"]["role"] == "leader"


def test_engine_files_hold_the_arguments_as_the_engine_reads_them() -> None:
    [loaded] = documents(only(export(sglang(), "engine")))
    assert loaded["model-path"] == "/data/models/Qwen3.5-397B-A17B-NVFP4"
    assert loaded["tp"] == 8
    assert loaded["trust-remote-code"] is True
    assert "api-key" not in loaded
    [served] = documents(only(export(vllm(), "engine")))
    assert served["speculative-config"] == {"method": "mtp", "num_speculative_tokens": 2}
    [options] = documents(only(export(WINNERS["tensorrt-llm"], "engine")))
    assert options == {"tp_size": 2, "max_batch_size": 64}


def alerts(result: CampaignResult) -> dict[str, dict[str, Any]]:
    files = export(result, "prometheus")
    text = next(text for name, text in files.items() if name.endswith("-alerts.yaml"))
    [group] = documents(text)[0]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def test_alert_thresholds_come_from_what_was_measured() -> None:
    rules = alerts(sglang())
    winner = next(c for c in sglang().candidates if c.id == sglang().winner.id)
    worst = max(point.ttft_s.p99 for point in winner.points)
    limit = float(rules["SlowFirstToken"]["expr"].rpartition("> ")[2])
    assert limit == pytest.approx(1.5 * worst, rel=1e-4)
    least = min(point.accept_length for point in winner.points)
    accept = float(rules["SpeculationPaysNoMore"]["expr"].rpartition("< ")[2])
    assert 1 < accept < least
    assert rules["Down"]["for"] == "1250s"


def test_agreed_limits_stand_above_measured_ones() -> None:
    base = sglang()
    workloads = tuple(workload | {"slo": {"ttft_p99": 2.0}} for workload in base.campaign.workloads)
    agreed = base.model_copy(update={"campaign": base.campaign.model_copy(update={"workloads": workloads})})
    assert alerts(agreed)["SlowFirstToken"]["expr"].endswith("> 2")


@pytest.mark.parametrize("winner", WINNERS)
def test_rules_and_scrape_job_belong_together(winner: str) -> None:
    files = export(WINNERS[winner], "prometheus")
    scrape = next(text for name, text in files.items() if name.endswith("-scrape.yaml"))
    [job] = documents(scrape)[0]["scrape_configs"]
    rules = alerts(WINNERS[winner])
    assert "Down" in rules
    for rule in rules.values():
        assert f'job="{job["job_name"]}"' in rule["expr"]
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_prometheus_accepts_rules_and_scrape_job(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (apt-get install prometheus); the YAML was read above")
    for winner, result in WINNERS.items():
        for name, text in export(result, "prometheus").items():
            file = tmp_path / f"{winner}-{name}"
            file.write_text(text)
            kind = "rules" if name.endswith("-alerts.yaml") else "config"
            done = run("promtool", "check", kind, str(file))
            assert done.returncode == 0, done.stdout + done.stderr
