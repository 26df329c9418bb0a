"""What a documented command is for: work, or something that shows nothing of a skill. Pure."""

import posixpath
import re
from typing import Final, Literal

from assay_skillkit.shell.lexer import fragments

Purpose = Literal["work", "setup", "help", "looks", "prose"]
"""`setup` installs what the work needs; `help` asks a program what it can do; `looks` shows, copies
or moves things and would do so anywhere; `prose` is no command."""

_SETUP: Final = re.compile(
    r"^(?:sudo\s+)?(?:(?:python3?\s+-m\s+)?pip3?|uv(?:\s+pip)?|pipx|npm|yarn|pnpm|bun|apt(?:-get)?"
    r"|brew|conda|mamba|cargo|gem|poetry|go|dnf|apk)\s+(?:-\S+\s+)*"
    r"(?:install|add|sync|ci|i|update|upgrade|get)\b"
    r"|^(?:python3?\s+-m\s+venv|uv\s+venv|virtualenv|npx\s+playwright\s+install"
    r"|playwright\s+install|(?:/plugin|claude)\b)"
)
_LOOKING: Final = """
cd export source . chmod chown which type mkdir rmdir echo printf grep egrep fgrep rg cat head tail
less more ls tree find cp mv rm touch wc pwd sleep open xdg-open code test [ [[ true false : date
env set unset alias kill pkill killall nano vim vi man clear history file stat du df realpath
dirname basename read wait trap exit return local diff cmp sort uniq cut tr tee xargs sed awk column
jobs bg fg disown hash id whoami uname hostname nproc ps top seq
"""
_LOOKERS: Final = frozenset(_LOOKING.split())
_KEYWORDS: Final = frozenset(
    {"then", "do", "else", "if", "elif", "while", "until", "!", "time", "exec", "sudo", "nohup"}
    | {"command", "nice", "{", "}", "fi", "done", "esac", "&"}
)
_HELP: Final = re.compile(r"(?:^|\s)(?:--?help|-h|--?version|-V|-v|help|version)\s*$")
KNOWN_PROGRAMS: Final = frozenset(
    {"python", "python3", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "uv", "uvx", "pip"}
    | {
        "git",
        "gh",
        "docker",
        "kubectl",
        "cargo",
        "go",
        "make",
        "bash",
        "sh",
        "ruby",
        "perl",
        "curl",
    }
    | {"ffmpeg", "pandoc", "jq", "convert", "magick", "terraform", "aws", "gcloud", "az", "helm"}
    | {"pytest", "ruff", "mypy", "tsc", "eslint", "prettier", "psql", "sqlite3", "soffice", "dot"}
)
"""Whose name at the beginning makes a line a command, whatever words follow."""
_ASSIGNMENT: Final = re.compile(r"^[A-Za-z_]\w*\+?=")
_PROGRAM: Final = re.compile(r"[\w.$~{}/@+<>:-]+$")
_PLAIN_WORD: Final = re.compile(r"[A-Za-z][a-z']*[,;:.!?]?$")
_SENTENCE: Final = 5
"""Plain words in a row that make a sentence of what would else be a command."""


def purpose(command: str) -> Purpose:
    """What the command is for, by the programs that it names."""
    head = command.partition("\n")[0].strip()
    programs = programs_of(command)
    if _SETUP.match(head):
        return "setup"
    if not programs or is_prose(head):
        return "prose" if is_prose(head) else "looks"
    working = [program for program in programs if program not in _LOOKERS]
    if not working:
        return "looks"
    if _HELP.search(head) and "\n" not in command:
        return "help"
    return "work"


def programs_of(command: str) -> tuple[str, ...]:
    """The first word of each simple command, in order: what is run."""
    found: list[str] = []
    begins, after_redirection, in_loop_head = True, False, False
    in_word = False
    for fragment in fragments(command, notation=True):
        if fragment.kind in ("operator", "newline"):
            redirects = bool(set(fragment.text) & set("<>")) and not set(fragment.text) & set(";()")
            begins = begins if redirects else True
            after_redirection = redirects
            in_loop_head = in_loop_head and redirects
            in_word = False
        elif fragment.kind in ("bare", "quoted", "placeholder"):
            if in_word:
                continue
            in_word = True
            word = fragment.value if fragment.kind != "placeholder" else fragment.text
            if after_redirection:
                after_redirection = False
            elif word in {"for", "case", "select", "function"} and begins:
                in_loop_head, begins = True, False
            elif begins and not in_loop_head and not _skipped(word):
                found.append(posixpath.basename(word) if "/" in word else word)
                begins = False
        else:
            in_word = False
    return tuple(found)


def _skipped(word: str) -> bool:
    return word in _KEYWORDS or _ASSIGNMENT.match(word) is not None


def is_prose(line: str) -> bool:
    """Whether a line reads as a sentence rather than as a command."""
    words = line.split()
    if not words or not _PROGRAM.match(words[0].strip("\"'()`")):
        return bool(words) and not line.startswith(("[", "(", "!", "#", "$"))
    if words[0] in KNOWN_PROGRAMS:
        return False
    plain = sum(_PLAIN_WORD.fullmatch(word) is not None for word in words)
    if plain == len(words) and len(words) >= _SENTENCE:
        return True
    return line.endswith((".", ":", "。", "：")) and words[0][:1].isupper() and len(words) > 1
