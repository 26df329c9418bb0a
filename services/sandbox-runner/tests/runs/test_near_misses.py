"""Prompts that the skill is not for: tried as far as the choice, and no further."""

from assay_agentkit.failures import AgentFailed
from assay_contracts.runs import RunFinished
from assay_contracts.tasks import NearMiss
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_testkit.runner import Runner, a_run, a_task, finished

POEM = "Write a poem about counting sheep."
MANUAL = "/workspace/skills/word-counter/SKILL.md"


async def tried(runner: Runner, for_the_poem: Policy) -> RunFinished:
    """A run with one task that is done at once, and the poem beside it."""

    def policy(turn: Turn) -> Reply:
        return for_the_poem(turn) if turn.request == POEM else Reply("Done.")

    request = a_run("online", runner.store.add_skill(), tasks=(a_task(),)).model_copy(
        update={"near_misses": (NearMiss(near_miss_id="n1", prompt=POEM),)}
    )
    return finished(await runner.use_case(policy)(request))


async def test_a_skill_that_is_opened_did_not_stay_silent(runner: Runner) -> None:
    def open_it(turn: Turn) -> Reply:
        assert turn.number == 0, "it goes on after its choice"
        return Reply(calls=(ToolUse("read_file", {"file_path": MANUAL}),))

    (outcome,) = (await tried(runner, open_it)).near_misses

    assert outcome.near_miss_id == "n1"
    assert outcome.skills_opened == ("word-counter",)


async def test_an_answer_without_a_skill_is_silence(runner: Runner) -> None:
    result = await tried(runner, lambda _: Reply("One, two, three, asleep."))

    assert result.near_misses[0].skills_opened == ()
    assert len(result.outcomes) == 1
    assert len(runner.store.traces) == 1


async def test_a_choice_by_a_command_counts_and_is_not_carried_out(runner: Runner) -> None:
    command = f"cat {MANUAL} && touch /workspace/tasks/t1/poem.txt"

    result = await tried(runner, lambda _: Reply(calls=(ToolUse("execute", {"command": command}),)))

    assert result.near_misses[0].skills_opened == ("word-counter",)
    assert result.outcomes[0].files_made == ()


async def test_a_neighbour_may_be_chosen(runner: Runner) -> None:
    path = "/workspace/skills/choir-warmup-plans/SKILL.md"

    result = await tried(
        runner, lambda _: Reply(calls=(ToolUse("read_file", {"file_path": path}),))
    )

    assert result.near_misses[0].skills_opened == ("choir-warmup-plans",)


async def test_looking_around_for_ever_ends_soon(runner: Runner) -> None:
    turns: list[int] = []

    def look(turn: Turn) -> Reply:
        turns.append(turn.number)
        return Reply(calls=(ToolUse("ls", {"path": "/workspace"}),))

    result = await tried(runner, look)

    assert turns == [0, 1, 2]
    assert result.near_misses[0].skills_opened == ()


async def test_a_model_that_fails_costs_only_the_near_miss(runner: Runner) -> None:
    def fail(turn: Turn) -> Reply:
        raise AgentFailed("model", "no answer")

    result = await tried(runner, fail)

    assert result.near_misses == ()
    assert len(result.outcomes) == 1
