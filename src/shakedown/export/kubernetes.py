"""Kubernetes manifests: a Deployment and a Service, or a LeaderWorkerSet where the winner spans several nodes.

Probes are made from the measured boot: the startup probe allows it with room for cold caches, so that the liveness
probe can be quick. Sources: Kubernetes API reference, apps/v1 and core/v1; LeaderWorkerSet API,
leaderworkerset.x-k8s.io/v1.
"""

from __future__ import annotations

from shakedown.domain.result import CampaignResult
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.container import in_container, shm_gib
from shakedown.export.secrets import Word
from shakedown.export.service import Service

PROBE_PERIOD_S = 5
NODE_FLAGS = {"--node-rank": "$(LWS_WORKER_INDEX)", "--dist-init-addr": "$(LWS_LEADER_ADDRESS):20000"}
"""What differs from node to node; LeaderWorkerSet gives each pod these variables."""


def make(_: CampaignResult, service: Service) -> Files:
    """``NAME.yaml``."""
    command = [_word(word) for word in in_container(service.argv)]
    values = {
        "service": service,
        "command": _for_every_node(command) if service.nodes > 1 else command,
        "env": {name: _literal(value) for name, value in service.env.items()},
        "shm_gib": shm_gib(service),
        "probe_period_s": PROBE_PERIOD_S,
        "startup_failures": -(-service.start_limit_s // PROBE_PERIOD_S),
    }
    template = "leaderworkerset.yaml.jinja" if service.nodes > 1 else "deployment.yaml.jinja"
    return {f"{service.name}.yaml": fill(template, **values)}


def _for_every_node(command: list[str]) -> list[str]:
    """Replace one node's rank and address by what each pod is told."""
    words: list[str] = []
    for word in command:
        flag, equals, _ = word.partition("=")
        if words and words[-1] in NODE_FLAGS:
            words.append(NODE_FLAGS[words[-1]])
        elif equals and flag in NODE_FLAGS:
            words.append(f"{flag}={NODE_FLAGS[flag]}")
        else:
            words.append(word)
    for flag, value in NODE_FLAGS.items():
        if not any(word.partition("=")[0] == flag for word in words):
            words += [flag, value]
    return words


def _word(word: Word) -> str:
    return _literal(word.text) + ("" if word.secret is None else f"$({word.secret})")


def _literal(text: str) -> str:
    """Kubernetes replaces ``$(NAME)``; a doubled dollar stands for itself."""
    return text.replace("$(", "$$(")


EXPORT = ExportFormat(
    name="kubernetes", summary="Deployment and Service, or LeaderWorkerSet for several nodes", make=make
)
