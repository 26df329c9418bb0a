"""What one try of a documented item shows: judged from how the command ended. Pure.

| what is seen | the item |
|---|---|
| something stood in the way that is not the skill's | is blocked |
| it ended well and showed something | worked |
| it ended well, and said that it found nothing, or showed nothing | is unclear |
| it ended badly on what the document itself shows | failed |
| it ended badly for a reason that no input explains (an undefined name, a bad option) | failed |
| it ended badly on an input that was made up for it | is unclear |
"""

import re
from dataclasses import dataclass
from typing import Final

from assay_contracts.coverage import ItemState
from assay_skillkit.shell.causes import cause_of

TIMED_OUT: Final = 124
NOT_FOUND: Final = 127
_LONGEST_REASON: Final = 300

_FOUND_NOTHING: Final = re.compile(
    r"^\W*(?:(?:found|processed|matched|converted|wrote|loaded|read|checked|total)\W+)?"
    r"(?:0|no|zero)\s+(?:\w+\s+){0,2}?"
    r"(?:found|processed|matched|converted|written|loaded|matches|results?|documents?|files?|rows?"
    r"|entries|records|items)\b|\bnothing (?:found|to do|to process)\b|没有找到|未找到",
    re.IGNORECASE | re.MULTILINE,
)
_WHATEVER_THE_INPUT: Final = re.compile(
    r"^(?:\w+\.)*(?:NameError|SyntaxError|IndentationError|TabError|UnboundLocalError"
    r"|NotImplementedError|ReferenceError|RecursionError|ImportError)\b"
    r"|^AttributeError: (?:module|type object) "
    r"|^TypeError: .*(?:missing \d+ required|unexpected keyword|takes \d+ positional"
    r"|is not a (?:function|constructor))"
    r"|unrecognized (?:arguments|option|subcommand)|no such (?:option|command)|unknown option"
    r"|unknown (?:command|subcommand|argument)|unexpected argument|invalid choice|invalid option"
    r"|illegal option|is not a git command|unbound variable|syntax error|[Mm]issing script"
    r"|Cannot find module '\.",
    re.MULTILINE,
)
_BAD_USE: Final = re.compile(
    r"unrecognized|no such (?:option|command)|unknown (?:option|command|subcommand|argument)"
    r"|invalid (?:choice|option)|illegal option|unexpected argument|is not a git command"
    r"|[Mm]issing script"
)
_SAYS_UNREACHED: Final = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH)\b|Name or service not known"
    r"|failure in name resolution|Could not resolve|Network is unreachable|getaddrinfo"
)
_SAYS_MISSING: Final = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b|Name or service not known"
    r"|(?:Temporary )?failure in name resolution|Could not resolve|Connection refused"
    r"|Network is unreachable|could not connect|cannot be reached|getaddrinfo|No space left"
    r"|File too large|Cannot allocate memory|MemoryError|Permission denied \(publickey"
    r"|\b[A-Z][A-Z0-9_]*(?:API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|_URL|DSN)\b"
    r"|not (?:logged|signed) in|[Aa]uthenticat|No configured push destination"
    r"|does not appear to be a git repository|no CUDA|CUDA (?:is )?not"
    r"|Cannot connect to the Docker",
)
"""A program's own word that something is missing which is not its own. It lets nothing pass: where
nobody observed an obstacle, it only keeps a failure from being held against the skill."""
_BROKEN: Final = re.compile(
    rf"Traceback \(most recent call|^\s+at .+:\d+:\d+\)?$|{_BAD_USE.pattern}", re.MULTILINE
)
"""What no exit code that a skill explains would come with."""
_MISSING_MODULE: Final = re.compile(
    r"ModuleNotFoundError: No module named '([\w.]+)'"
    r"|Cannot find (?:module|package) '([@\w][\w./@-]*)'"
)
_MISSING_FILE: Final = re.compile(
    r"(?:No such file or directory|ENOENT: no such file or directory[^']*)[:,]?\s*'?\"?([^'\"\n]*)"
    r"|^(?:.*: )?(\S+): No such file or directory",
    re.MULTILINE,
)
_NOT_THERE: Final = re.compile(r"can't open file '([^']+)'|Cannot find module '(/[^']+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A documented item that was run."""

    exit_code: int | None
    """None if it did not end."""
    output: str
    obstacle: str = ""
    """What stood in the way, as it was observed; empty if nothing did."""
    command: str
    """As it was run."""
    as_documented: bool
    """Nothing was made up: neither the words of the command nor what its input files hold."""
    is_own: bool
    """It runs a program of the skill's own, or code that the document shows as running."""
    errors_are_results: bool = False
    """The skill says what exit codes other than 0 mean."""
    after_failure: bool = False
    """An earlier step of the same exercise had not worked."""
    left_files: bool = False
    """The task made or changed files."""
    does_without: bool = False
    """The skill says that it does its work without the network too."""
    expected: tuple[str, ...] = ()
    """Lines that the document says it prints, where they can be compared."""
    expected_keys: tuple[str, ...] = ()
    """Keys of the JSON that the document says it prints, whatever it is given."""


@dataclass(frozen=True, slots=True)
class Shown:
    state: ItemState
    reason: str = ""


def judge(tried: Try, *, declared: str) -> Shown:
    """What a try shows.

    Args:
        tried: How it went.
        declared: Texts in which a package would be declared.
    """
    shown = _judge(tried, declared)
    return Shown(shown.state, " ".join(shown.reason.split())[:_LONGEST_REASON])


def _judge(tried: Try, declared: str) -> Shown:
    if tried.exit_code == 0:
        return _ended_well(tried)
    if tried.obstacle:
        return Shown("blocked", tried.obstacle)
    if tried.exit_code is None or tried.exit_code == TIMED_OUT:
        return Shown("blocked", "it did not end within the time a command has here")
    cause = cause_of(tried.output) or f"it ended with exit code {tried.exit_code}"
    if _SAYS_MISSING.search(tried.output) and not _BAD_USE.search(tried.output):
        return Shown("blocked", f"it says that something is missing here: {cause}")
    module = _MISSING_MODULE.search(tried.output)
    if module:
        return _module_missing(module[1] or module[2], tried, declared, cause)
    if tried.exit_code == NOT_FOUND and not _NOT_THERE.search(tried.output):
        return Shown("blocked", f"a program is missing here: {cause}")
    if tried.errors_are_results and not _BROKEN.search(tried.output):
        return Shown("worked")
    return _ended_badly(tried, cause)


def _ended_badly(tried: Try, cause: str) -> Shown:
    badly_used = _BAD_USE.search(tried.output) is not None
    if tried.is_own and (_WHATEVER_THE_INPUT.search(tried.output) or _own_file_missing(tried)):
        return Shown("failed", cause)
    if badly_used or _NOT_THERE.search(tried.output):
        return Shown("failed", cause)
    if tried.after_failure:
        return Shown("unclear", f"a step before it had not worked: {cause}")
    if tried.as_documented and tried.is_own:
        return Shown("failed", cause)
    return Shown("unclear", f"what it was given was made up and may not fit: {cause}")


def _ended_well(tried: Try) -> Shown:
    missing = [line for line in tried.expected if _compact(line) not in _compact(tried.output)]
    if missing and tried.as_documented:
        return Shown("failed", f"it does not print what is documented: {missing[0].strip()}")
    lacking = [key for key in tried.expected_keys if key not in tried.output]
    if lacking and tried.is_own:
        return Shown("failed", f"it does not print what is documented: {lacking[0]}")
    if _went_without(tried) and not tried.does_without:
        return Shown("unclear", f"it went on without what it asked for {tried.obstacle}".strip())
    if _FOUND_NOTHING.search(tried.output):
        return Shown("unclear", "it says that it found nothing in what it was given")
    if not tried.output.strip() and not tried.left_files:
        return Shown("unclear", "it ended without error, printed nothing and left nothing behind")
    return Shown("worked")


def _went_without(tried: Try) -> bool:
    """Whether what it shows is that something could not be had.

    A program that calls home and does its work all the same says nothing of whom it called.
    """
    missed = tried.obstacle.partition(":")[0].strip("`")
    return bool(missed and missed in tried.output) or bool(_SAYS_UNREACHED.search(tried.output))


def _module_missing(module: str, tried: Try, declared: str, cause: str) -> Shown:
    if module.startswith("."):
        return Shown("failed", cause)
    name = module.split(".", maxsplit=1)[0].split("/", maxsplit=1)[0]
    names = {name, name.replace("_", "-"), _PACKAGES.get(name, name)}
    if any(re.search(rf"(?i)(?<![\w-]){re.escape(each)}(?![\w-])", declared) for each in names):
        return Shown("blocked", f"the package {name}, which it declares, could not be had here")
    if not tried.is_own:
        return Shown("blocked", f"it needs the package {name}, which is not here")
    return Shown("failed", f"it needs {name} and declares it nowhere: {cause}")


_PACKAGES: Final = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "fitz": "pymupdf",
    "dotenv": "python-dotenv",
    "Bio": "biopython",
    "dateutil": "python-dateutil",
    "skimage": "scikit-image",
    "Crypto": "pycryptodome",
    "serial": "pyserial",
    "jwt": "pyjwt",
}
"""What a package is called where it is installed, by the name it is imported under."""


def _own_file_missing(tried: Try) -> bool:
    """Whether it looks for a file that nobody named to it: one that it should bring along."""
    match = _MISSING_FILE.search(tried.output)
    if match is None:
        return False
    path = (match[1] or match[2] or "").strip().strip("'\"")
    name = path.rstrip("/").rpartition("/")[2]
    return bool(name) and name not in tried.command


def _compact(text: str) -> str:
    return " ".join(text.split())
