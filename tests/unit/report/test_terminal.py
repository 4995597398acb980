import io
import re

from rich.console import Console
from tests.unit.report.sample_results import HOSTILE, V_CACHE_LINE, demo_result, hostile_result, large_result

from shakedown.domain.result import CampaignResult
from shakedown.domain.words import Standing
from shakedown.report.sentences import why
from shakedown.report.tables import ranked
from shakedown.report.terminal import candidates_table, render


def rendered(result: CampaignResult, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width)
    render(result, console)
    return console.file.getvalue().replace("\u00a0", " ")


def test_verdict_comes_first_then_table_losers_findings_command_and_rule() -> None:
    text = rendered(demo_result())
    order = [
        "speculation=ngram is the best choice: 11 % faster than baseline (1.107 [1.085, 1.130]).",
        "Candidates",
        "Why the others lost",
        "Findings",
        "C  Agg tok/s  Per-req tok/s  Tokens  Wall(s)     Ok  TTFT p50  TPOT p50",
        "Start it",
        "Decided on output tokens per second",
        "report.html",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_every_candidate_stands_in_the_table_with_its_verdict_and_figures() -> None:
    text = rendered(demo_result(), 200)
    for candidate in demo_result().candidates:
        assert candidate.label in text
    row = next(line for line in text.splitlines() if line.startswith("speculation=ngram   "))
    assert "best" in row
    assert "1.107 [1.085, 1.130]" in row
    assert "117 / 153 / 198" in row
    assert "440 ms" in row


def test_losers_are_explained_with_root_line_remedy_and_what_came_of_it() -> None:
    text = rendered(demo_result())
    assert f"line 112: {V_CACHE_LINE}" in text
    assert "remedy: Turn flash attention on." in text
    assert "mended by: kv=kv-q8_0 + flash-attn=on" in text
    assert "threads=1  48 % slower than the best: 0.524 [0.508, 0.539]" in text
    assert "kv=k-q4_0  lost too much accuracy: mean KL 0.0871 nats is over the limit of 0.05" in text


def test_decision_rule_says_margin_confidence_and_that_launch_variance_was_not_measured() -> None:
    text = " ".join(rendered(demo_result()).split())
    assert "equal within 10 %, confidence 95 %, 1 launch and 2 repeats per load level" in text
    assert "variance between launches not measured" in text


def test_command_stands_on_one_line_of_its_own_whatever_the_width() -> None:
    result = demo_result()
    assert result.winner is not None
    assert result.winner.command in rendered(result, 60).splitlines()


def test_narrow_terminals_get_the_best_load_and_no_line_too_long() -> None:
    text = rendered(demo_result(), 80)
    assert "198 at 4" in text
    command = demo_result().winner.command
    assert all(len(line) <= 80 for line in text.splitlines() if line != command)


def test_a_gain_without_an_interval_is_not_called_proven() -> None:
    result = demo_result()
    once = tuple(
        candidate.model_copy(
            update={
                "objective_interval": None,
                "standing": candidate.standing and candidate.standing.model_copy(update={"interval": None}),
            }
        )
        for candidate in result.candidates
    )
    text = " ".join(rendered(result.model_copy(update={"candidates": once})).split())
    assert "11 % faster than baseline, measured once and so not proven." in text
    assert "nothing was repeated, so there is no interval round 0.905" in text
    wide = tuple(candidate.model_copy(update={"objective_interval": (0.9, 1.3)}) for candidate in result.candidates)
    text = rendered(result.model_copy(update={"candidates": wide}))
    assert "faster than baseline, which is not proven (1.107 [0.900, 1.300])." in text


def test_no_winner_and_unfinished_campaigns_say_so() -> None:
    nobody = demo_result().model_copy(update={"winner": None})
    assert "No candidate qualified." in rendered(nobody)
    unfinished = demo_result(complete=False).model_copy(update={"winner": None})
    assert "No verdict yet: 13 of 14 candidates have been judged." in rendered(unfinished)
    assert "of what has been measured so far" in rendered(demo_result(complete=False))


def test_campaign_without_candidates_renders() -> None:
    empty = demo_result().model_copy(update={"candidates": (), "winner": None, "trials": (), "comparisons": ()})
    assert "There was no other candidate." in rendered(empty)


def test_hostile_text_is_shown_and_steers_nothing() -> None:
    text = rendered(hostile_result(), 400)
    assert "\x1b" not in text
    assert "<script>document.title='owned'</script>" in text
    assert HOSTILE not in text


def test_two_hundred_candidates_render() -> None:
    assert "Why the others lost" in rendered(large_result())


def test_on_eighty_columns_every_rate_and_workload_is_whole() -> None:
    result = demo_result()

    def table(width: int) -> str:
        console = Console(width=width, file=io.StringIO())
        console.print(candidates_table(result, wide=False))
        return console.file.getvalue()

    rates = re.compile(r"\d[\d.,]* at \d+")
    assert rates.findall(table(80)) == rates.findall(table(200)) != []
    assert all(point.workload in table(80) for candidate in result.candidates for point in candidate.points)


def test_the_winner_stands_first_though_a_lossier_one_may_be_faster() -> None:
    result = demo_result()
    assert result.winner is not None
    faster = tuple(
        candidate if candidate.id == result.winner.id else candidate.model_copy(update={"objective": 9.0})
        for candidate in result.candidates
    )
    assert ranked(result.model_copy(update={"candidates": faster}))[0].id == result.winner.id


def test_what_may_be_faster_and_is_lossier_is_told_why_it_stands_behind() -> None:
    result = demo_result()
    (open_one, *_) = [one for one in result.candidates if one.standing and one.standing.status is Standing.INCONCLUSIVE]
    lossy = open_one.model_copy(update={"lossy": ("one", "two", "three")})
    assert "stands behind what does so less" in why(lossy, result)
    assert "stands behind" not in why(open_one.model_copy(update={"lossy": ()}), result)
