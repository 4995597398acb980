"""What holds for every strategy, in worlds that Hypothesis makes up: holes in the plan, failures, noise, budgets."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.domain.words import StrategyKind, Verdict
from shakedown.plan.strategies.base import Arm, Ask, Observation, SearchState
from shakedown.plan.strategies.registry import strategies, strategy_for

pytestmark = pytest.mark.parametrize("kind", list(strategies()))
thorough = settings(deadline=None, max_examples=20)


@dataclass(frozen=True)
class World:
    """A plan and what each arm would show if launched: a verdict, and a ratio before noise."""

    start: SearchState
    verdicts: dict[str, Verdict]
    ratios: dict[str, float]
    noise: float

    def launch(self, state: SearchState, arm: str) -> SearchState:
        number = state.order.count(arm)
        earlier = state.observations[arm].ratios if number else ()
        shown: tuple[float, ...] = ()
        if self.verdicts[arm] is Verdict.QUALIFIED:
            draw = random.Random(f"{arm}:{number}:{self.start.seed}").gauss(0, self.noise)
            shown = (self.ratios[arm] * math.exp(draw),)
        left = None if state.launches_left is None else state.launches_left - 1
        return replace(
            state,
            observations={**state.observations, arm: Observation(self.verdicts[arm], (*earlier, *shown))},
            order=(*state.order, arm),
            launches_left=left,
        )

    def play(self, kind: StrategyKind) -> Iterator[tuple[SearchState, Ask]]:
        """Launch what is asked for; more launches than this are a strategy that does not end."""
        state = self.start
        for _ in range((len(state.arms) + 10) * (state.launches + 3)):
            ask = strategy_for(kind).ask(state)
            if ask is None:
                return
            yield state, ask
            assert ask.candidate in self.verdicts, "asked for an arm that is not in the plan"
            state = self.launch(state, ask.candidate)
        pytest.fail("does not end")


FAILURES = [Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG, Verdict.GARBAGE, Verdict.INACCURATE]


@st.composite
def worlds(draw: st.DrawFn, failing: float | None = None, budget: bool = True) -> World:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    dimensions = {f"d{i}": tuple(f"v{k}" for k in range(size)) for i, size in enumerate(sizes)}
    rng = random.Random(draw(st.integers(0, 10**6)))
    share = draw(st.sampled_from([0.0, 0.2, 0.6])) if failing is None else failing
    hole = draw(st.sampled_from([0.0, 0.3]))
    arms = [
        Arm("".join(choice), dict(zip(dimensions, choice, strict=True)))
        for choice in itertools.product(*dimensions.values())
        if rng.random() >= hole
    ]
    reference = "".join(options[0] for options in dimensions.values())
    verdicts = {arm.id: rng.choice(FAILURES) if rng.random() < share else Verdict.QUALIFIED for arm in arms}
    pairs = draw(st.sampled_from([(), ("d0", "d1"), ("d1", "gone")]))
    start = SearchState(
        dimensions=dimensions,
        arms=tuple(arms),
        reference=reference,
        launches=draw(st.integers(1, 3)),
        launches_left=draw(st.none() | st.integers(0, 20)) if budget else None,
        seed=draw(st.integers(0, 5)),
        weights=draw(st.sampled_from([{}, {"d0": 3.0}])),
        interacting=frozenset({frozenset(pairs)}) if pairs else frozenset(),
    )
    ratios = {arm.id: math.exp(rng.gauss(0, 0.2)) for arm in arms}
    return World(start, verdicts, ratios, draw(st.sampled_from([0.0, 0.03])))


@thorough
@given(world=worlds())
def test_ends_within_the_budget_and_asks_only_for_the_plan(kind: StrategyKind, world: World) -> None:
    asked = sum(1 for _ in world.play(kind))
    if world.start.launches_left is not None:
        assert asked <= world.start.launches_left


@thorough
@given(world=worlds())
def test_the_reference_comes_first_where_it_may_be_launched(kind: StrategyKind, world: World) -> None:
    first = next(iter(world.play(kind)), None)
    if first is not None and world.start.reference in world.verdicts:
        assert first[1] == Ask(world.start.reference, "reference")


@thorough
@given(world=worlds())
def test_the_same_state_gets_the_same_answer_whatever_was_asked_before(kind: StrategyKind, world: World) -> None:
    course = list(world.play(kind))
    for state, ask in reversed(course):
        scrambled = dict(sorted(state.observations.items(), reverse=True))
        assert strategy_for(kind).ask(replace(state, observations=scrambled)) == ask


@thorough
@given(world=worlds(), at=st.integers(0, 30))
def test_a_killed_campaign_goes_on_as_if_nothing_had_happened(kind: StrategyKind, world: World, at: int) -> None:
    course = list(world.play(kind))
    at = min(at, len(course))
    resumed = World(course[at][0], world.verdicts, world.ratios, world.noise) if at < len(course) else None
    if resumed is not None:
        assert [ask for _, ask in resumed.play(kind)] == [ask for _, ask in course[at:]]


@thorough
@given(world=worlds(failing=1.0, budget=False))
def test_what_failed_is_not_launched_again(kind: StrategyKind, world: World) -> None:
    asked = [ask.candidate for _, ask in world.play(kind)]
    assert len(set(asked)) == len(asked)


@thorough
@given(world=worlds(budget=False))
def test_the_winner_rests_on_the_launches_it_should(kind: StrategyKind, world: World) -> None:
    course = list(world.play(kind))
    if not course:
        return
    state, ask = course[-1]
    state = world.launch(state, ask.candidate)
    counts = Counter(state.order)
    working = [arm for arm in counts if world.verdicts[arm] is Verdict.QUALIFIED]
    if working:
        means = {arm: math.fsum(map(math.log, state.observations[arm].ratios)) / counts[arm] for arm in working}
        assert counts[max(means, key=lambda arm: means[arm])] >= state.launches


@thorough
@given(world=worlds())
def test_the_purpose_says_what_the_launch_is(kind: StrategyKind, world: World) -> None:
    for state, ask in world.play(kind):
        launched = ask.candidate in state.order
        assert launched == (ask.purpose in ("confirm", "drift"))
        assert (ask.candidate == state.reference) >= (ask.purpose in ("reference", "drift"))


@thorough
@given(world=worlds(failing=0.0, budget=False))
def test_a_lone_arm_is_launched_as_often_as_a_verdict_needs(kind: StrategyKind, world: World) -> None:
    only = world.start.arms[:1]
    lone = World(replace(world.start, arms=only, reference=only[0].id if only else ""), world.verdicts, world.ratios, 0)
    assert [ask.candidate for _, ask in lone.play(kind)] == [arm.id for arm in only for _ in range(lone.start.launches)]


def test_a_plan_without_arms_asks_for_nothing(kind: StrategyKind) -> None:
    assert strategy_for(kind).ask(SearchState(dimensions={}, arms=(), reference="none")) is None
