"""What a rehearsing executor runs for a task: an exercise of the skill, on the task's files. Pure.

The planner asks the same functions which exercise its task will have tried.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_rehearsal.exercises import Exercise, exercise_for, exercises_of, read_items
from assay_skillkit.code_blocks import CodeBlock
from assay_skillkit.document import SkillDocument
from assay_skillkit.documented_items import DocumentedItem
from assay_skillkit.file_names import FILE_NAME, extension

_FOLDER_NAME: Final = re.compile(r"`((?:[\w-][\w.-]*/)+)`")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SAVING: Final = re.compile(
    r"(?:\b(?:save|saved|saving|write|written|store|stored|put|export|keep|produce|create|output)\b"
    r"|保存|存到|写到)(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_REPOSITORY: Final = re.compile(r"git repository|git 仓库", re.IGNORECASE)
_SERVES: Final = re.compile(
    r"&\s*$|^(?:python3?\s+-m\s+http\.server|uvicorn|gunicorn|flask\s+run|streamlit\s+run|vite"
    r"|npx\s+(?:vite|serve|http-server)|next\s+dev|npm\s+run\s+(?:dev|serve)|npm\s+start(?!.*\s--\s))"
    r"(?:\s|$)|^(?:python3?|node|bash|uv\s+run)\s+(?:\S*/)?(?:serve|server)\.\w+(?:\s|$)"
)
_PORT: Final = re.compile(
    r"--?p(?:ort)?[ =](\d{2,5})|(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})|http\.server (\d+)"
)
_STATE: Final = re.compile(r"^(?:export\s+\w+=\S+|cd\s+\S+)$")
_SCRIPTS_ASKED: Final = 4
"""Programs that no command shows are asked for their help, the first of many."""

GIT_REPOSITORY: Final = """git rev-parse --git-dir > /dev/null 2>&1 || {
git init -q --template= -b main .
git config user.name Ada && git config user.email ada@example.org
printf '__pycache__/\\n' > .gitignore && git add -A && git commit -q -m 'feat: start the ledger'
printf 'Notes on the ledger.\\n' > NOTES.md && git add -A && git commit -q -m 'docs: add notes'
printf 'def total(amounts):\\n    return sum(amounts)\\n' > ledger.py
git add -A && git commit -q -m 'fix: count every amount once'
}; git log --oneline | head -3"""
"""Makes the folder a repository with a short history, if it is none."""
_WAIT: Final = (
    "import socket, sys, time\n"
    "for _ in range(100):\n"
    "    with socket.socket() as probe:\n"
    '        if probe.connect_ex((\\"127.0.0.1\\", int(sys.argv[1]))) == 0:\n'
    '            sys.exit(print(\\"it answers on port\\", sys.argv[1]))\n'
    "    time.sleep(0.1)\n"
    'sys.exit(\\"nobody answers on port \\" + sys.argv[1])'
)


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files a task's prompt names."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.inputs, *self.outputs)


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


def commands_for_task(
    prompt: str, document: SkillDocument, *, skill_root: str, skill_files: Collection[str]
) -> tuple[str, ...]:
    """The shell commands to run, in order, in the task's folder; none where nothing can be run.

    Args:
        prompt: The task's.
        document: The skill's SKILL.md.
        skill_root: Where the skill's folder is; its last part is the skill's name.
        skill_files: Paths in the skill, relative to its folder.
    """
    items = read_items(document, skill_name=posixpath.basename(skill_root), skill_files=skill_files)
    files = files_in_prompt(prompt)
    exercise = exercise_for(exercises_of(items), prompt, files.all)
    help_asked = tuple(_help_of(items, skill_root))
    if exercise is None:
        return help_asked
    repository = (GIT_REPOSITORY,) if _REPOSITORY.search(prompt) else ()
    return (*repository, *_Writer(exercise, files, skill_root).commands(), *help_asked)


class _Writer:
    """Writes the commands of one exercise, with the task's files in place of the documented."""

    def __init__(self, exercise: Exercise, files: NamedFiles, skill_root: str) -> None:
        self._exercise = exercise
        self._root = skill_root
        self._names = {
            **_pair(exercise.given, files.inputs),
            **_pair(exercise.made, files.outputs),
        }
        spare = [name for name in files.outputs if name not in self._names.values()]
        self._result = spare[0] if spare else None
        self._state: list[str] = []
        self._servers = 0

    def commands(self) -> Iterator[str]:
        for item in self._exercise.items:
            command = self._rendered(item)
            if _STATE.match(command) and not item.is_to_be_tried:
                self._remember(item, command)
                continue
            whole = "\n".join([*self._state, command])
            if item.is_to_be_tried and _SERVES.search(item.what):
                yield self._started(item, whole.rstrip().removesuffix("&"))
            elif self._result and item.is_to_be_tried and not item.outputs:
                yield _printed_to(whole, self._result)
            else:
                yield whole
        for number in range(1, self._servers + 1):
            yield f"kill $(cat server-{number}.pid) 2> /dev/null; true"

    def _remember(self, item: DocumentedItem, command: str) -> None:
        """What holds for later commands too; a skill's own folder cannot be worked in."""
        assert item.shape is not None
        if not item.shape.skill_files:
            self._state.append(command)

    def _rendered(self, item: DocumentedItem) -> str:
        if item.code is not None:
            return _code_command(item.code)
        assert item.shape is not None
        command = item.shape.render(self._names, skill_root=self._root)
        into_skill = re.match(
            rf"cd\s+{re.escape(self._root)}\S*\s*(?:&&|;)\s*(.+)", command, re.DOTALL
        )
        command = into_skill[1] if into_skill else command
        return re.sub(r"^(npm|pnpm)\s", rf"\1 --prefix {shlex.quote(self._root)} ", command)

    def _started(self, item: DocumentedItem, command: str) -> str:
        """Start a server, and go on when somebody answers on its port."""
        self._servers += 1
        name = f"server-{self._servers}"
        later = " ".join(other.what for other in self._exercise.items)
        port = _port(item.what) or _port(later) or "8000"
        return (
            f"{command.strip()} > {name}.log 2>&1 & echo $! > {name}.pid\n"
            f'python3 -c "{_WAIT}" {port} || {{ cat {name}.log; exit 1; }}'
        )


def _help_of(items: Sequence[DocumentedItem], root: str) -> Iterator[str]:
    """Programs that nothing shows how to use are asked what they can do: they have to start."""
    runners = {"py": "python3", "js": "node", "mjs": "node"}
    scripts = [
        item.what for item in items if item.kind == "script" and extension(item.what) in runners
    ]
    for path in scripts[:_SCRIPTS_ASKED]:
        place = shlex.quote(posixpath.join(root, path))
        yield f"{runners[extension(path)]} {place} --help"


def _code_command(code: CodeBlock) -> str:
    if code.language == "python":
        return f"python3 - <<'END_OF_CODE'\n{code.text}\nEND_OF_CODE"
    is_module = re.search(r"^\s*(?:import\s.+from|export\s)", code.text, re.MULTILINE)
    kind = "module" if is_module else "commonjs"
    return f"node --input-type={kind} - <<'END_OF_CODE'\n{code.text}\nEND_OF_CODE"


def _port(text: str) -> str:
    match = _PORT.search(text)
    return next((group for group in match.groups() if group), "") if match else ""


def _names(text: str) -> tuple[str, ...]:
    found = [(match.start(), match.group()) for match in FILE_NAME.finditer(text)]
    found += [(match.start(), match.group(1)) for match in _FOLDER_NAME.finditer(text)]
    return tuple(name for _, name in sorted(found))


def _pair(documented: Sequence[str], named: Sequence[str]) -> Mapping[str, str]:
    """Documented name to the task's name: the same one, else one of its kind."""
    left = [name for name in named if name not in documented]
    pairs = {name: name for name in documented if name in named}
    for name in documented:
        alike = next((other for other in left if extension(other) == extension(name)), None)
        if name not in pairs and alike is not None:
            pairs[name] = alike
            left.remove(alike)
    return pairs


def _printed_to(command: str, path: str) -> str:
    """The command, with what it prints shown and kept at the end of a file."""
    target = shlex.quote(path)
    # A semicolon reads better, but some commands end only at a line break.
    end = "\n" if "\n" in command or "#" in command or command.endswith((";", "&")) else "; "
    kept = f"cat .printed; cat .printed >> {target}; rm .printed; exit $status"
    return f"{{ {command}{end}}} > .printed; status=$?; {kept}"
