"""Whose doing a network call was. Pure.

| who reached out | cause |
|---|---|
| a program of the skill, or anything that one started | `skill` |
| a command that names a file of the skill, or that the skill documents | `skill` |
| a package manager, for a package that the skill declares, imports or mentions | `skill` |
| a package manager, for anything else | `package_manager` |
| anything that reaches for a place that the skill names | `skill` |
| a program of which it is not known which command started it, or which it is | `skill` |
| anything else | `agent` |

In doubt it is the skill's: a call that is held against it wrongly is seen in the report, where it
can be contested, while one that is wrongly forgiven lets through a skill that needs the network.
What a process shows of itself it can change, so the agent's command, which it cannot, is asked too.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.runs import NetworkCause
from assay_sandboxes.port import SKILLS, UNKNOWN_PLACE, ObservedCall, RunningProgram
from assay_skillkit.commands import documented_commands
from assay_skillkit.shell.paths import paths_used
from assay_skillkit.skill_md.markdown import read_markdown

_PACKAGE_MANAGERS: Final = frozenset(
    {"pip", "pipx", "uv", "uvx", "npm", "npx", "pnpm", "yarn", "apt", "apt-get", "apk", "conda"}
)
_SAME_MANAGER: Final = {"npx": "npm", "uvx": "uv", "apt-get": "apt"}
_APT_HELPERS: Final = "methods"
"""The folder of the programs by which apt reaches out."""
_VERSION_BEHIND: Final = re.compile(r"(?<=[\w\]])(?:[=<>!~@\[;].*)$")
_SUBCOMMANDS: Final = frozenset(
    {"install", "add", "i", "ci", "update", "upgrade", "download", "sync", "exec", "run", "tool"}
    | {"pip", "index", "versions", "view", "global", "wheel", "dlx", "create"}
)
_TAKES_VALUE: Final = frozenset(
    {"-r", "-c", "-i", "-t", "-f", "--index-url", "--extra-index-url", "--target", "--requirement"}
    | {"--retries", "--timeout", "--python", "--prefix", "--constraint", "--find-links", "--proxy"}
)
_IMPORTED_AS: Final = {
    "beautifulsoup4": "bs4",
    "opencv-python": "cv2",
    "opencv-python-headless": "cv2",
    "pillow": "pil",
    "pycryptodome": "crypto",
    "pymupdf": "fitz",
    "python-dateutil": "dateutil",
    "python-docx": "docx",
    "python-dotenv": "dotenv",
    "python-pptx": "pptx",
    "pyyaml": "yaml",
    "scikit-image": "skimage",
    "scikit-learn": "sklearn",
}
"""Packages whose programs know them by another name."""
_COMPARED_CHARS: Final = 150
"""Of the agent's line; what is shown of a process is cut short too."""


@dataclass(frozen=True, slots=True)
class SkillUnderTest:
    """What is known of the skill whose calls are to be told from others'."""

    folder: str
    """Inside the sandbox."""
    files: Collection[str]
    """Relative to that folder."""
    words: frozenset[str]
    """Every word that its files hold, as `_word` writes them."""
    commands: frozenset[str]
    """The commands that it documents, as `_keys` writes them."""


def skill_under_test(name: str, files: Collection[str], texts: Sequence[str]) -> SkillUnderTest:
    """The skill of that name with these files, of which the text files say `texts`."""
    documented = (
        command.command for text in texts for command in documented_commands(read_markdown(text))
    )
    return SkillUnderTest(
        folder=posixpath.join(SKILLS, name),
        files=files,
        words=frozenset(word for text in texts for word in _words(text)),
        # A bare `ls` would make every `ls` the skill's.
        commands=frozenset(key for each in documented for key in _keys(each) if " " in key),
    )


def cause_of(call: ObservedCall, skill: SkillUnderTest) -> NetworkCause:
    """Whose doing it was."""
    is_certain = call.cwd is not None and call.destination != UNKNOWN_PLACE
    if not is_certain or _is_by_skill(call, skill):
        return "skill"
    lines = [program.command_line for program in call.programs] or [call.command]
    managed = [line for line in lines if _is_package_manager(line)]
    if managed:
        wanted = [_word(package) for line in managed for package in _packages_in(line)]
        named = any(skill.words & {word, _IMPORTED_AS.get(word, word)} for word in wanted)
        return "skill" if named else "package_manager"
    return "skill" if _names_place(call.destination, skill) else "agent"


# -- by the skill's programs and commands -------------------------------------------------------


def _is_by_skill(call: ObservedCall, skill: SkillUnderTest) -> bool:
    programs = [each for each in call.programs if not _runs_whole_command(each, call)]
    if any(_is_of_skill(each.command_line, each.folder, skill) for each in programs):
        return True
    # Where the agent's line says that it runs this very program, the rest of the line is no matter.
    if programs and set(_keys(programs[0].command_line)) & set(_keys(call.command)):
        return False
    return _is_of_skill(call.command, call.cwd or "/", skill)


def _runs_whole_command(program: RunningProgram, call: ObservedCall) -> bool:
    """Whether it is the shell that was given the agent's line."""
    given = program.command_line.partition(" -c ")[2]
    return bool(given) and given.startswith(call.command[:_COMPARED_CHARS])


def _is_of_skill(line: str, folder: str, skill: SkillUnderTest) -> bool:
    """Whether the line uses a file of the skill, or is a command that it documents."""
    return _is_documented(line, skill) or any(
        _is_file_of(use.path, skill) for use in paths_used(line, folder or "/")
    )


def _is_file_of(path: str, skill: SkillUnderTest) -> bool:
    if path == skill.folder:
        return True
    inside = path.removeprefix(f"{skill.folder}/")
    return inside != path and any(
        file == inside or file.startswith(f"{inside}/") for file in skill.files
    )


def _names_place(destination: str, skill: SkillUnderTest) -> bool:
    """Whether the skill names the host, or the domain it is in."""
    host = re.sub(r":\d+$", "", destination).strip("[]")
    labels = host.split(".")
    domains = [".".join(labels[start:]) for start in range(max(len(labels) - 1, 1))]
    return any(_word(domain) in skill.words for domain in domains)


def _is_documented(line: str, skill: SkillUnderTest) -> bool:
    return bool(skill.commands & set(_keys(line)))


def _keys(line: str) -> Iterator[str]:
    """For each simple command its program and what it is told to do: a script, place or package."""
    for part in re.split(r"&&|\|\||[;|\n]", line):
        words = _split(part)
        while words and ("=" in words[0] or words[0] in ("sudo", "exec", "time", "env")):
            words = words[1:]
        program, told = _program_and_words(words)
        told = [word for word in told if not word.startswith("-")]
        if program in _PACKAGE_MANAGERS:
            program = _SAME_MANAGER.get(program, program)
            told = [word for word in told if word not in _SUBCOMMANDS]
        if program:
            yield f"{program} {posixpath.normpath(told[0])}" if told else program


def _program_and_words(words: Sequence[str]) -> tuple[str, list[str]]:
    """The program and what it is given; `pip` and `npm` by name, though an interpreter runs them.

    `python3 -m pip x`, `/usr/bin/python3 /usr/bin/pip3 x` and `pip x` are one.
    """
    program, rest = _program_name(words[0]) if words else "", list(words[1:])
    if program not in ("python", "node", "nodejs"):
        return program, rest
    start = rest.index("-m") + 1 if "-m" in rest[:-1] else 0
    if start < len(rest):
        name = re.sub(r"(?:-cli)?\.c?js$", "", _program_name(rest[start]))
        if name in _PACKAGE_MANAGERS:
            return name, rest[start + 1 :]
    return program, rest


def _program_name(word: str) -> str:
    return re.sub(r"^(python|pip)[\d.]+$", r"\1", posixpath.basename(word))


# -- by package managers ------------------------------------------------------------------------


def _is_package_manager(line: str) -> bool:
    """Whether the program of this line is one."""
    words = _split(line)
    if _program_and_words(words)[0] in _PACKAGE_MANAGERS:
        return True
    return bool(words) and posixpath.basename(posixpath.dirname(words[0])) == _APT_HELPERS


def _packages_in(line: str) -> Iterator[str]:
    """What a package manager is asked for by name; files and places are none."""
    previous = ""
    for word in _program_and_words(_split(line))[1]:
        is_value = previous in _TAKES_VALUE
        previous = word
        if is_value or word.startswith("-") or "://" in word or word in _SUBCOMMANDS:
            continue
        if word.startswith("@") or "/" not in word:
            yield _VERSION_BEHIND.sub("", word)


# -- words --------------------------------------------------------------------------------------


def _words(text: str) -> Iterator[str]:
    for match in re.finditer(r"@?[A-Za-z0-9][\w.@/-]*", text):
        found = match.group()
        for piece in (found, *re.split(r"[/@]", found)):
            yield _word(_VERSION_BEHIND.sub("", piece))


def _word(text: str) -> str:
    return re.sub(r"[_.-]+", "-", text.strip().strip("./@-:").lower())


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote: it was cut short
        return [word.strip("\"'") for word in line.split()]
