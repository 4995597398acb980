"""Families of landscapes. A family draws a new landscape from each seed, so that no strategy fits one by luck."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.search.landscape import Blur, Choice, Landscape, Truth, recorded

from shakedown.domain.words import Verdict

Family = Callable[[int], Landscape]
RECORDED = Path(__file__).parent / "landscapes"


def _options(**sizes: int) -> dict[str, Choice]:
    return {name: tuple(f"{name}{number}" for number in range(size)) for name, size in sizes.items()}


def _effects(
    rng: np.random.Generator, dimensions: dict[str, Choice], deviations: dict[str, float]
) -> dict[tuple[str, ...], float]:
    """Draw an effect for each option of the dimensions, or for each combination of a pair written ``a*b``."""
    drawn = {}
    for word, deviation in deviations.items():
        for labels in itertools.product(*(dimensions[name] for name in word.split("*"))):
            drawn[labels] = float(rng.normal(0, deviation))
    return drawn


def _sum(dimensions: dict[str, Choice], effects: dict[tuple[str, ...], float]) -> dict[Choice, float | Verdict]:
    """Add up, for every combination, the effects of the options and pairs of options it holds."""
    truth: dict[Choice, float | Verdict] = {}
    for choice in itertools.product(*dimensions.values()):
        held = set(choice)
        truth[choice] = sum(effect for labels, effect in effects.items() if held.issuperset(labels))
    return truth


def additive(seed: int) -> Landscape:
    """Six independent dimensions, 432 arms; noise 0.5 %."""
    rng = np.random.default_rng((1, seed))
    dimensions = _options(a=4, b=3, c=3, d=3, e=2, f=2)
    return Landscape(
        dimensions, _sum(dimensions, _effects(rng, dimensions, dict.fromkeys("abcdef", 0.08))), Blur(0.005)
    )


def inert(seed: int) -> Landscape:
    """Six dimensions of which two matter, 324 arms; noise 1 %."""
    rng = np.random.default_rng((2, seed))
    dimensions = _options(a=3, b=3, c=3, d=3, e=2, f=2)
    order = rng.permutation(list("abcdef"))
    deviations = {name: 0.12 if rank < 2 else 0.002 for rank, name in enumerate(order)}
    return Landscape(dimensions, _sum(dimensions, _effects(rng, dimensions, deviations)), Blur(0.01))


def new_chip(seed: int) -> Landscape:
    """Kernels older than the chip, 288 arms: half of the MoE and a third of the GEMM backends crash or answer garbage.

    Speculation needs a scheduler setting, and pays or costs depending on it. The reference works. Noise 1 %.
    """
    rng = np.random.default_rng((3, seed))
    dimensions = _options(moe=4, gemm=3, kv=2, spec=3, sched=2, chunk=2)
    deviations = {
        "moe": 0.1,
        "gemm": 0.05,
        "kv": 0.05,
        "spec": 0.15,
        "chunk": 0.03,
        "moe*gemm": 0.03,
        "spec*sched": 0.1,
    }
    truth = _sum(dimensions, _effects(rng, dimensions, deviations))
    dead = {*rng.choice(dimensions["moe"][1:], 2, replace=False), rng.choice(dimensions["gemm"][1:])}
    for choice in truth:
        if dead & set(choice):
            truth[choice] = Verdict.FAILED if dead & set(choice[:1]) else Verdict.GARBAGE
        elif "spec2" in choice and "sched0" in choice:
            truth[choice] = Verdict.CRASHED
    return Landscape(dimensions, truth, Blur(0.01), (("moe", "gemm"), ("spec", "sched")))


def paired(seed: int) -> Landscape:
    """Two declared pairs that act as strongly as their dimensions, 576 arms; noise 1 %."""
    rng = np.random.default_rng((4, seed))
    dimensions = _options(a=4, b=3, c=4, d=3, e=2, f=2)
    deviations = {**dict.fromkeys("abcdef", 0.06), "a*b": 0.06, "c*d": 0.06}
    truth = _sum(dimensions, _effects(rng, dimensions, deviations))
    return Landscape(dimensions, truth, Blur(0.01), (("a", "b"), ("c", "d")))


def rugged(seed: int) -> Landscape:
    """Every pair interacts and none is declared, a fifth of the variance; 324 arms; noise 2 %."""
    rng = np.random.default_rng((5, seed))
    dimensions = _options(a=3, b=3, c=3, d=3, e=2, f=2)
    pairs = {f"{a}*{b}": 0.025 for a, b in itertools.combinations(dimensions, 2)}
    truth = _sum(dimensions, _effects(rng, dimensions, {**dict.fromkeys("abcdef", 0.08), **pairs}))
    return Landscape(dimensions, truth, Blur(0.02))


def numeric(seed: int) -> Landscape:
    """Memory fraction, chunk and batch limits on scales of many steps, 640 arms; too much of all runs out of memory.

    Each has an optimum somewhere and falls off to both sides; the reference stands in the middle. Noise 2 %.
    """
    rng = np.random.default_rng((6, seed))
    scales = (8, 8, 5, 2)
    peaks = [rng.uniform(0, size - 1) for size in scales]
    widths = rng.uniform(0.1, 0.4, size=4)
    places = [sorted(range(size), key=lambda place, size=size: abs(place - size // 2)) for size in scales]
    truth: dict[Choice, float | Verdict] = {}
    for place in itertools.product(*places):
        steps = [(at - peak) / size for at, peak, size in zip(place, peaks, scales, strict=True)]
        loss = sum(width * 4 * step**2 for width, step in zip(widths, steps, strict=True))
        too_much = place[0] / 7 + 0.5 * place[1] / 7 + 0.5 * place[2] / 4 > 1.5
        truth[tuple(map(str, place))] = Verdict.FAILED if too_much else -float(loss)
    names = ("memory", "chunk", "batch", "graph")
    dimensions = {name: tuple(map(str, place)) for name, place in zip(names, places, strict=True)}
    return Landscape(dimensions, truth, Blur(0.02), tuple(itertools.combinations(names[:3], 2)))


def broken_reference(seed: int) -> Landscape:
    """The reference does not start, for one of its values; 216 arms, a tenth of them pruned; noise 1 %."""
    rng = np.random.default_rng((7, seed))
    dimensions = _options(a=3, b=3, c=3, d=2, e=2, f=2)
    truth = _sum(dimensions, _effects(rng, dimensions, dict.fromkeys("abcdef", 0.08)))
    reference = tuple(options[0] for options in dimensions.values())
    dead = {reference[rng.integers(6)], dimensions["a"][2]}
    kept: Truth = {
        choice: Verdict.FAILED if dead & set(choice) else value
        for choice, value in truth.items()
        if choice == reference or rng.random() > 0.1
    }
    return Landscape(dimensions, kept, Blur(0.01))


def launch_effects(seed: int) -> Landscape:
    """Like ``additive`` with one declared pair, 324 arms; launches differ by 3 %, repeats by 1 %."""
    rng = np.random.default_rng((8, seed))
    dimensions = _options(a=3, b=3, c=3, d=3, e=2, f=2)
    deviations = {**dict.fromkeys("abcdef", 0.08), "a*b": 0.05}
    truth = _sum(dimensions, _effects(rng, dimensions, deviations))
    return Landscape(dimensions, truth, Blur(0.01, launch_effect=0.03), (("a", "b"),))


def noisy(seed: int) -> Landscape:
    """Five dimensions, 162 arms; repeats differ by 5 %."""
    rng = np.random.default_rng((9, seed))
    dimensions = _options(a=3, b=3, c=3, d=3, e=2)
    return Landscape(dimensions, _sum(dimensions, _effects(rng, dimensions, dict.fromkeys("abcde", 0.1))), Blur(0.05))


FAMILIES: dict[str, Family] = {
    family.__name__: family
    for family in (additive, inert, new_chip, paired, rugged, numeric, broken_reference, launch_effects, noisy)
}
for _path in sorted(RECORDED.glob("*.json")):
    FAMILIES[_path.stem] = lambda _seed, path=_path: recorded(path, Blur(0.01, launch_effect=0.03))  # type: ignore[misc]
