"""Where a task's result came from: the skill's programs, or the agent in spite of them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.program_runs import programs_ran
from assay_sandbox_runner.domain.result_origin import Results, set_aside

SKILLS, FOLDER = "/workspace/skills", "/workspace/tasks/t1"
PROGRAM = f"python3 {SKILLS}/totals/scripts/total.py bill.json"
OWN = "python3 -c 'import json; …' > due.json"
GIVEN = 'What is due for bill.json? Save it as due.json. {"count": 3, "price": 12.0}'
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WRONG, RIGHT = '{"net": 17.0}', '{"net": 36.5}'


def origin_of(
    *commands: tuple[str, str],
    result: str = RIGHT,
    written_in: int | None = None,
    manual: str = "",
    **files: tuple[str, int],
) -> bool:
    """Whether the result was set aside, given each command and what it printed.

    Args:
        commands: One step each; a step takes a second, and ten pass until the next.
        result: What `due.json` says in the end.
        written_in: The step that wrote it; none means that the clocks do not tell.
        manual: The text of the SKILL.md.
        files: What other files say, and in which step each was written.
    """
    steps = [
        TraceStep(
            tool="execute",
            arguments=json.dumps({"command": command}),
            output=output,
            exit_code=0,
            at=NOON + timedelta(seconds=10 * number),
            seconds=1.0,
        )
        for number, (command, output) in enumerate(commands)
    ]

    def during(step: int) -> float:
        return (NOON + timedelta(seconds=10 * step + 0.5)).timestamp()

    when = NOON.timestamp() + 5 if written_in is None else during(written_in)
    texts = {name.replace("_", "."): text for name, (text, _) in files.items()}
    times = {name.replace("_", "."): during(step) for name, (_, step) in files.items()}
    ran = programs_ran(
        steps, skill="totals", files=["scripts/total.py"], root=SKILLS, folder=FOLDER
    )
    results = Results(
        asked_for=frozenset({"due.json"}),
        written={"due.json": when, **times},
        texts={"due.json": result, **texts},
        given=GIVEN,
        manual=manual,
    )
    return set_aside(steps, ran, results)


def test_a_wrong_figure_that_the_agent_replaced_by_its_own() -> None:
    assert origin_of((PROGRAM, WRONG), (OWN, RIGHT), written_in=1)


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        ("hello world", "twelve apples"),
        ("Created 12 files below my-app", "<h1>Welcome</h1><p>Since 2019</p>"),
        ("Found 7 templates: modern, classic, plain", "# CV\n\nBorn 1990, modern art"),
        ("OK, checked in 0.3 s", '{"net": 36.5}'),
    ],
)
def test_a_program_that_speaks_of_other_things_than_the_result(printed: str, result: str) -> None:
    assert not origin_of((PROGRAM, printed), (OWN, ""), result=result, written_in=1)


def test_figures_that_the_manual_promises_and_the_program_does_not_give() -> None:
    manual = 'It prints {"net": 100.0}.'
    assert origin_of((PROGRAM, "hello world"), (OWN, ""), written_in=1, manual=manual)
    assert not origin_of((PROGRAM, ""), (OWN, ""), written_in=1, manual=manual)
    assert not origin_of((PROGRAM, "hello world"), (OWN, ""), written_in=1, manual="It works.")


def test_a_figure_alike_by_chance_among_wrong_ones() -> None:
    printed, result = "1.0 10.0 91.0", "0.0, 10.0, 100.0"
    assert origin_of((PROGRAM, printed), (OWN, ""), result=result, written_in=1)


def test_one_figure_taken_out_of_many() -> None:
    printed = "\n".join(f"{day} {day * 7.5}" for day in range(40, 60))
    assert not origin_of((PROGRAM, printed), (OWN, ""), result="337.5, 9 below 346", written_in=1)


def test_a_bare_figure_against_another() -> None:
    assert origin_of((PROGRAM, "17.0"), (OWN, ""), result="36.5", written_in=1)


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        ('{"net": 36.5}', "The net is 36.50 euro"),
        ("total 1234.5", "1,234.50"),
        ("mean 6.428571", "6.43"),
        ("share 0.25", "25 %"),
        ("net 36.5, tax 9", "net 40, tax 9"),
    ],
)
def test_a_figure_that_the_agent_put_into_its_own_words(printed: str, result: str) -> None:
    assert not origin_of((PROGRAM, printed), (OWN, ""), result=result, written_in=1)


def test_a_file_that_the_program_wrote_is_its_result_whatever_it_says() -> None:
    assert not origin_of((f"{PROGRAM} > due.json; cat due.json", WRONG), written_in=0, result=WRONG)


def test_a_program_that_is_run_on_the_finished_result_checks_it() -> None:
    assert not origin_of((OWN, ""), (PROGRAM, "ok: 3 fields"), written_in=0)


def test_a_figure_that_the_agent_computed_on() -> None:
    commands = (PROGRAM, "17.0"), ("echo $((17.0 * 2)) > due.json", "")
    assert not origin_of(*commands, result="34", written_in=1)


def test_a_file_of_the_program_that_the_agent_worked_on() -> None:
    commands = (f"{PROGRAM} --out raw.json", "wrote it"), ("jq .sum raw.json > due.json", "")
    assert not origin_of(*commands, written_in=1)
    left_behind = origin_of(
        (PROGRAM, "wrote 17 lines"), (OWN, ""), written_in=1, raw_txt=("36.5", 0)
    )
    assert not left_behind


def test_a_server_answers_whoever_asks_it() -> None:
    asked = ("curl -s localhost/due > due.json", "")
    assert not origin_of((f"{PROGRAM} --serve &", "3 routes"), asked, written_in=1)


def test_nothing_is_held_against_a_program_where_the_clocks_do_not_tell() -> None:
    assert not origin_of((PROGRAM, WRONG), (OWN, RIGHT))


@pytest.mark.parametrize(("printed", "result"), [("", RIGHT), (WRONG, ""), (WRONG, "3 12.0")])
def test_where_either_says_nothing_new_there_is_nothing_to_compare(
    printed: str, result: str
) -> None:
    assert not origin_of((PROGRAM, printed), (OWN, ""), result=result, written_in=1)
