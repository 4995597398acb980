from pathlib import Path

import pytest

from shakedown.plan.rulebook import rules
from shakedown.plan.rules_page import rules_page

PAGE = Path(__file__).parents[3] / "docs" / "rules.md"


def test_the_page_is_that_of_the_rules() -> None:
    page = rules_page()
    assert all(f"### {rule.id}\n" in page for rule in rules())
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        PAGE.write_text(page, encoding="utf-8")
        pytest.fail("docs/rules.md was rewritten; look at the difference and run again")
