import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.errors import CampaignFileError
from shakedown.domain.spec import CampaignSpec, load_levels
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.toml_lines import key_lines
from shakedown.domain.words import EngineKind, Objective

GOOD = """\
[campaign]
name = "night"
budget = "1h30m"

[model]
path = "/models/Qwen3.5-397B-A17B-NVFP4/"

[engine]
kind = "sglang"
args = { tp = 8, trust_remote_code = true, "--attention-backend" = "triton" }
env = { OMP_NUM_THREADS = 16 }

[[vary]]
name = "kv"
arg = "kv-cache-dtype"
values = ["bf16", "auto"]

[[vary]]
name = "speculation"
options = [
  { label = "off" },
  { label = "mtp", args = { speculative-algorithm = "NEXTN" }, env = { SGLANG_ENABLE_SPEC_V2 = "1" } },
]

[[workload]]
name = "coding"
input_tokens = 1000
output_tokens = 1000
concurrency = [16, 1, 4]
slo = { tpot_p99 = "50ms" }

[slo]
ttft_p99 = "2s"
"""


def problems(text: str) -> list[str]:
    with pytest.raises(CampaignFileError) as caught:
        parse_campaign(text, "c.toml")
    return [str(problem) for problem in caught.value.problems]


def test_a_good_file_says_what_it_says() -> None:
    spec = parse_campaign(GOOD, "c.toml")
    assert spec.campaign.budget_s == 5400
    assert spec.campaign.objective is Objective.OUTPUT_TOKENS_PER_S
    assert spec.engine.kind is EngineKind.SGLANG
    assert spec.engine.args == {"tp": 8, "trust-remote-code": True, "attention-backend": "triton"}
    assert spec.engine.env == {"OMP_NUM_THREADS": "16"}
    assert [choice.label for dimension in spec.vary for choice in dimension.choices] == ["bf16", "auto", "off", "mtp"]
    assert spec.model_ref().name == "Qwen3.5-397B-A17B-NVFP4"
    (workload,) = spec.workloads()
    assert workload.slo == {"ttft_p99": 2.0, "tpot_p99": 0.05}
    assert workload.repeats == spec.decide.repeats
    assert [level.concurrency for level in load_levels(workload)] == [1, 4, 16]


def test_spec_survives_json() -> None:
    spec = parse_campaign(GOOD, "c.toml")
    assert CampaignSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('budget = "1h30m"', 'budget = "soon"', ["c.toml:3: campaign.budget: 'soon' is not a duration"]),
        ('budget = "1h30m"', 'buget = "1h"', ["c.toml:3: campaign.buget: unknown key (did you mean 'budget'?)"]),
        ('kind = "sglang"', 'kind = "sglan"', ["c.toml:9: engine.kind: ", "did you mean 'sglang'"]),
        ('name = "night"', "", ["c.toml:1: campaign.name: is missing"]),
        ("concurrency = [16, 1, 4]", "concurrency = [16, 0]", ["c.toml:29: workload[1].concurrency[2]: ", "not 0"]),
        ("concurrency = [16, 1, 4]", "concurrency = [4, 4]", ["workload[1]: the same load stands twice"]),
        ("concurrency = [16, 1, 4]", "", ["c.toml:25: workload[1]: give either concurrency or request_rate"]),
        ("concurrency = [16, 1, 4]", 'concurrency = 1\nprompts = "txet"', ["c.toml:30: ", "did you mean 'text'"]),
        ('tpot_p99 = "50ms"', 'tpot = "50ms"', ["c.toml:30: workload[1].slo: 'tpot' is not a limit"]),
        ('values = ["bf16", "auto"]', "", ["c.toml:13: vary[1]: give either arg with values, or options"]),
        ('{ label = "off" }', '{ labl = "off" }', ["c.toml:21: vary[2].options[1].labl: unknown key"]),
        ('name = "speculation"', 'name = "kv"', ["c.toml:19: vary[2].name: 'kv' is already the name"]),
        ("tp = 8", "tp = { a = 1 }", ["c.toml:10: engine.args.tp: should be a flag"]),
        ("[slo]", "[slow]", ["c.toml:32: slow: unknown key (did you mean 'slo'?)"]),
        ("[campaign]", "[campaign", ["c.toml:1: not valid TOML"]),
    ],
)
def test_each_mistake_is_named_with_its_place(old: str, new: str, expected: list[str]) -> None:
    assert old in GOOD
    found = "\n".join(problems(GOOD.replace(old, new, 1)))
    for words in expected:
        assert words in found


def test_all_mistakes_are_named_at_once() -> None:
    broken = GOOD.replace("budget =", "bugdet =").replace('"sglang"', '"x"').replace("[16, 1, 4]", "[-1]")
    assert len(problems(broken)) == 3


def test_an_empty_file_names_every_missing_section() -> None:
    assert [problem.split(": ")[1] for problem in problems("")] == ["campaign", "model", "engine", "workload"]


keys = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
scalars = st.one_of(
    st.integers(), st.booleans(), st.sampled_from(['"a # b"', "'] }'", '"""x\n y"""', "1979-05-27", "'''\n]'''", "1.5"])
)
inline = st.recursive(
    scalars.map(lambda value: str(value).lower() if isinstance(value, bool) else str(value)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ",\n ".join(items) + "]"),
        st.dictionaries(keys, inner, max_size=3).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(keys, inline, min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_key_of_any_document_has_its_own_line(tables: list[dict[str, str]]) -> None:
    text = ""
    expected = {}
    for index, table in enumerate(tables):
        text += "# comment ]\n[[entry]]\n"
        for key, value in table.items():
            expected["entry", index, key] = text.count("\n") + 1
            text += f"{key} = {value} # tail\n"
    tomllib.loads(text)
    lines = key_lines(text)
    assert {path: lines[path] for path in expected} == expected
