"""What a checkpoint's configuration says of its quantisation, for every tool that writes one.

Sources: ``hf_quant_config.json`` and ``quantization_config`` as read by SGLang and vLLM (``modelopt_quant.py``,
``modelopt.py``, ``compressed_tensors.py``, ``fp8.py``, ``awq.py``, ``gptq.py``, ``mxfp4.py`` under their
``layers/quantization``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import Quantization
from shakedown.inspect.config_json import Config

_PACKED_FORMATS = {
    "nvfp4-pack-quantized": "NVFP4",
    "mxfp4-pack-quantized": "MXFP4",
    "float-quantized": "FP8",
    "int-quantized": "INT8",
    "naive-quantized": "FP8",
}
"""compressed-tensors formats whose name says the type."""


def read_quantization(folder: Path, config: Config) -> Quantization | None:
    """Read the configuration's quantisation section, or ModelOpt's own file beside it; None without either."""
    section = config.top.get("quantization_config") or config.text.get("quantization_config")
    if not isinstance(section, dict):
        section = _modelopt_file(folder / "hf_quant_config.json")
    if section is None:
        return None
    method = str(section.get("quant_method", "modelopt"))
    return Quantization(
        method=method,
        algorithm=_algorithm(method, section),
        kv_cache=_kv_cache(section),
        group_size=_group_size(section),
        block=tuple(section["weight_block_size"]) if section.get("weight_block_size") else None,
        scale_format=section.get("scale_fmt"),
        excluded=_excluded(section),
    )


def weight_bits(quantization: Quantization | None) -> int:
    """Bits of a packed integer weight; 4 where nothing else is said."""
    algorithm = (quantization.algorithm if quantization else None) or ""
    digits = algorithm.removeprefix("INT").removeprefix("W").split("A")[0]
    return int(digits) if digits.isdigit() else 4


def _modelopt_file(path: Path) -> Mapping[str, Any] | None:
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON, perhaps cut short: {error}") from error
    inner = content.get("quantization", content) if isinstance(content, dict) else None
    return inner if isinstance(inner, dict) else None


def _algorithm(method: str, section: Mapping[str, Any]) -> str | None:
    if section.get("quant_algo"):
        return str(section["quant_algo"])
    if method == "fp8":
        return "FP8"
    if method in {"awq", "gptq", "gptq_marlin", "awq_marlin", "auto-round"}:
        return f"INT{section.get('bits') or section.get('w_bit') or 4}"
    if method == "mxfp4":
        return "MXFP4"
    if method == "compressed-tensors":
        weights = _weights(section)
        packed = _PACKED_FORMATS.get(str(section.get("format")))
        return packed or (f"W{weights['num_bits']}A16" if weights.get("num_bits") else None)
    return None


def _weights(section: Mapping[str, Any]) -> Mapping[str, Any]:
    groups = section.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    return weights if isinstance(weights, dict) else {}


def _kv_cache(section: Mapping[str, Any]) -> str | None:
    named = section.get("kv_cache_quant_algo")
    if named:
        return str(named)
    scheme = section.get("kv_cache_scheme")
    if isinstance(scheme, dict) and scheme.get("num_bits"):
        return f"{'FP' if scheme.get('type') == 'float' else 'INT'}{scheme['num_bits']}"
    return None


def _group_size(section: Mapping[str, Any]) -> int | None:
    size = section.get("group_size") or section.get("q_group_size") or _weights(section).get("group_size")
    return size if isinstance(size, int) and size > 0 else None


def _excluded(section: Mapping[str, Any]) -> tuple[str, ...]:
    listed = section.get("exclude_modules") or section.get("ignore") or section.get("modules_to_not_convert") or ()
    return tuple(str(name) for name in listed)
