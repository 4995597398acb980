"""What speculation brought, and why."""

from tests.unit.judge.campaigns import campaign, candidate, counters, points, trial

OFF = candidate("baseline", {}, {"s": "off"})
ON = candidate("s=ngram", {"spec-type": "ngram-simple"}, {"s": "ngram"})
PLAIN = trial(OFF, points(100, counters=counters(512, 0, 0, 0)), number=1)

APPEARS = {
    # 512 tokens, 256 of them accepted drafts: two tokens a step.
    "it pays": campaign([OFF, ON], [PLAIN, trial(ON, points(150, counters=counters(512, 256, 280, 256)), number=2)]),
    "poor drafts": campaign(
        [OFF, ON], [PLAIN, trial(ON, points(80, counters=counters(512, 256, 1000, 100)), number=2)]
    ),
    "dear verification": campaign(
        [OFF, ON], [PLAIN, trial(ON, points(60, counters=counters(512, 256, 280, 256)), number=2)]
    ),
    "no partner to compare with": campaign([ON], [trial(ON, points(150, counters=counters(512, 256, 280, 256)))]),
    "nothing drafted": campaign([OFF, ON], [PLAIN, trial(ON, points(100, counters=counters(512, 0, 0, 0)), number=2)]),
}
SAYS = ("ngram-simple", "text")
ABSENT = {
    "no speculation asked for": campaign([OFF], [PLAIN]),
    "the server counts no drafts": campaign([OFF, ON], [PLAIN, trial(ON, points(150), number=2)]),
}
