"""`assay lint`: the format check that an upload goes through, here and without a stack."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rich.text import Text

from assay_cli.outcome import CommandError, Exit
from assay_cli.output import console
from assay_cli.sarif import sarif_log
from assay_cli.text import one_line
from assay_contracts.skills import Finding, Severity
from assay_skillkit.check import CheckedSkill, check_archive, check_folder

Form = Literal["text", "json", "sarif"]

HEADING: Final[dict[Severity, str]] = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
STYLE: Final[dict[Severity, str]] = {"error": "bold red", "warning": "yellow", "note": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """What was asked for."""

    source: Path
    strict: bool
    as_json: bool
    as_sarif: bool


def lint(asked: Lint) -> Exit:
    """Raises CommandError when there is nothing to check."""
    if asked.as_json and asked.as_sarif:
        raise CommandError("--json and --sarif exclude each other: choose one.", Exit.BAD_INPUT)
    checked = _checked(asked)
    if asked.as_json:
        _print(_document(asked, checked))
    elif asked.as_sarif:
        _print(sarif_log(asked.source, checked.findings))
    else:
        _show(asked.source, checked)
    return Exit.FAILED if checked.errors else Exit.PASSED


def _checked(asked: Lint) -> CheckedSkill:
    source = asked.source
    try:
        if source.is_dir():
            return check_folder(source, strict=asked.strict)
        with source.open("rb") as archive:
            return check_archive(archive, filename=source.name, strict=asked.strict)
    except FileNotFoundError as error:
        raise CommandError(
            f"{source} does not exist: name a skill's folder, or a zip of one.", Exit.BAD_INPUT
        ) from error
    except OSError as error:
        raise CommandError(
            f"{source} cannot be read: {error.strerror or error}. See that you may read it.",
            Exit.BAD_INPUT,
        ) from error


def _document(asked: Lint, checked: CheckedSkill) -> dict[str, object]:
    return {
        "path": str(asked.source),
        "strict": asked.strict,
        "valid": not checked.errors,
        "name": checked.manifest.name if checked.manifest else None,
        "findings": [finding.model_dump(mode="json") for finding in checked.findings],
    }


def _print(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _show(source: Path, checked: CheckedSkill) -> None:
    screen = console()
    for severity, heading in HEADING.items():
        findings = [finding for finding in checked.findings if finding.severity == severity]
        if findings:
            screen.print(Text(heading, style=STYLE[severity]))
            for finding in findings:
                # Unwrapped, so that what finds places in lines of text finds them in these.
                screen.print(_entry(source, finding), soft_wrap=True)
            screen.print()
    screen.print(Text(f"{one_line(str(source))}: {_summary(checked)}"), soft_wrap=True)


def _entry(source: Path, finding: Finding) -> Text:
    text = Text(f"  {_place(source, finding)}: {one_line(finding.message)}")
    text.append(f" [{finding.code}]\n", style="dim")
    text.append(f"      {one_line(finding.fix)}", style="dim")
    return text


def _place(source: Path, finding: Finding) -> str:
    place = str(source)
    if source.is_dir():
        place = str(source / (finding.path or ""))
    elif finding.path not in (None, source.name):
        # What is inside an archive has no path of its own outside it.
        place = f"{source}!{finding.path}"
    return one_line(f"{place}:{finding.line}" if finding.line else place)


def _summary(checked: CheckedSkill) -> str:
    counts = {
        severity: sum(finding.severity == severity for finding in checked.findings)
        for severity in HEADING
    }
    parts = [
        f"{count or 'no'} {severity}{'' if count == 1 else 's'}"
        for severity, count in counts.items()
        if count or severity == "error"
    ]
    return ", ".join(parts)
