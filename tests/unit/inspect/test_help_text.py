from shakedown.inspect.help_text import parse_argparse_help, parse_llama_help

LLAMA = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto', default: 'auto')
                                        (env: LLAMA_ARG_FLASH_ATTN)
-ctv,  --cache-type-v TYPE              KV cache data type for V
                                        allowed values: f32, f16, q8_0
                                        (default: f16)
--perf, --no-perf                       whether to time (default: false)
--spec-type none,draft-mtp,ngram-simple
                                        comma-separated list of types

----- server-specific params -----

--spec-draft-type-v, -ctvd, --cache-type-v-draft TYPE
                                        the draft's
"""

ARGPARSE = """\
usage: server [-h] [--kv {auto,fp8}]

options:
  -h, --help            show this help message and exit
  --model-path MODEL_PATH, --model MODEL_PATH
                        The path of the weights.
  --kv-cache-dtype {auto,fp8_e4m3}
                        Type. (default: auto)
  --enable-mixed, --no-enable-mixed
                        Mix. (default: False)
  --lora-paths [LORA_PATHS ...]
                        Adapters.
  --mode {1,2}          Mode

Frontend:
  Arguments for the frontend.

  --tool-call-parser {hermes,xlam} or name registered in --tool-parser-plugin
                        Parser. (default: None)
"""


def test_llama_help() -> None:
    flags = parse_llama_help(LLAMA)
    assert list(flags) == ["help", "flash-attn", "cache-type-v", "perf", "spec-type", "spec-draft-type-v"]
    assert flags["cache-type-v"].choices == ("f32", "f16", "q8_0")
    assert flags["cache-type-v"].default == "f16"
    assert flags["cache-type-v"].spellings == ("-ctv", "--cache-type-v")
    assert set(flags["flash-attn"].choices or ()) >= {"on", "off", "auto", "1", "disabled"}
    assert (flags["perf"].takes_value, flags["perf"].spellings) == (False, ("--perf", "--no-perf"))
    assert (flags["spec-type"].repeats, flags["spec-type"].choices) == (True, ("none", "draft-mtp", "ngram-simple"))
    assert flags["spec-draft-type-v"].spellings[1:] == ("-ctvd", "--cache-type-v-draft")


def test_argparse_help() -> None:
    flags = parse_argparse_help(ARGPARSE)
    assert flags["model-path"].spellings == ("--model-path", "--model")
    assert flags["kv-cache-dtype"].choices == ("auto", "fp8_e4m3")
    assert flags["kv-cache-dtype"].default == "auto"
    assert flags["enable-mixed"].takes_value is False
    assert flags["lora-paths"].repeats
    assert flags["mode"].choices == ("1", "2")
    assert flags["tool-call-parser"].choices is None, "an open list is no list of choices"
    assert flags["tool-call-parser"].default is None
