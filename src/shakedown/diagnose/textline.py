"""One log line without what containers, loggers and launchers put before it, and the process that wrote it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MAX_LINE_CHARS = 4000
"""A longer line is cut to a window round what made it interesting."""

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_JSON_TEXT_KEYS = ("log", "message", "msg", "MESSAGE", "line", "text", "event")

_STREAM = re.compile(
    r"""(?x)
    (?P<vllm>\((?P<process>[A-Za-z_][\w.]{2,60})(?:\ (?:rank=\d+\ )?pid=\d+(?:,\ ip=[\d.]+)?)?\)\ ?)
    | (?P<sglang>\[\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d(?P<ranks>(?:\ (?:DP|PP|TP|EP|ATTN_DP|ATTN_TP|MOE_DP|CP)\d+)*)\]\ ?)
    | (?P<rank>\[(?:rank|default|Rank\ )(?P<rank_number>\d+)\]:?\ ?)
    | (?P<mpi>\[\d+,(?P<mpi_rank>\d+)\]<std(?:err|out)>:\ ?)
    | (?P<srun>(?P<srun_task>\d{1,4}):\ (?=\S))
    | (?P<journald>[A-Z][a-z]{2}\ [ \d]\d\ \d\d:\d\d:\d\d\ \S{1,64}\ (?P<unit>[\w.@\\-]{1,80})
        (?:\[(?P<unit_pid>\d+)\])?:\ )
    | (?P<compose>(?P<service>[A-Za-z0-9][\w.-]{0,60})\ +\|\ ?)
    | (?P<kubectl>\[pod/(?P<pod>[\w./-]{1,120})\]\ )
    """
)
_HEADER = re.compile(
    r"""(?x)
    \d{4}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:\ ?(?:Z|UTC|[+-]\d\d:?\d\d))?\ ?
      (?:-\ [\w.]{1,80}\ -\ (?P<l1>[A-Z]+)\ -\ |\ ?(?P<l1b>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\ {1,4}(?!\d))?
    | std(?:out|err)\ [FP]\ ?
    | (?P<l2>DEBUG|INFO|WARNING|ERROR|CRITICAL)\ \d\d-\d\d\ \d\d:\d\d:\d\d(?:\.\d+)?\ \[?[^\]\s]{1,120}:\d+\]\ ?
    | (?P<l3>DEBUG|INFO|WARNING|ERROR|CRITICAL)\ \[[^\]\s]{1,120}:\d+\]\ ?
    | (?P<l4>DEBUG|INFO|WARNING|ERROR|CRITICAL):\ {4,5}
    | \[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\]\ ?
    | \[(?:TensorRT-LLM|TRT-LLM|TRT)\]\ ?
    | \[RANK\ \d+\]\ ?
    | \[(?P<l5>[EWIVF])\]\ ?
    | \[(?P<l6>ERROR|WARNING|INFO|DEBUG)\]\ ?
    | \[?(?P<l7>[EWIF])\d{3,4}\ \d\d:\d\d:\d\d\.\d+\ {1,6}(?:\d+\ )?[^\]\s]{1,80}:\d+\]\ ?
    | \d+\.\d\d\.\d{3}\.\d{3}\ (?P<l8>[EWIDT])\ ?
    | \[\ {0,6}\d{1,7}\.\d{6}\]\ (?:\[T\d+\]\ )?
    """
)
_LEVELS = {"E": "ERROR", "W": "WARNING", "I": "INFO", "F": "CRITICAL", "WARN": "WARNING", "FATAL": "CRITICAL"}
_MOST_PREFIXES = 8


@dataclass(frozen=True, slots=True)
class Line:
    """A log line taken apart."""

    number: int
    """1-based."""
    text: str
    """As it stands in the log, without colours."""
    body: str
    """Without prefixes; its indentation kept."""
    stream: str
    """Who wrote it, as far as its prefixes say: ``"Worker_TP1"``, ``"TP0"``, ``""`` where nothing says."""
    level: str
    """``ERROR``, ``WARNING``, … or ``""``."""
    prefixed: bool
    """Whether any prefix was taken off."""


def read_line(number: int, raw: bytes) -> list[Line]:
    """Take one line of a log apart: several pieces where it holds JSON with newlines or a progress bar's returns."""
    text = _ANSI.sub("", raw.decode("utf-8", "replace"))
    pieces = [piece for piece in re.split(r"[\r\n]", text) if piece.strip()] or [""]
    lines: list[Line] = []
    for piece in pieces:
        unwrapped = _json_text(piece)
        if unwrapped is None:
            lines.append(_without_prefixes(number, piece))
        else:
            lines += [_without_prefixes(number, part) for part in unwrapped.splitlines() if part.strip()]
    return lines


def without_colours(raw: bytes) -> str:
    """Return a line as text for people: no colours, the last state of a progress bar, cut to a sane length."""
    text = _ANSI.sub("", raw.decode("utf-8", "replace")).rstrip("\r\n")
    return text.rsplit("\r", 1)[-1][:MAX_LINE_CHARS]


def _json_text(piece: str) -> str | None:
    """Return the message inside a line of JSON, as container runtimes and structured loggers write it."""
    stripped = piece.strip()
    start = stripped.find('{"')
    if start < 0 or start > 80 or not stripped.endswith("}"):
        return None
    try:
        record = json.loads(stripped[start:])
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    found = next((record[key] for key in _JSON_TEXT_KEYS if isinstance(record.get(key), str)), None)
    return None if found is None else _ANSI.sub("", found)


def _without_prefixes(number: int, text: str) -> Line:
    rest = text
    streams: list[str] = []
    level = ""
    for _ in range(_MOST_PREFIXES):
        prefix = _STREAM.match(rest)
        if prefix is not None:
            streams += _stream_name(prefix)
        else:
            prefix = _HEADER.match(rest)
            if prefix is None:
                break
            level = next((found for found in prefix.groups() if found), level)
        rest = rest[prefix.end() :]
    # The innermost prefix names the process: "(Worker pid=7) (Worker_TP1 pid=7)", "engine-1 | (EngineCore pid=90)".
    stream = "/".join(dict.fromkeys(streams))
    return Line(
        number=number,
        text=text.rstrip(),
        body=rest.rstrip(),
        stream=stream,
        level=_LEVELS.get(level, level),
        prefixed=rest is not text,
    )


def _stream_name(prefix: re.Match[str]) -> list[str]:
    groups = prefix.groupdict()
    if groups["ranks"]:
        return [groups["ranks"].strip()]
    if groups["rank_number"]:
        return [f"rank{groups['rank_number']}"]
    if groups["mpi_rank"]:
        return [f"rank{groups['mpi_rank']}"]
    if groups["srun_task"]:
        return [f"task{groups['srun_task']}"]
    named = groups["process"] or groups["service"] or groups["pod"] or groups["unit_pid"] or groups["unit"]
    return [named] if named else []
