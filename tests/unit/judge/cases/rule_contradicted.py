"""The launch went against the rule."""

from tests.unit.judge.campaigns import campaign
from tests.unit.judge.cases.rule_confirmed import HOPELESS, MENDED, NO_REMEDY, OTHER, PRUNED, SAME, STARTED

APPEARS = {
    "it started": campaign([PRUNED, MENDED], [STARTED]),
    "another remedy": campaign([PRUNED, MENDED], [OTHER]),
    "no remedy": campaign([PRUNED, MENDED], [NO_REMEDY]),
}
SAYS = ("v-cache-needs-fa",)
ABSENT = {
    "the same remedy": campaign([PRUNED, MENDED], [SAME]),
    "nothing would have helped": campaign([HOPELESS], [NO_REMEDY]),
    "not launched": campaign([PRUNED, MENDED], []),
}
