"""Which candidate all ratios refer to."""

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.judge.campaigns import candidate

from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Verdict
from shakedown.judge import choose_reference

FIRST = CandidateRecord(candidate=candidate("baseline", {"kv": "bf16"}, {"kv": "bf16", "s": "off"}))
FP8 = CandidateRecord(
    candidate=candidate("kv=fp8", {"kv": "fp8"}, {"kv": "fp8", "s": "off"}), lossy=("the KV cache is FP8",)
)
SPEC = CandidateRecord(
    candidate=candidate("s=mtp", {"kv": "bf16", "speculative-algorithm": "NEXTN"}, {"kv": "bf16", "s": "mtp"})
)
FAR = CandidateRecord(candidate=candidate("far", {"kv": "f32", "t": 9}, {"kv": "f32", "s": "off"}))


def choose(*able: CandidateRecord, first: CandidateRecord = FIRST) -> str | None:
    records = [FIRST, FP8, SPEC, FAR]
    verdicts = {record.candidate.id: Verdict.QUALIFIED for record in able}
    found = choose_reference(records, verdicts, first.candidate.id)
    return next((record.candidate.label for record in records if record.candidate.id == found), None)


def test_the_first_values_if_they_qualify() -> None:
    assert choose(FIRST, FP8, SPEC) == "baseline"


def test_nothing_qualified_yet() -> None:
    assert choose() is None


def test_else_the_fewest_lossy_settings_before_anything() -> None:
    assert choose(FP8, SPEC) == "s=mtp"
    assert choose(FP8) == "kv=fp8"


def test_plain_before_speculating() -> None:
    assert choose(SPEC, FAR) == "far"


def test_lossy_first_values_give_way_to_a_lossless_candidate() -> None:
    assert choose(FP8, SPEC, first=FP8) == "s=mtp"
    assert choose(FP8, first=FP8) == "kv=fp8"


@given(st.sets(st.sampled_from([0, 1, 2, 3])), st.sampled_from([FIRST, FP8, SPEC, FAR]))
def test_never_lossy_while_a_lossless_one_qualifies(able: set[int], first: CandidateRecord) -> None:
    records = [FIRST, FP8, SPEC, FAR]
    chosen = choose(*(records[index] for index in able), first=first)
    if able - {1}:
        assert chosen != "kv=fp8"
    assert (chosen is None) == (not able)
