"""Campaign files for tests of planning."""

from __future__ import annotations

from collections.abc import Mapping

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import argument_name
from shakedown.domain.facts import LaunchShape
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.spec_file import parse_campaign

HEAD = """
[campaign]
name = "test"

[model]
path = "/models/m"

[[workload]]
name = "w"
concurrency = [1, 4]
"""


class PlainNames:
    """An adapter's argument names without aliases."""

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        return {argument_name(name): value for name, value in args.items()}

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        return LaunchShape()


def campaign(text: str, *, head: str = HEAD) -> CampaignSpec:
    """Parse a campaign whose common parts are filled in."""
    return parse_campaign(head + text, "test.toml")
