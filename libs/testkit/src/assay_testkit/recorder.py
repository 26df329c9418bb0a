"""Keeps what a model says while a skill is validated, as a recording that can be played back.

The model is whatever answers at an OpenAI-compatible address: a provider, or a person.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from assay_testkit.models import Answer, Request, tools_offered
from assay_testkit.recordings import MANUAL, SKILLS
from assay_testkit.replay import FOLDER, readable, text_of

_ROLES: Final = {
    "TaskOutlines": "planner",
    "TaskDraft": "preparer",
    "ProseDraft": "reporter",
    "GradeDraft": "grader",
}
_LONGEST_LINE: Final = 200
_SHORTHANDS: Final = {"read_file": ("file_path", "read"), "execute": ("command", "run")}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the message that answered it."""

    request: Request
    message: Mapping[str, Any]

    @property
    def role(self) -> str:
        tools = tools_offered(self.request)
        return next((role for tool, role in _ROLES.items() if tool in tools), "executor")

    @property
    def asked(self) -> str:
        """The first words of a user in it, by which conversations are told apart."""
        return next(text_of(m) for m in self.request["messages"] if m["role"] == "user")

    @property
    def is_first(self) -> bool:
        return not any(m["role"] == "assistant" for m in self.request["messages"])

    @property
    def news(self) -> str:
        """What the model had been shown since its last turn."""
        shown: list[str] = []
        for message in reversed(self.request["messages"]):
            if message["role"] == "assistant":
                break
            if message["role"] in ("tool", "user"):
                shown.append(readable(text_of(message)))
        return "\n".join(shown)


@dataclass(slots=True)
class Recorder:
    """Hands every request on, and keeps it with its answer; the script of a model server."""

    upstream: str
    """Base address, as clients are given it."""
    skill_name: str
    timeout_s: float = 3600.0
    exchanges: list[Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Answer:
        address = f"{self.upstream}/chat/completions"
        body = httpx.post(address, json=request, timeout=self.timeout_s).raise_for_status().json()
        with self._lock:
            self.exchanges.append(Exchange(request, body["choices"][0]["message"]))
        return Answer(body=body)

    def recorded(self) -> dict[str, Any]:
        """The recording so far, without its truth."""
        plan = self._plan()
        return {
            "near_misses": [
                {"prompt": prompt, "turns": self._turns("executor", prompt)}
                for prompt in plan["near_misses"]
            ],
            "tasks": [self._task(each) for each in plan["tasks"]],
            "reporter": self._turns("reporter", ""),
        }

    def _plan(self) -> Mapping[str, Any]:
        """The outline that was handed in last, and of each task the last draft."""
        drafts: dict[str, Mapping[str, Any]] = {}
        near_misses: Sequence[str] = ()
        for each, name, arguments in self._answers():
            if name == "TaskOutlines":
                near_misses = arguments.get("near_misses", ())
            elif name == "TaskDraft":
                drafts[each.asked.rpartition("<assignment>")[2]] = arguments
        return {"near_misses": near_misses, "tasks": [drafts[key] for key in sorted(drafts)]}

    def _answers(self) -> Iterator[tuple[Exchange, str, Mapping[str, Any]]]:
        for each in self.exchanges:
            for call in each.message.get("tool_calls") or ():
                function = call["function"]
                yield each, function["name"], json.loads(function["arguments"])

    def _task(self, planned: Mapping[str, Any]) -> dict[str, Any]:
        prompt = planned["prompt"]
        files = {
            file["path"]: {"base64": file["content"]}
            if file.get("encoding") == "base64"
            else file.get("content") or ""
            for file in planned.get("files", ())
        }
        return {
            **planned,
            "files": files,
            "with": self._turns("executor", prompt, sees_skill=True),
            "without": self._turns("executor", prompt, sees_skill=False),
            "grader": self._turns("grader", prompt),
        }

    def _turns(
        self, role: str, prompt: str, *, sees_skill: bool | None = None
    ) -> list[dict[str, Any]]:
        """What was said about the prompt in that role, in all runs, as one list of turns."""
        about = [
            each
            for each in self.exchanges
            if each.role == role and prompt in readable(each.asked)
            if sees_skill is None or sees_skill == self._sees_skill(each)
        ]
        turns: list[dict[str, Any]] = []
        news: list[str] = []
        for conversation in _conversations(about):
            _merge(turns, news, conversation, self.skill_name)
        return turns

    def _sees_skill(self, exchange: Exchange) -> bool:
        system = text_of(exchange.request["messages"][0])
        return f"{SKILLS}/{self.skill_name}/{MANUAL}" in system


def _conversations(exchanges: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Exchanges that continue each other, in the order in which they began."""
    begun = [each for each in exchanges if each.is_first]
    for first in begun:
        conversation = [first]
        while True:
            said = conversation[-1].message
            after = (
                each
                for each in exchanges
                if not each.is_first and _last_said(each.request) == _ids(said)
            )
            following = next(after, None)
            if following is None or not _ids(said):
                break
            conversation.append(following)
        yield conversation


def _ids(message: Mapping[str, Any]) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


def _last_said(request: Request) -> list[str]:
    return _ids(next(m for m in reversed(request["messages"]) if m["role"] == "assistant"))


def _merge(
    turns: list[dict[str, Any]], news: list[str], conversation: Sequence[Exchange], skill_name: str
) -> None:
    """Add what this conversation has beyond those before it, told apart by what was seen."""
    place = 0
    for exchange in conversation:
        said = _turn(exchange, skill_name)
        alike = [n for n in range(place, len(turns)) if _without_when(turns[n]) == said]
        if alike:
            place = alike[0] + 1
            continue
        if place < len(turns):
            said = {"when": _difference(exchange.news, news[place]), **said}
        turns.insert(place, said)
        news.insert(place, exchange.news)
        place += 1


def _without_when(turn: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key != "when"}


def _difference(news: str, other: str) -> str:
    """A pattern that is found in what was seen now and not in what was seen then."""
    known = set(other.splitlines())
    fresh = [line for line in news.splitlines() if line.strip() and line not in known]
    return f"^{re.escape(fresh[0][:_LONGEST_LINE])}" if fresh else "^"


def _turn(exchange: Exchange, skill_name: str) -> dict[str, Any]:
    folder = FOLDER.search(text_of(exchange.request["messages"][0]))
    places = {f"{SKILLS}/{skill_name}": "{{skill}}"}
    if folder is not None:
        places[folder.group()] = "{{folder}}"
    turn: dict[str, Any] = {}
    if exchange.message.get("content"):
        turn["say"] = _with_places(exchange.message["content"], places)
    calls = [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in exchange.message.get("tool_calls") or ()
    ]
    for name, arguments in calls:
        _add_call(turn, name, _with_places(arguments, places))
    return turn


def _add_call(turn: dict[str, Any], name: str, arguments: dict[str, Any]) -> None:
    """By its shorthand where the order of calls stays what it was."""
    argument, key = _SHORTHANDS.get(name, ("", ""))
    if name == "GradeDraft":
        quotes = [each["quote"] for each in arguments["evidence"]]
        contested = arguments.get("contested_checks")
        turn.update({"grade": arguments["grade"], "evidence": quotes})
        turn.update(
            {"reasons": arguments["reasons"]} | ({"contested": contested} if contested else {})
        )
    elif set(arguments) == {argument} and set(turn) <= {"say", key}:
        turn.setdefault(key, []).append(arguments[argument])
    else:
        turn.setdefault("call", []).append({"name": name, "args": arguments})


def _with_places(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for place, name in places.items():
            value = value.replace(place, name)
        return value
    if isinstance(value, Mapping):
        return {_with_places(k, places): _with_places(v, places) for k, v in value.items()}
    return [_with_places(part, places) for part in value] if isinstance(value, list) else value
