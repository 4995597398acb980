"""What to know of a checkpoint before launching it: disagreements, missing parts, what a flag would act on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shakedown.domain.facts import FactNote, ModelFacts

_TOLERANCE = 0.02
"""Biases and small parts that a configuration does not tell are well below this share."""


def notes_on(facts: ModelFacts, *, counted: int, lost: Sequence[str], unread: Sequence[str]) -> tuple[FactNote, ...]:
    """Write the notes.

    Args:
        facts: what was read.
        counted: weights by the configuration, draft heads and vision left out.
        lost: tensors that the index promises and no file holds.
        unread: words of the layer pattern that are not understood.
    """
    return (
        *_tensors_against_config(facts, counted, lost),
        *_four_bit(facts),
        *_kv_scales(facts),
        *_draft_heads(facts),
        *_pattern(unread),
    )


def _tensors_against_config(facts: ModelFacts, counted: int, lost: Sequence[str]) -> Iterator[FactNote]:
    if lost:
        yield FactNote(
            kind="index_disagrees",
            summary=f"the index promises {len(lost)} tensors that no file holds, such as {lost[0]}",
        )
    language = sum(group.parameters for group in facts.tensors if group.role not in ("mtp", "vision"))
    if language and abs(language - counted) > _TOLERANCE * counted:
        yield FactNote(
            kind="config_disagrees",
            summary=f"config.json describes {counted / 1e9:.2f} B weights, the tensors hold {language / 1e9:.2f} B",
        )


def _four_bit(facts: ModelFacts) -> Iterator[FactNote]:
    fp4 = [group for group in facts.tensors if "fp4" in group.format]
    outside = sorted({group.role for group in fp4 if group.role != "routed_expert"})
    if fp4 and not outside:
        yield FactNote(
            kind="fp4_only_in_experts",
            summary="only routed experts are FP4: a backend for dense FP4 matrices (--fp4-gemm-backend) has nothing to "
            "act on",
        )
    elif fp4 and facts.experts is not None:
        yield FactNote(
            kind="fp4_outside_experts", summary=f"a backend for dense FP4 matrices acts on: {', '.join(outside)}"
        )


def _kv_scales(facts: ModelFacts) -> Iterator[FactNote]:
    asked = facts.quantization.kv_cache if facts.quantization else None
    scales = facts.kv_scales
    if not asked or scales is None:
        return
    found = min(scales.key, scales.value)
    if found == 0:
        yield FactNote(
            kind="kv_scales_missing",
            summary=f"the checkpoint asks for an {asked} KV cache and holds no scales for it: engines take 1.0, and "
            "long contexts lose accuracy",
        )
    elif found < scales.expected:
        yield FactNote(
            kind="kv_scales_partial",
            summary=f"KV cache scales are there for {found} of {scales.expected} attention layers",
        )


def _draft_heads(facts: ModelFacts) -> Iterator[FactNote]:
    draft = facts.draft
    if draft is None:
        return
    if draft.promised and not draft.present:
        yield FactNote(
            kind="mtp_promised_but_absent",
            summary="the configuration promises multi-token prediction, the tensors hold none: it cannot speculate",
        )
    if draft.present and facts.quantization is not None and draft.format in ("bf16", "f16"):
        yield FactNote(
            kind="mtp_unquantised",
            summary=f"the draft heads are {draft.format.upper()} in a {facts.quantization.algorithm or 'quantised'} "
            "checkpoint: a draft step reads them at full width",
        )


def _pattern(unread: Sequence[str]) -> Iterator[FactNote]:
    if unread:
        yield FactNote(
            kind="layers_not_understood",
            summary=f"layers of these kinds are not understood and their memory is not counted: {', '.join(unread)}",
        )
