"""What a policy sees of a conversation, and what it says: the words that all roles share."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from assay_agentkit.fencing import is_fenced, unfenced

READ_LINES: Final = 5000
"""Of a file that planner or executor reads: both see as much of a SKILL.md."""
_HEADER: Final = re.compile(r"^@@ [^\n]* @@\n", re.MULTILINE)
"""Stands above what `read_file` shows of a file; there may be notices above it."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that a policy wants called, with JSON-like arguments."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy says: words, tool calls, or both. No calls means the agent is done."""

    text: str = ""
    calls: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything the model was sent this time."""

    messages: tuple[BaseMessage, ...]
    tools: tuple[str, ...]
    """Names of the tools that were bound, the structured-output tool included."""

    @property
    def system(self) -> str:
        """The whole system prompt, with what middleware added to it."""
        return "\n".join(str(m.text) for m in self.messages if isinstance(m, SystemMessage))

    @property
    def request(self) -> str:
        """The newest human message; empty if there is none."""
        for message in reversed(self.messages):
            if isinstance(message, HumanMessage):
                return str(message.text)
        return ""

    def fenced_data(self) -> dict[str, object]:
        """The data of the first message that holds any.

        Raises:
            ValueError: none does.
        """
        texts = (str(message.text) for message in self.messages)
        return unfenced(next(filter(is_fenced, texts), ""))

    @property
    def since_request(self) -> tuple[BaseMessage, ...]:
        """What came after the newest human message."""
        after = len(self.messages)
        while after and not isinstance(self.messages[after - 1], HumanMessage):
            after -= 1
        return self.messages[after:]

    @property
    def number(self) -> int:
        """How often the model has already replied to the newest human message."""
        return sum(isinstance(message, AIMessage) for message in self.since_request)

    @property
    def results(self) -> tuple[ToolMessage, ...]:
        """Tool results since the newest human message, in the order of their calls."""
        return tuple(m for m in self.since_request if isinstance(m, ToolMessage))

    def result_of(self, tool: str, **arguments: object) -> ToolMessage | None:
        """The newest result, in the whole conversation, of a call with at least these arguments."""
        wanted = {
            call["id"]
            for message in self.messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
            if call["name"] == tool and arguments.items() <= call["args"].items()
        }
        results = (m for m in reversed(self.messages) if isinstance(m, ToolMessage))
        return next((m for m in results if m.tool_call_id in wanted), None)


Policy = Callable[[Turn], Reply]


def succeeded(result: ToolMessage) -> bool:
    """Whether a tool call worked: no error status and, for a command, exit code 0."""
    return result.status != "error" and exit_code(result) in {None, 0}


def exit_code(result: ToolMessage) -> int | None:
    """The exit code of an `execute` result, which deepagents keeps in the artifact."""
    artifact = result.artifact
    code = artifact.get("exit_code") if isinstance(artifact, dict) else None
    return code if isinstance(code, int) else None


def file_text(result: ToolMessage) -> str:
    """What a `read_file` result shows, without the header and the notices above it."""
    return _HEADER.split(str(result.text), maxsplit=1)[-1]


def listed_paths(result: ToolMessage) -> tuple[str, ...]:
    """The paths in an `ls` or `glob` result; none if it is not a listing."""
    try:
        # The tools show a Python list, with a note below where there were too many.
        paths = ast.literal_eval(str(result.text).partition("\n\n")[0])
    except (ValueError, SyntaxError):
        return ()
    return tuple(str(path) for path in paths) if isinstance(paths, list) else ()
