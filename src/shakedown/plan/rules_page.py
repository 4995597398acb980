"""All rules as one page, docs/rules.md; a test keeps the page and the rules together."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.words import EngineKind
from shakedown.plan.rulebook import Rule, RuleVerdict, rules

_MEANING = {
    RuleVerdict.PRUNE: "cannot work: not launched",
    RuleVerdict.COMPLETE: "cannot work as it stands: launched with what the engine demands",
    RuleVerdict.WARN: "works, and there is something to know",
}


def rules_page() -> str:
    """Write the page: rules by engine, each with verdict, versions, reason and sources."""
    lines = [
        "# Rules",
        "",
        (
            f"{len(rules())} rules, each one file in `src/shakedown/plan/rules/` with its own cases; how to write one: "
            "[how to add a rule](how-to-add-a-rule.md). This page is generated from them."
        ),
        "",
        *(f"- **{verdict}**: {meaning}" for verdict, meaning in _MEANING.items()),
        "",
        "A rule that speaks of a machine or an engine that cannot be seen warns and never prunes.",
    ]
    for heading, members in _sections():
        lines += ["", f"## {heading}"]
        for rule in members:
            lines += [
                "",
                f"### {rule.id}",
                "",
                f"{rule.title}. **{rule.verdict}**{_versions(rule)}",
                "",
                rule.reason + ".",
            ]
            lines += ["", *(f"- {source}" for source in rule.sources)]
    return "\n".join(lines) + "\n"


def _sections() -> Iterator[tuple[str, list[Rule]]]:
    yield "Several engines", [rule for rule in rules() if len(rule.engines) != 1]
    for kind in EngineKind:
        own = [rule for rule in rules() if rule.engines == (kind,)]
        if own:
            yield kind.value, own


def _versions(rule: Rule) -> str:
    return f", versions `{rule.versions}`" if rule.versions else ""
