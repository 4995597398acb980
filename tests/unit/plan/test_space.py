from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.campaigns import PlainNames, campaign

from shakedown.domain.candidate import EngineRef
from shakedown.plan.space import BASELINE, enumerate_candidates

DEMO = """
[engine]
kind = "llama.cpp"
args = { flash-attn = "off", threads = 2 }
env = { A = "1" }

[[vary]]
name = "kv"
arg = "cache-type-k"
values = ["f16", "q8_0"]

[[vary]]
name = "threads"
arg = "threads"
values = [2, 1]

[[vary]]
name = "spec"
options = [ { label = "off" }, { label = "ngram", args = { spec-type = "ngram-simple" }, env = { B = "2" } } ]
"""


def same(reference: EngineRef) -> EngineRef:
    return reference


def test_the_first_values_are_the_baseline_and_labels_name_differences() -> None:
    space = enumerate_candidates(campaign(DEMO), PlainNames(), same)
    labels = [candidate.label for candidate in space.candidates]
    assert labels[:3] == [BASELINE, "spec=ngram", "threads=1"]
    assert "kv=q8_0 threads=1 spec=ngram" in labels
    assert len(labels) == len(set(labels)) == 8
    assert space.notes == []


def test_options_are_merged_over_the_engine() -> None:
    space = enumerate_candidates(campaign(DEMO), PlainNames(), same)
    ngram = space.candidates[1]
    assert ngram.args == {
        "flash-attn": "off",
        "threads": 2,
        "cache-type-k": "f16",
        "spec-type": "ngram-simple",
    }
    assert ngram.env == {"A": "1", "B": "2"}
    assert ngram.settings == {"kv": "f16", "threads": "2", "spec": "ngram"}


def test_candidates_that_launch_the_same_thing_are_said_and_left_out() -> None:
    text = (
        DEMO
        + """
[[vary]]
name = "again"
options = [ { label = "no" }, { label = "yes", args = { threads = 2 } } ]
"""
    )
    space = enumerate_candidates(campaign(text), PlainNames(), same)
    assert len(space.candidates) == len(space.notes) == 8
    assert "again=yes launches the same thing as baseline and is left out" in space.notes


def test_a_build_is_a_dimension_and_its_versions_are_part_of_the_id() -> None:
    text = """
[engine]
kind = "vllm"
python = "/a/python"

[[vary]]
name = "build"
options = [ { label = "old" }, { label = "new", python = "/b/python" } ]
"""

    def resolve(reference: EngineRef) -> EngineRef:
        return reference.model_copy(update={"versions": {"vllm": "1" if reference.python == "/a/python" else "2"}})

    old, new = enumerate_candidates(campaign(text), PlainNames(), resolve).candidates
    assert (old.engine.python, old.engine.versions) == ("/a/python", {"vllm": "1"})
    assert (new.engine.python, new.engine.versions) == ("/b/python", {"vllm": "2"})
    assert old.id != new.id


@given(st.lists(st.integers(1, 3), max_size=3))
def test_every_combination_appears_exactly_once(sizes: list[int]) -> None:
    dimensions = "".join(
        f'[[vary]]\nname = "d{place}"\narg = "a{place}"\nvalues = {list(range(size))}\n'
        for place, size in enumerate(sizes)
    )
    space = enumerate_candidates(campaign('[engine]\nkind = "vllm"\n' + dimensions), PlainNames(), same)
    expected = 1
    for size in sizes:
        expected *= size
    assert len({candidate.id for candidate in space.candidates}) == len(space.candidates) == expected
    assert space.candidates[0].label == BASELINE
