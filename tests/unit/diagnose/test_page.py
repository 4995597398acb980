from pathlib import Path

import pytest
from tests.logs.generator import real_log

from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.diagnose.page import catalogue_page, diagnosis_text, remedy_changes, signature_page
from shakedown.diagnose.signature import Signature
from shakedown.diagnose.versions import parse_clause, version_matches
from shakedown.diagnose.warnings import warnings_in
from shakedown.domain.failure import Adjustment, Remedy

DOCS = Path(__file__).parents[3] / "docs"


def test_the_documentations_page_is_what_the_signatures_say() -> None:
    page, present = DOCS / "signatures.md", catalogue_page(signatures())
    stale = page.read_text(encoding="utf-8") != present
    if stale:
        page.write_text(present, encoding="utf-8")
    assert not stale, (
        "docs/signatures.md was out of date and has been written again: look at it and run the tests again"
    )


@pytest.mark.parametrize("signature", signatures(), ids=lambda signature: signature.id)
def test_every_signature_has_a_page(signature: Signature) -> None:
    page = signature_page(signature)
    assert page.startswith(f"# {signature.id}\n")
    assert all(source in page for source in signature.sources)
    assert "[{" not in page


def test_a_diagnosis_reads_root_cause_remedy_source_then_symptoms() -> None:
    text = diagnosis_text(diagnose_lines(real_log("llama.cpp-xllamacpp-quantized-v-cache.log")))
    order = [
        "> 0.00.500.295 E llama_init_from_model",
        "Cause:",
        "Remedy:",
        "set --flash-attn on",
        "Source:",
        "What follows",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "line 7:" in text


def test_failure_without_a_root_shows_the_tail_and_no_failure_says_so() -> None:
    assert "The log ends with:" in diagnosis_text(diagnose_lines(["RuntimeError: Executor worker returned error"]))
    assert "No failure" in diagnosis_text(diagnose_lines(["hello"]))


def test_a_server_that_never_became_ready_is_told_from_one_that_did() -> None:
    starting = diagnosis_text(diagnose_lines(real_log("sglang-0.5.17-h200-still-starting.log")))
    serving = diagnosis_text(diagnose_lines(real_log("sglang-0.5.17-h200-ready.log.gz")))
    assert "no line says that the server became ready" in starting
    assert "torchcodec" in starting, "what it did last is shown"
    assert "became ready" not in serving


def test_a_symptom_said_again_and_again_is_one_line() -> None:
    text = diagnosis_text(diagnose_lines(real_log("llama.cpp-xllamacpp-draft-missing.log")))
    assert text.count(": loading failed:") == 1
    assert "(again: 9, 10" in text


def test_warnings_are_listed_once_each() -> None:
    found = warnings_in(real_log("sglang-0.5.17-h200-ready.log.gz"))
    assert [warning.signature for warning in found] == ["sglang-requests-capped", "moe-config-untuned"]
    assert "78" in found[0].title


def test_every_kind_of_change_is_said() -> None:
    remedy = Remedy(
        advice="",
        set_args={"tp": 4},
        remove_args=("dp",),
        set_env={"A": "1"},
        remove_env=("B",),
        avoid_args={"moe": ("x", "y")},
        adjust_args={"ctx": Adjustment(times=0.5), "mem": Adjustment(add=-0.05)},
        retry_unchanged=True,
    )
    assert remedy_changes(remedy) == [
        "set --tp 4",
        "remove --dp",
        "remove --moe where it is x or y",
        "--ctx: times 0.5",
        "--mem: -0.05",
        "set A=1",
        "unset B",
        "launch again unchanged",
    ]


@pytest.mark.parametrize(
    ("spec", "version", "inside"),
    [
        ("", "1.0", True),
        (">=0.5.9,<0.5.23", "0.5.10.post1", True),
        (">=0.5.9,<0.5.23", "0.5.23", False),
        ("<0.5.11", "0.5.9", True),
        (">=b5000", "b5452", True),
        ("==0.33.0", "0.33", True),
        (">1", None, True),
        (">1", "unknown", True),
    ],
)
def test_version_ranges(spec: str, version: str | None, *, inside: bool) -> None:
    assert version_matches(spec, version) is inside


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no version comparison"):
        parse_clause("about 3")
