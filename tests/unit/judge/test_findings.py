"""One suite for every kind of finding: a campaign in which it must appear, and one in which it must not."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from shakedown.domain.result import CampaignResult
from shakedown.domain.words import FindingKind
from shakedown.judge import CampaignEvidence, judge
from shakedown.judge.findings import rules

CASES = {kind: importlib.import_module(f"tests.unit.judge.cases.{kind}") for kind in rules()}


def cases(which: str) -> list:
    return [
        pytest.param(kind, evidence, id=f"{kind}: {name}")
        for kind, module in CASES.items()
        for name, evidence in getattr(module, which).items()
    ]


def test_every_kind_of_the_vocabulary_has_its_rule() -> None:
    # Saturation is what `bench` says of a server; a campaign judges candidates.
    assert set(rules()) == set(FindingKind) - {FindingKind.SATURATED}


@pytest.mark.parametrize("kind", rules())
def test_a_kind_is_the_name_of_its_file_and_has_both_cases(kind: FindingKind) -> None:
    assert rules()[kind].__name__.endswith(f".{kind}")
    assert CASES[kind].APPEARS
    assert CASES[kind].ABSENT


@pytest.mark.parametrize(("kind", "evidence"), cases("APPEARS"))
def test_it_appears_as_one_plain_sentence_with_evidence_and_advice(
    kind: FindingKind, evidence: CampaignEvidence
) -> None:
    result = judge(evidence)
    found = [finding for finding in result.findings if finding.kind is kind]
    assert found
    document = result.model_dump(mode="json")
    assert CampaignResult.model_validate_json(json.dumps(document, allow_nan=False)).model_dump(mode="json") == document
    known = {record.candidate.id for record in evidence.candidates}
    for finding in found:
        assert finding.summary.endswith((".", "?")) or "source" in finding.evidence
        assert finding.advice.endswith(".")
        assert finding.evidence
        assert set(finding.candidates) <= known
    told = " ".join(finding.summary for finding in found)
    assert all(words in told for words in CASES[kind].SAYS), told


@pytest.mark.parametrize(("kind", "evidence"), cases("ABSENT"))
def test_it_does_not_appear(kind: FindingKind, evidence: CampaignEvidence) -> None:
    assert [finding.summary for finding in judge(evidence).findings if finding.kind is kind] == []


def test_every_kind_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text(encoding="utf-8")
    assert [kind for kind in FindingKind if f"`{kind}`" not in page] == []
