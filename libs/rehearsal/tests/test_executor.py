"""What the rehearsal model reads from the prompt that deepagents really makes."""

from deepagents.backends.state import StateBackend
from deepagents.middleware.skills import SkillMetadata, SkillsMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.executor import executor_policy, listed_skills

TOOLS = ("execute", "read_file", "glob")


def prompt_for(*skills: SkillMetadata) -> str:
    """The system prompt's section on skills, as deepagents formats it."""
    middleware = SkillsMiddleware(backend=StateBackend(), sources=["/workspace/skills"])
    listing = middleware._format_skills_list(list(skills))
    template = middleware.system_prompt_template
    assert template is not None
    return template.format(skills_locations="", skills_load_warnings="", skills_list=listing)


def skill(name: str, description: str, *, allowed_tools: tuple[str, ...] = ()) -> SkillMetadata:
    return SkillMetadata(
        path=f"/workspace/skills/{name}/SKILL.md",
        name=name,
        description=description,
        license="MIT",
        compatibility=None,
        metadata={},
        allowed_tools=list(allowed_tools),
    )


SKILLS = (
    skill("csv-report", "Summarizes CSV tables.", allowed_tools=("execute", "read_file")),
    skill("pdf-tools", "Merges and splits PDF documents.\nAlso: reads their text."),
)


def turn(request: str, *since: BaseMessage) -> Turn:
    return Turn(
        messages=(SystemMessage(prompt_for(*SKILLS)), HumanMessage(request), *since), tools=TOOLS
    )


READ_PDF_MANUAL = AIMessage(
    "",
    tool_calls=[
        ToolCall(
            name="read_file",
            args={"file_path": "/workspace/skills/pdf-tools/SKILL.md", "limit": 5000},
            id="1",
        )
    ],
)


def test_skills_are_read_from_the_prompt() -> None:
    found = listed_skills(prompt_for(*SKILLS))

    assert [listed.path for listed in found] == [
        "/workspace/skills/csv-report/SKILL.md",
        "/workspace/skills/pdf-tools/SKILL.md",
    ]
    assert "Summarizes CSV tables." in found[0].description
    assert "Also: reads their text." in found[1].description
    assert found[1].root == "/workspace/skills/pdf-tools"


def test_prompt_without_skills_lists_none() -> None:
    assert listed_skills(prompt_for()) == ()
    assert listed_skills("You are helpful.") == ()


def test_fitting_skill_is_read_first() -> None:
    reply = executor_policy(turn("Merge the PDF documents `a.pdf` and `b.pdf`."))

    assert reply.calls == (
        ToolUse("read_file", {"file_path": "/workspace/skills/pdf-tools/SKILL.md", "limit": 5000}),
        ToolUse("glob", {"pattern": "*", "path": "/workspace/skills/pdf-tools"}),
    )


def test_unreadable_manual_is_owned_up_to() -> None:
    failed = ToolMessage("Error: gone", tool_call_id="1", name="read_file", status="error")

    reply = executor_policy(
        turn("Merge the PDF documents `a.pdf` and `b.pdf`.", READ_PDF_MANUAL, failed)
    )

    assert reply.calls == ()
    assert reply.text.startswith("Could not do it")


def test_manual_without_commands_is_owned_up_to() -> None:
    manual = ToolMessage(
        "@@ lines 1-5 of 5 @@\n---\nname: pdf-tools\ndescription: d\n---\nBe kind.\n",
        tool_call_id="1",
        name="read_file",
    )

    reply = executor_policy(
        turn("Merge the PDF documents `a.pdf` and `b.pdf`.", READ_PDF_MANUAL, manual)
    )

    assert reply == Reply(
        "Read the instructions; they document nothing that could be run for this task."
    )


def test_long_output_is_reported_by_its_ends() -> None:
    manual = "---\nname: pdf-tools\ndescription: d\n---\n```bash\npython3 scripts/merge.py\n```\n"
    run = AIMessage("", tool_calls=[ToolCall(name="execute", args={"command": "x"}, id="2")])
    printed = f"{'a' * 2000}{'b' * 2000}\n[Command succeeded with exit code 0]"

    reply = executor_policy(
        turn(
            "Merge the PDF documents.",
            READ_PDF_MANUAL,
            ToolMessage(manual, tool_call_id="1", name="read_file"),
            run,
            ToolMessage(printed, tool_call_id="2", name="execute", artifact={"exit_code": 0}),
        )
    )

    assert reply.text.startswith(
        "Done with `python3 /workspace/skills/pdf-tools/scripts/merge.py`."
    )
    assert "It printed:\n" + "a" * 726 + "\n" in reply.text
    assert "2548 characters left out" in reply.text
    assert reply.text.endswith("\n" + "b" * 726)
