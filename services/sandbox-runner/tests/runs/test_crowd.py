"""Finding the skill under test is a choice: agents see a crowd, and what they chose is recorded."""

import re

import pytest

from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.executor import listed_skills
from assay_sandbox_runner.adapters.neighbours import builtin_neighbours
from assay_sandbox_runner.domain.crowd import CROWD, neighbours_shown
from assay_skillkit.document import parse_skill
from assay_testkit.runner import Runner, a_run, a_task, bundle_of, finished

BREAD = "bread-dough-hydration"


def test_there_are_enough_neighbours_even_if_two_names_are_taken() -> None:
    assert len(builtin_neighbours()) >= CROWD + 2


@pytest.mark.parametrize("name", sorted(builtin_neighbours()))
def test_every_neighbour_is_a_skill_of_its_folders_name(name: str) -> None:
    manual = builtin_neighbours()[name]

    assert re.search(rf"^name: {name}$", manual, re.MULTILINE)
    assert parse_skill(manual).description


def test_a_crowd_is_filled_up_and_doubles_no_name() -> None:
    available = [f"n{number:02}" for number in range(14)]

    shown = neighbours_shown(available, mounted=["mine", "n00", "other"], under_test="mine")

    assert shown == tuple(available[1:11])
    assert (
        neighbours_shown(available, mounted=["other"], under_test="n03")
        == tuple(name for name in available if name != "n03")[: CROWD - 1]
    )
    assert neighbours_shown(available, mounted=[f"a{n}" for n in range(20)], under_test="m") == ()


async def test_the_agent_sees_a_crowd_and_the_result_says_which(runner: Runner) -> None:
    skill = runner.store.add_skill()
    told: list[str] = []

    def look(turn: Turn) -> Reply:
        told.extend(each.path.split("/")[-2] for each in listed_skills(turn.system))
        return Reply("Done.")

    result = finished(await runner.use_case(look)(a_run("offline", skill, tasks=(a_task(),))))

    assert len(result.neighbours) == CROWD
    assert sorted(told) == sorted([*result.neighbours, "word-counter"])


async def test_a_neighbour_that_was_chosen_instead_is_recorded(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def choose_wrong(turn: Turn) -> Reply:
        if turn.number:
            return Reply("Done.")
        path = f"/workspace/skills/{BREAD}/SKILL.md"
        return Reply(calls=(ToolUse("read_file", {"file_path": path}),))

    result = finished(
        await runner.use_case(choose_wrong)(a_run("offline", skill, tasks=(a_task(),)))
    )

    assert [use.skill for use in result.outcomes[0].skills_used] == [BREAD]


async def test_a_skill_of_a_neighbours_name_takes_its_place(runner: Runner) -> None:
    manual = f"---\nname: {BREAD}\ndescription: Something else altogether.\n---\nDo it.\n"
    skill = runner.store.add_bundle(BREAD, bundle_of(BREAD, {"SKILL.md": manual}))

    result = finished(
        await runner.use_case(lambda _: Reply("Done."))(a_run("offline", skill, tasks=(a_task(),)))
    )

    assert BREAD not in result.neighbours
    assert len(result.neighbours) == CROWD
