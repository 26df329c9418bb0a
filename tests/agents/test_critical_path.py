"""How many model calls come one after another, from the upload to the verdict."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.agents.conftest import files_below

from assay_testkit.models import Answer, ModelServer, Request, calls_tool, tools_offered
from assay_testkit.recordings import Recording, load_recordings
from assay_testkit.replay import Replay

REPOSITORY = Path(__file__).parents[2]
RECORDINGS = load_recordings(REPOSITORY / "tests" / "recordings")
INSTRUCTIONS_ONLY = "house-voice"
MOST_CALLS = 17


def looking_first(replay: Replay) -> Callable[[Request], Answer]:
    """As recorded, and whoever prepares a task tries something in the sandbox first."""

    def script(request: Request) -> Answer:
        begins = not any(message["role"] == "assistant" for message in request["messages"])
        if begins and "TaskDraft" in tools_offered(request):
            return calls_tool("execute", {"command": "python3 -c 'print(17 * 3)'"}, number=99)
        return replay({**request, "model": INSTRUCTIONS_ONLY})

    return script


def longest_chain(requests: Sequence[Request], recording: Recording) -> int:
    """The most calls of one agent in each phase, added up: in a phase, agents work side by side."""
    rounds: Counter[str] = Counter()
    lengths: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for request in requests:
        said = [message for message in request["messages"] if message["role"] == "assistant"]
        opening = str(request["messages"][:2])
        if not said:
            rounds[opening] += 1
        role = next((t for t in tools_offered(request) if t[0].isupper()), "executor")
        sees_skill = f"/skills/{recording.name}/" in opening
        graded = re.search(r'"run": "(\w+)"', str(request["messages"][1]["content"]))
        phase = graded[1] if graded else role if role != "executor" or sees_skill else "control"
        agents = lengths[phase, rounds[opening]]
        agents[opening] = max(agents.get(opening, 0), len(said) + 1)
    # The control goes beside the online run and its grading.
    return sum(max(agents.values()) for (phase, _), agents in lengths.items() if phase != "control")


async def test_a_skill_of_instructions_takes_few_calls_one_after_another(
    model_server: ModelServer, platform_with_model: Callable[..., Any]
) -> None:
    recording = RECORDINGS[INSTRUCTIONS_ONLY]
    replay = Replay(RECORDINGS)
    model_server.script = looking_first(replay)

    validated = await platform_with_model(control=True, timeout_s=120.0).validate(
        recording.name, files_below(REPOSITORY / recording.skill)
    )

    assert replay.unanswered == []
    assert validated.report.verdict == "passed", validated.report.reason
    assert validated.report.control is not None
    assert len(validated.report.trigger.near_misses) == 2
    chain = longest_chain(model_server.requests, recording)
    assert 8 < chain <= MOST_CALLS, chain
