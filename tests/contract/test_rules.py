"""Every rule of the package is found by itself and held to the same promises; its own cases are its tests."""

import re

import pytest

from shakedown.plan.fact_table import FACTS
from shakedown.plan.rulebook import Case, Rule, RuleVerdict, rules

RULES = rules()
CASES = [(rule, case) for rule in RULES for case in rule.case]


@pytest.mark.parametrize(("rule", "case"), CASES, ids=lambda item: item.id if isinstance(item, Rule) else item.name)
def test_case(rule: Rule, case: Case) -> None:
    truth = rule.judge(case.engine, case.version, case.facts)
    outcome = {True: str(rule.verdict), False: "nothing", None: "unknown"}[truth]
    assert outcome == case.expect


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_reads_only_known_facts(rule: Rule) -> None:
    read = {fact for condition in rule.when for fact in condition.facts()}
    read |= set(re.findall(r"\{([a-z][\w.-]*)\}", rule.reason))
    assert {fact for fact in read if not fact.startswith(("arg.", "env."))} <= set(FACTS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_has_positive_and_negative_cases(rule: Rule) -> None:
    outcomes = {case.expect for case in rule.case}
    assert str(rule.verdict) in outcomes
    assert "nothing" in outcomes
    assert len({case.name for case in rule.case}) == len(rule.case)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_says_where_it_was_read(rule: Rule) -> None:
    assert all(re.match(r"https://|\S+ ", source) and len(source) > 12 for source in rule.sources)
    assert 10 < len(rule.title) < 90
    assert not rule.title.endswith(".")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.verdict is RuleVerdict.COMPLETE], ids=lambda r: r.id)
def test_completion_undoes_its_own_condition(rule: Rule) -> None:
    assert rule.complete is not None
    for case in rule.case:
        if case.expect != "complete":
            continue
        facts = dict(case.facts)
        for old, new in rule.complete.rename.items():
            if f"arg.{old}" in facts:
                facts[f"arg.{new}"] = facts.pop(f"arg.{old}")
        for name in rule.complete.remove_args:
            facts.pop(f"arg.{name}", None)
        facts |= {f"arg.{name}": value for name, value in rule.complete.args.items()}
        facts |= {f"env.{name}": value for name, value in rule.complete.env.items()}
        assert rule.judge(case.engine, case.version, facts) is False, "the derived candidate would be completed again"
