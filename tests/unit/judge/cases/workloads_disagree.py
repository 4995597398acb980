"""Another candidate is better for one workload."""

from tests.unit.judge.campaigns import RANDOM, TEXT, campaign, candidate, points, trial

A = candidate("baseline", {}, {"s": "off"})
B = candidate("s=ngram", {"spec-type": "ngram-simple"}, {"s": "ngram"})
BOTH = [TEXT, RANDOM]


def speeds(text: float, random: float) -> list:
    return [*points(text, workloads=[TEXT]), *points(random, workloads=[RANDOM])]


APPEARS = {
    "speculation pays on text only": campaign(
        [A, B], [trial(A, speeds(100, 100), number=1), trial(B, speeds(150, 80), number=2)], workloads=BOTH
    ),
}
SAYS = ("random", "baseline", "s=ngram")
ABSENT = {
    "one is best everywhere": campaign(
        [A, B], [trial(A, speeds(100, 100), number=1), trial(B, speeds(150, 120), number=2)], workloads=BOTH
    ),
    "a difference within the margin": campaign(
        [A, B], [trial(A, speeds(100, 100), number=1), trial(B, speeds(150, 99.9), number=2)], workloads=BOTH
    ),
}
