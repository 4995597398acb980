"""What every signature must keep: complete, matching its own positive cases and not its negative ones."""

import re

import pytest

from shakedown.diagnose.catalogue import SignatureError, parse_signature, signature_by_id, signatures
from shakedown.diagnose.matcher import matcher_for
from shakedown.diagnose.patterns import PatternError, compile_pattern, required_literals
from shakedown.diagnose.render import arithmetic, fill, with_computed
from shakedown.diagnose.signature import Signature, Tier
from shakedown.diagnose.textline import read_line
from shakedown.diagnose.versions import parse_clause
from shakedown.domain.words import Category, EngineKind

EACH = pytest.mark.parametrize("signature", signatures(), ids=lambda signature: signature.id)


def matched(signature: Signature, text: str) -> bool:
    """Whether the signature, and no veto of a benign one, matches any line of the text."""
    for number, raw in enumerate(text.split("\n"), start=1):
        for line in read_line(number, raw.encode()):
            if any(found.signature.id == signature.id for found in matcher_for(signature.engine).match(line)[0]):
                return True
    return False


def captured(signature: Signature, text: str) -> list[dict[str, str]]:
    """What each match of the signature in the text captured."""
    return [
        dict(found.captures)
        for number, raw in enumerate(text.split("\n"), start=1)
        for line in read_line(number, raw.encode())
        for found in matcher_for(signature.engine).match(line)[0]
        if found.signature.id == signature.id
    ]


@EACH
def test_it_matches_its_positive_cases(signature: Signature) -> None:
    assert signature.positive
    for text in signature.positive:
        assert matched(signature, text), text


@EACH
def test_it_does_not_match_its_negative_cases(signature: Signature) -> None:
    assert signature.negative
    for text in signature.negative:
        assert not matched(signature, text), text


@EACH
def test_every_pattern_is_used_by_a_line_scan(signature: Signature) -> None:
    for pattern in [*signature.patterns, *([signature.requires] if signature.requires else [])]:
        compile_pattern(pattern)
        assert required_literals(pattern)


@EACH
def test_it_says_why_and_where_that_is_known_from(signature: Signature) -> None:
    assert signature.cause.endswith((".", "]", "}"))
    assert signature.advice.endswith(".") or signature.tier is Tier.BENIGN
    assert signature.sources
    assert all(source.startswith("https://") for source in signature.sources)
    if signature.tier is Tier.ROOT:
        assert signature.category not in {None, Category.SYMPTOM_ONLY}


@EACH
def test_its_words_use_only_what_a_line_can_give(signature: Signature) -> None:
    captures = {name.decode() for pattern in signature.patterns for name in compile_pattern(pattern).groupindex}
    names = {*captures, *signature.computed}
    for text in (signature.title, signature.cause, signature.advice):
        assert set(re.findall(r"\{(\w+)\}", text)) <= names, text
    for expression in signature.computed.values():
        arithmetic(expression, dict.fromkeys(captures, "1"))
    for rule in signature.remedies:
        parse = [parse_clause(clause) for clause in rule.versions.split(",") if clause.strip()]
        assert len(parse) == len([clause for clause in rule.versions.split(",") if clause.strip()])
        assert rule.engine is None or signature.engine in (None, rule.engine)
        assert all(not name.startswith("-") for name in [*rule.set, *rule.remove, *rule.avoid, *rule.adjust])


@EACH
def test_no_positive_case_leaves_a_gap_in_its_words(signature: Signature) -> None:
    for text in signature.positive:
        for captures in captured(signature, text):
            values = with_computed(signature, captures)
            for words in (signature.title, signature.cause, signature.advice):
                assert fill(words, values).count("?") == words.count("?"), (words, captures)


@EACH
def test_what_it_is_confused_with_exists(signature: Signature) -> None:
    ids = {entry.id for entry in signatures()}
    for other in signature.confused_with:
        looks_like_id = other.replace("-", "").isalnum() and "-" in other and " " not in other
        assert not looks_like_id or other in ids, other


def test_there_are_enough_of_them_for_every_engine_and_what_lies_beneath() -> None:
    assert len(signatures()) >= 120
    for engine in (*EngineKind, None):
        assert sum(entry.engine is engine for entry in signatures()) >= 8, engine


def test_captures_reach_the_words_and_the_arithmetic() -> None:
    signature = signature_by_id("vllm-gpu-busy")
    assert signature is not None
    captures = with_computed(signature, {"free": "12.4", "total": "16.0", "asked": "0.9", "wanted": "14.4"})
    assert captures["fits"] == "0.75"
    assert "0.75" in fill(signature.advice, captures)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = 'x'", "patterns"),
        ("title = 'x'\npatterns = ['abcd']\nwrong = 1", "wrong"),
        ("title = 'x'\npatterns = ['abcd']\ncategory = 'bad'", "category"),
        ("title = ", "any/mine.toml"),
    ],
)
def test_a_broken_file_is_refused_by_name_and_key(text: str, complaint: str) -> None:
    with pytest.raises(SignatureError, match=complaint):
        parse_signature("any", "mine", text)


@pytest.mark.parametrize("pattern", ["a|b", r"\d+", "(abcdef)?", "(long enough|x)", "(open group"])
def test_a_pattern_without_a_text_to_look_for_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        required_literals(pattern)


@pytest.mark.parametrize("pattern", ["(?=look)ahead", r"(same) \1", "(open group"])
def test_a_pattern_that_could_backtrack_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)
