"""What a rehearsing executor runs for a task: the skill's documented commands, on the task's files.

Pure, and shared: the planner asks the same functions which command its task will exercise.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_skillkit.commands import DocumentedCommand
from assay_skillkit.document import SkillDocument
from assay_skillkit.file_names import FILE_NAME, extension
from assay_skillkit.shell.shapes import SKILL_FOLDERS, CommandShape, shape_of
from assay_skillkit.words import content_words

_FOLDER_NAME: Final = re.compile(r"`((?:[\w-][\w.-]*/)+)`")
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_SAVING: Final = re.compile(
    r"\b(?:save|saved|saving|write|written|store|stored|put|export|keep|produce|create|output)\b"
    r"(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PYTHON_PARSES: Final = 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read())'


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files a task's prompt names."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """A documented command together with its shape."""

    documented: DocumentedCommand
    shape: CommandShape


def files_in_prompt(prompt: str) -> NamedFiles:
    """Which files a prompt names as given and which as wanted.

    A file named behind a verb of saving, in the same sentence, is wanted; any other is given.
    """
    inputs: list[str] = []
    outputs: list[str] = []
    for sentence in _SENTENCE.split(prompt):
        saving = _SAVING.search(sentence)
        wanted = _names(saving.group("what")) if saving else ()
        outputs.extend(wanted)
        inputs.extend(name for name in _names(sentence) if name not in wanted)
    return NamedFiles(
        inputs=tuple(dict.fromkeys(name for name in inputs if name not in outputs)),
        outputs=tuple(dict.fromkeys(outputs)),
    )


def known_commands(
    document: SkillDocument, *, skill_name: str, skill_files: Collection[str]
) -> tuple[KnownCommand, ...]:
    """The documented commands with their shapes, in the document's order, each once."""
    samples = tuple(sample.path for sample in document.samples)
    known = (
        KnownCommand(
            documented=command,
            shape=shape_of(
                command.command, skill_name=skill_name, skill_files=skill_files, samples=samples
            ),
        )
        for command in document.commands
    )
    return tuple({command.documented.command: command for command in known}.values())


def choose_command(prompt: str, commands: Sequence[KnownCommand]) -> KnownCommand | None:
    """The command that does what the prompt asks for; None if none can be run on what it gives.

    First come commands that take the kinds of files the prompt gives and make the kinds it wants,
    then those whose surroundings share most words with the prompt, then the one documented first.
    """
    files = files_in_prompt(prompt)
    work = [
        command
        for command in commands
        if command.shape.is_work and len(given_inputs(command, commands)) <= len(files.inputs)
    ]
    if not work:
        return None
    wanted = content_words(prompt)
    return max(
        work,
        key=lambda command: (
            _fits(given_inputs(command, commands), files.inputs),
            _fits(command.shape.outputs, files.outputs),
            len(wanted & content_words(_surroundings(command.documented))),
        ),
    )


def commands_for_task(
    prompt: str, document: SkillDocument, *, skill_root: str, skill_files: Collection[str]
) -> tuple[str, ...]:
    """The shell commands to run, in order, in the task's folder.

    Installation comes first, then what makes the chosen command's inputs, then that command. A
    skill that documents no command is looked over instead: its references, its scripts.

    Args:
        prompt: The task's.
        document: The skill's SKILL.md.
        skill_root: Where the skill's folder is; its last part is the skill's name.
        skill_files: Paths in the skill, relative to its folder.
    """
    files = files_in_prompt(prompt)
    known = known_commands(
        document, skill_name=posixpath.basename(skill_root), skill_files=skill_files
    )
    chosen = choose_command(prompt, known)
    if chosen is None:
        looks = inspection_commands(document, skill_root=skill_root, skill_files=skill_files)
        return (_printed_to(" &&\n".join(looks), files.outputs[0]),) if files.outputs else looks
    chain = (*leading_to(chosen, known), chosen)
    names = _exchange(chain, files)
    setup = [
        command.shape.render({}, skill_root=skill_root)
        for command in known
        if command.shape.is_setup
    ]
    work = [command.shape.render(names, skill_root=skill_root) for command in chain]
    work[-1] = _kept_in_file(work[-1], chosen.shape, files.outputs)
    return (*setup, *work)


def leading_to(chosen: KnownCommand, commands: Sequence[KnownCommand]) -> tuple[KnownCommand, ...]:
    """Earlier commands whose outputs the chosen one needs, in order."""
    needed = set(chosen.shape.inputs)
    leading: list[KnownCommand] = []
    for command in reversed(commands[: commands.index(chosen)]):
        if command.shape.is_work and needed & set(command.shape.outputs):
            leading.append(command)
            needed = (needed - set(command.shape.outputs)) | set(command.shape.inputs)
    return tuple(reversed(leading))


def given_inputs(chosen: KnownCommand, commands: Sequence[KnownCommand]) -> tuple[str, ...]:
    """Documented names of the files that must be there before the chosen command can be run."""
    chain = (*leading_to(chosen, commands), chosen)
    made = {name for command in chain for name in command.shape.outputs}
    wanted = (name for command in chain for name in command.shape.inputs)
    return tuple(dict.fromkeys(name for name in wanted if name not in made))


def inspection_commands(
    document: SkillDocument, *, skill_root: str, skill_files: Collection[str]
) -> tuple[str, ...]:
    """What can be tried of a skill without commands: its texts are there, its scripts parse."""
    references = [
        path
        for path in ("SKILL.md", *document.references)
        if path in skill_files or path.split("/")[0] in SKILL_FOLDERS
    ]
    there = [
        f"test -s {shlex.quote(posixpath.join(skill_root, path))} && echo readable: {file_name}"
        for path in references
        if (file_name := shlex.quote(posixpath.basename(path)))
    ]
    parses = [
        check.format(
            path=shlex.quote(posixpath.join(skill_root, path)),
            name=shlex.quote(posixpath.basename(path)),
        )
        for path in sorted(skill_files)
        if (check := _PARSE_CHECKS.get(extension(path)))
    ]
    return (*there, *parses)


_PARSE_CHECKS: Final = {
    "py": f"python3 -c '{_PYTHON_PARSES}' {{path}} && echo parses: {{name}}",
    "sh": "bash -n {path} && echo parses: {name}",
    "js": "node --check {path} && echo parses: {name}",
    "json": "python3 -m json.tool {path} > /dev/null && echo parses: {name}",
}


def _names(text: str) -> tuple[str, ...]:
    found = [(match.start(), match.group()) for match in FILE_NAME.finditer(text)]
    found += [(match.start(), match.group(1)) for match in _FOLDER_NAME.finditer(text)]
    return tuple(name for _, name in sorted(found))


def _fits(documented: Sequence[str], named: Sequence[str]) -> int:
    """How many named files have a documented counterpart, less the documented ones without."""
    open_kinds = [extension(name) for name in documented]
    matched = 0
    for kind in map(extension, named):
        if kind in open_kinds:
            open_kinds.remove(kind)
            matched += 1
    return matched - len(open_kinds)


def _surroundings(command: DocumentedCommand) -> str:
    return f"{command.heading} {command.lead} {command.command}"


def _exchange(chain: Sequence[KnownCommand], files: NamedFiles) -> Mapping[str, str]:
    """Documented name to the task's name, matched by kind and then by order."""
    made_on_the_way = {name for command in chain[:-1] for name in command.shape.outputs}
    inputs = [name for command in chain for name in command.shape.inputs]
    given = [name for name in dict.fromkeys(inputs) if name not in made_on_the_way]
    return {
        **_pair(given, files.inputs),
        **_pair(chain[-1].shape.outputs, files.outputs),
    }


def _pair(documented: Sequence[str], named: Sequence[str]) -> Mapping[str, str]:
    left = list(named)
    pairs: dict[str, str] = {}
    for name in documented:
        exact = next((other for other in left if other == name), None)
        alike = next((other for other in left if extension(other) == extension(name)), None)
        partner = exact or alike or (left[0] if left else None)
        if partner is not None:
            pairs[name] = partner
            left.remove(partner)
    return pairs


def _kept_in_file(command: str, shape: CommandShape, outputs: Sequence[str]) -> str:
    """Where the command only prints but the task wants a file, put the print there and show it."""
    spare = outputs[len(shape.outputs) :]
    return _printed_to(command, spare[0]) if spare else command


def _printed_to(command: str, path: str) -> str:
    target = shlex.quote(path)
    # A semicolon reads better, but some commands end only at a line break.
    end = "\n" if "\n" in command or "#" in command or command.endswith((";", "&")) else "; "
    return f"{{ {command}{end}}} > {target}; status=$?; cat {target}; exit $status"
