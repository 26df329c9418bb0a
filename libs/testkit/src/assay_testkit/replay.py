"""Plays recorded conversations back over HTTP, to a provider's real client.

A request says by its model's name which recording it is about, by its tools which role asks, and by
its words which task: nothing else of a prompt matters. Which turn comes next is read from the calls
that are in the conversation already, and from what the sandbox has really answered.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from assay_agentkit.fencing import is_fenced, unfenced
from assay_testkit.models import Answer, Request, completion, tools_offered
from assay_testkit.recordings import MANUAL, SKILLS, Call, Conversation, Recording, Said

_PLACEHOLDER: Final = re.compile(r"\{\{(skill|folder|seen (?P<pattern>.+?))\}\}(?!\})", re.DOTALL)
FOLDER: Final = re.compile(r"/workspace/[\w/.-]*tasks/[\w.-]+")
"""Where an executing agent works."""
_ASSIGNMENT: Final = re.compile(r'<assignment>{"number": (\d+)')
_TURN: Final = re.compile(r"^turn-(\d+)-")
_LONGEST_SUMMARY: Final = 400


class NotInRecording(LookupError):
    """The product asked for something that the recording has no answer to."""


@dataclass(slots=True)
class Replay:
    """A model that says what was recorded; the script of a model server."""

    recordings: Mapping[str, Recording]
    """By the name of the model in the requests."""
    unanswered: list[str] = field(default_factory=list)
    """What no recording had an answer to: a test that finds anything here has failed."""

    def __call__(self, request: Request) -> Answer:
        recording = self.recordings[request["model"]]
        try:
            said = _next(recording, Asked(request, recording))
        except NotInRecording as problem:
            self.unanswered.append(f"{recording.name}: {problem}")
            return Answer(body={"error": {"message": str(problem)}}, status=400)
        return completion(said)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and what a model can read in it."""

    request: Request
    recording: Recording

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return self.request["messages"]  # type: ignore[no-any-return]

    @property
    def system(self) -> str:
        return "\n".join(text_of(m) for m in self.messages if m["role"] == "system")

    @property
    def first_request(self) -> str:
        return next(text_of(m) for m in self.messages if m["role"] == "user")

    @property
    def last_turn(self) -> int:
        """The number of the recorded turn that was said last; -1 before the first."""
        ids = [
            call["id"]
            for message in self.messages
            if message["role"] == "assistant"
            for call in message.get("tool_calls") or ()
        ]
        found = [int(turn[1]) for each in ids if (turn := _TURN.match(each))]
        return max(found, default=-1)

    def seen(self, *, since_last_turn: bool = False) -> list[str]:
        """What the model was shown, newest first: tools' answers, and the material of a grader."""
        texts = []
        for message in reversed(self.messages):
            if since_last_turn and message["role"] == "assistant":
                break
            if message["role"] in ("tool", "user"):
                texts.append(readable(text_of(message)))
        return texts

    def is_about(self, prompt: str) -> bool:
        return prompt in self.first_request or prompt in readable(self.first_request)


def _next(recording: Recording, asked: Asked) -> Mapping[str, object]:
    """The message of the assistant that comes next."""
    conversation, what = _conversation(recording, asked)
    news = "\n".join(asked.seen(since_last_turn=True))
    for number in range(asked.last_turn + 1, len(conversation)):
        said = conversation[number]
        if said.when is None or said.when.search(news):
            return _message(said, number, asked)
    raise NotInRecording(f"{what}: no turn after {asked.last_turn} fits what was seen:\n{news}")


def _conversation(recording: Recording, asked: Asked) -> tuple[Conversation, str]:
    tools = tools_offered(asked.request)
    if "TaskOutlines" in tools:
        return recording.planned or _outlines(recording), "the planner"
    if "TaskDraft" in tools:
        return _prepared(recording, asked)
    if "ProseDraft" in tools:
        return recording.reported or _PROSE, "the reporter"
    for number, task in enumerate(recording.tasks, start=1):
        if asked.is_about(task.prompt):
            if "GradeDraft" in tools:
                return task.graded, f"the grader of t{number}"
            if f"{SKILLS}/{recording.name}/{MANUAL}" in asked.system:
                return task.with_skill, f"the executor of t{number}"
            return task.without_skill, f"the executor of t{number} without the skill"
    for near_miss in recording.near_misses:
        if asked.is_about(near_miss.prompt):
            return near_miss.chosen, "the executor of a near miss"
    raise NotInRecording(f"nobody knows this request:\n{asked.first_request}")


def _outlines(recording: Recording) -> Conversation:
    """A planner that hands in its plan in outline."""
    plan = {
        "outlines": [{"need": f"Somebody asks: {task.prompt}"} for task in recording.tasks],
        "near_misses": [each.prompt for each in recording.near_misses],
    }
    return (Said(calls=(Call("TaskOutlines", plan),)),)


def _prepared(recording: Recording, asked: Asked) -> tuple[Conversation, str]:
    """An agent that has the task ready which it is to prepare."""
    found = _ASSIGNMENT.search(asked.first_request)
    if found is None:
        raise NotInRecording(f"no assignment:\n{asked.first_request}")
    task = recording.tasks[int(found[1]) - 1]
    draft = {"reference": None, **task.planned}
    return (Said(calls=(Call("TaskDraft", draft),)),), f"the preparer of t{found[1]}"


_PROSE: Final = (
    Said(
        calls=(
            Call("ProseDraft", {"summary": f"{{{{seen ^reason: (.{{1,{_LONGEST_SUMMARY}}})}}}}"}),
        )
    ),
)
"""A reporter that repeats the reason for the verdict."""


def _message(said: Said, number: int, asked: Asked) -> Mapping[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": _filled(said.text, asked)}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": f"turn-{number}-{index}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(_filled(call.arguments, asked)),
                },
            }
            for index, call in enumerate(said.calls)
        ]
    return message


def _filled(value: Any, asked: Asked) -> Any:
    """The value with every placeholder in its texts replaced by what was really seen."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: _inserted(found, asked), value)
    if isinstance(value, Mapping):
        return {_filled(key, asked): _filled(part, asked) for key, part in value.items()}
    return [_filled(part, asked) for part in value] if isinstance(value, list | tuple) else value


def _inserted(found: re.Match[str], asked: Asked) -> str:
    if found[1] == "skill":
        return f"{SKILLS}/{asked.recording.name}"
    if found[1] == "folder":
        folder = FOLDER.search(asked.system)
        if folder is None:
            raise NotInRecording("the prompt names no working folder")
        return folder.group()
    for text in asked.seen():
        if seen := re.search(found["pattern"], text, re.MULTILINE):
            return seen[1] if seen.re.groups else seen.group()
    raise NotInRecording(f"{found['pattern']!r} was not seen in:\n{asked.seen()[0]}")


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def readable(text: str) -> str:
    """Fenced data as lines of `key: value`, with its texts as they are; other text unchanged."""
    return "\n".join(_lines("", unfenced(text))) if is_fenced(text) else text


def _lines(key: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _lines(str(name), part)
    elif isinstance(value, list):
        for part in value:
            yield from _lines(key, part)
    else:
        yield f"{key}: {value}"
