"""Recorded conversations of a strong model about one skill, read from TOML.

`tests/recordings/README.md` explains the format to whoever writes one.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MANUAL: Final = "SKILL.md"
SKILLS: Final = "/workspace/skills"
_EVIDENCE: Final = ("{{seen ^detail: (.+)}}",)
"""What a check said, where a grader quotes nothing in particular."""


_KEYS: Final = frozenset(
    {"skill", "like", "how", "truth", "control", "limits", "needs"}
    | {"tasks", "near_misses", "planner", "reporter"}
)


class BadRecording(ValueError):
    """A recording says something that the format does not have."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model called; texts in the arguments may hold placeholders."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What the model said in one turn."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    when: re.Pattern[str] | None = None
    """Only if this is found in what the model has seen since its last turn."""


Conversation = tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTask:
    """A task as the planner wrote it, and how it was carried out and graded."""

    planned: Mapping[str, Any]
    """As the planner hands it in."""
    with_skill: Conversation
    without_skill: Conversation
    """Where the skill under test is not among those that the agent sees."""
    graded: Conversation

    @property
    def prompt(self) -> str:
        return str(self.planned["prompt"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNearMiss:
    prompt: str
    chosen: Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Everything that a strong model said while one skill was validated."""

    skill: str
    """Folder in the repository; its last part is the skill's name."""
    truth: Mapping[str, Any]
    control: bool
    limits: Mapping[str, float]
    """Bounds of the platform that this skill is to meet, by their names."""
    took_place: bool
    """Whether it was said in a validation; otherwise it was written as it would have been."""
    needs: str | None
    """A program without which it cannot be validated here."""
    tasks: tuple[RecordedTask, ...]
    near_misses: tuple[RecordedNearMiss, ...]
    planned: Conversation
    reported: Conversation

    @property
    def name(self) -> str:
        return Path(self.skill).name


def load_recordings(folder: Path) -> dict[str, Recording]:
    """Every recording in the folder, by the name of its skill.

    Raises:
        BadRecording: one of them cannot be read.
    """
    raw = {path.stem: tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))}
    return {name: recording_of(name, each, raw) for name, each in raw.items()}


def recording_of(
    name: str, raw: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]
) -> Recording:
    """One recording from its TOML; `others` are those that it may be `like`."""
    said = {**others[raw["like"]], **raw} if "like" in raw else raw
    if unknown := set(said) - _KEYS:
        raise BadRecording(f"{name}: nothing is known of {sorted(unknown)}")
    skill = raw.get("skill", f"tests/skills/{name}")
    tasks = tuple(_task(each) for each in said["tasks"])
    near_misses = tuple(
        RecordedNearMiss(prompt=each["prompt"], chosen=conversation(each["turns"]))
        for each in said.get("near_misses", ())
    )
    return Recording(
        skill=skill,
        truth=raw["truth"],
        control=bool(said.get("control", False)),
        limits=raw.get("limits", {}),
        took_place="how" in raw,
        needs=raw.get("needs"),
        tasks=tasks,
        near_misses=near_misses,
        planned=conversation(said.get("planner", ())),
        reported=conversation(said.get("reporter", ())),
    )


def _task(raw: Mapping[str, Any]) -> RecordedTask:
    conversations = {"with", "without", "grader"}
    planned = {key: value for key, value in raw.items() if key not in conversations}
    planned["files"] = [
        {"path": path, "content": content}
        if isinstance(content, str)
        else {"path": path, "content": content["base64"], "encoding": "base64"}
        for path, content in raw.get("files", {}).items()
    ]
    return RecordedTask(
        planned=planned,
        with_skill=conversation(raw["with"]),
        without_skill=conversation(raw.get("without", ())),
        graded=conversation(raw["grader"]),
    )


def conversation(turns: Sequence[Mapping[str, Any]]) -> Conversation:
    return tuple(map(_said, turns))


def _said(turn: Mapping[str, Any]) -> Said:
    unknown = set(turn) - {"when", "say", "call", "read", "write", "run", *_GRADE}
    if unknown:
        raise BadRecording(f"a turn has no {sorted(unknown)}")
    calls = [
        *(Call("read_file", {"file_path": path}) for path in _list(turn.get("read"))),
        *(
            Call("write_file", {"file_path": path, "content": content})
            for path, content in turn.get("write", {}).items()
        ),
        *(Call("execute", {"command": command}) for command in _list(turn.get("run"))),
        *(Call(each["name"], each["args"]) for each in turn.get("call", ())),
    ]
    if "grade" in turn:
        calls.append(_grade(turn))
    pattern = turn.get("when")
    return Said(
        text=turn.get("say", ""),
        calls=tuple(calls),
        when=re.compile(pattern, re.MULTILINE) if pattern else None,
    )


_GRADE: Final = ("grade", "evidence", "reasons", "contested")


def _grade(turn: Mapping[str, Any]) -> Call:
    return Call(
        "GradeDraft",
        {
            "evidence": [{"quote": quote} for quote in turn.get("evidence", _EVIDENCE)],
            "contested_checks": turn.get("contested", []),
            "reasons": turn["reasons"],
            "grade": turn["grade"],
        },
    )


def _list(value: str | Sequence[str] | None) -> Sequence[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
