"""Sets the stage: a checkpoint of headers, a machine file, a campaign file with its blanks filled in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.fakes.checkpoints import qwen35_nvfp4, write_checkpoint
from tests.fakes.machines import PRO_6000_X8
from tests.fakes.shapes import QWEN35, QWEN35_TEXT

HERE = Path(__file__).parent
SMALL_TEXT = {**QWEN35_TEXT, "num_experts": 16, "num_experts_per_tok": 4}
"""The story's model with 16 experts for its 512: the header is written in a second instead of a minute."""
FP8_CACHE = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16,
             "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "ignore": ["lm_head"]}  # fmt: skip


def set_stage(folder: Path, name: str, **changes: str) -> Path:
    """Write what campaign ``name`` needs into ``folder``; ``changes`` replace text of the campaign file."""
    model = write_checkpoint(
        folder / "model",
        {**QWEN35, "text_config": SMALL_TEXT, "quantization_config": FP8_CACHE},
        qwen35_nvfp4(SMALL_TEXT, kv_scales=False),
    )
    machine = folder / "box.json"
    machine.write_text(json.dumps(PRO_6000_X8.model_dump(mode="json")))
    text = (HERE / "campaigns" / f"{name}.toml").read_text()
    blanks = {"python": sys.executable, "server": str(HERE / "run.py"), "model": str(model), "machine": str(machine)}
    for blank, value in {**{f"{{{key}}}": value for key, value in blanks.items()}, **changes}.items():
        assert blank in text or blank.startswith("{"), f"{name}.toml does not hold {blank!r}"
        text = text.replace(blank, value)
    file = folder / f"{name}.toml"
    file.write_text(text)
    return file
