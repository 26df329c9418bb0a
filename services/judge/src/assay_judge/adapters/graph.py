"""The judge's one graph: a main agent, and the sub-agents that it asks."""

from collections.abc import Sequence
from importlib import resources
from typing import Final

from deepagents import FsToolName, SubAgent
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from assay_agentkit.agents import Agent, build_agent, sub_agent
from assay_agentkit.bounds import Bounds
from assay_judge.adapters.assignments import SubAgentName
from assay_judge.adapters.directing import Briefed, Budgeted, Directing, Recorded, Verified
from assay_judge.adapters.files import READ_TOOLS
from assay_judge.adapters.work_files import EXECUTE_DESCRIPTION, WORK_TOOLS, AssignedFiles
from assay_judge.domain.drafts import TaskDraft, TaskOutlines
from assay_judge.domain.grading import GradeDraft
from assay_judge.domain.prose import ProseDraft

PLANNER_PROMPT: Final = "planner-4"
PREPARER_PROMPT: Final = "planner-4-task"
GRADER_PROMPT: Final = "grader-4"
REPORTER_PROMPT: Final = "reporter-2"

_DESCRIPTIONS: Final[dict[SubAgentName, str]] = {
    "task-preparer": "Makes one task from its outline, with its input files, its checks and a "
    "right result, and tries the checks.",
    "grader": "Grades the work on one task from what was done and what came of it.",
    "reporter": "Writes the words of a report beside its numbers.",
}


def build_graph(
    *, planner: BaseChatModel, grader: BaseChatModel, reporter: BaseChatModel, bounds: Bounds
) -> Agent:
    """The graph that serves every job of the judge."""
    files = AssignedFiles()

    def declared(
        name: SubAgentName,
        model: BaseChatModel,
        prompt_version: str,
        *,
        tools: Sequence[FsToolName],
        answers_with: type[BaseModel],
    ) -> SubAgent:
        return sub_agent(
            model,
            name=name,
            description=_DESCRIPTIONS[name],
            system_prompt=prompt(prompt_version),
            bounds=bounds,
            backend=files,
            file_tools=tools,
            answers_with=answers_with,
            middleware=[Briefed(), Recorded(), Verified(answers_with.__name__), Budgeted()],
            tool_descriptions={"execute": EXECUTE_DESCRIPTION} if "execute" in tools else None,
        )

    return build_agent(
        planner,
        name="judge",
        system_prompt=prompt(PLANNER_PROMPT),
        bounds=bounds,
        backend=files,
        file_tools=READ_TOOLS,
        answers_with=TaskOutlines,
        middleware=[Directing(), Recorded(), Verified(TaskOutlines.__name__), Budgeted()],
        sub_agents=[
            declared(
                "task-preparer",
                planner,
                PREPARER_PROMPT,
                tools=WORK_TOOLS,
                answers_with=TaskDraft,
            ),
            declared("grader", grader, GRADER_PROMPT, tools=READ_TOOLS, answers_with=GradeDraft),
            # All it needs is in the request: there is no file to touch.
            declared(
                "reporter",
                reporter,
                REPORTER_PROMPT,
                tools=("read_file",),
                answers_with=ProseDraft,
            ),
        ],
    )


def prompt(version: str) -> str:
    """The system prompt of that version, which is also its file's name."""
    return (
        resources.files("assay_judge.adapters")
        .joinpath("prompts", f"{version}.md")
        .read_text("utf-8")
    )
