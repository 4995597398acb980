"""What chips and links can do at best, from the tables in ``data/``."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from shakedown.domain.base import Value
from shakedown.domain.facts import GpuFacts, MachineFacts
from shakedown.plan.fact_table import all_nvlink

LinkClass = Literal["pcie", "nvlink"]


class Chip(Value):
    """Published peaks of a chip: bytes per second, operations per second by number format."""

    name: str
    """Regular expression over NVML's name."""
    memory_bandwidth: float
    flops: dict[str, float]
    source: str


class AllReducePath(Value):
    """One measured all-reduce."""

    name: str
    link: LinkClass
    gpus: int
    bytes: int
    seconds: float
    fastest: bool = False
    source: str


@cache
def chips() -> tuple[Chip, ...]:
    """Return the table of chips."""
    return tuple(Chip.model_validate(entry) for entry in _table("chips.toml")["chip"])


@cache
def all_reduce_paths() -> tuple[AllReducePath, ...]:
    """Return the table of measured all-reduces."""
    return tuple(AllReducePath.model_validate(entry) for entry in _table("allreduce.toml")["path"])


def _table(name: str) -> dict[str, list[dict[str, object]]]:
    text = (files("shakedown.plan.data") / name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def chip_of(gpu: GpuFacts) -> Chip | None:
    """Find a GPU's published peaks; None for a chip that is not in the table."""
    return next((chip for chip in chips() if re.search(chip.name, gpu.name)), None)


def link_class(machine: MachineFacts) -> LinkClass:
    """Say how the GPUs of a machine reach each other; where it is not known, the faster way is taken."""
    return "pcie" if all_nvlink(machine) is False else "nvlink"
