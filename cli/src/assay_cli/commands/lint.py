"""`assay lint`: the format check that an upload goes through, here and without a stack."""

import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.text import Text

from assay_cli.commands import single_command
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.options import SkillSource
from assay_cli.printing import console
from assay_contracts.skills import Finding, Severity
from assay_reporting.sarif import CheckedSource, render_sarif
from assay_reporting.text import one_line
from assay_skillkit.check import CheckedSkill, check_archive, check_folder
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.rules import RULES

Form = Literal["text", "json", "sarif"]

HEADING: Final[dict[Severity, str]] = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
STYLE: Final[dict[Severity, str]] = {"error": "bold red", "warning": "yellow", "note": "dim"}

app = single_command()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """What was asked for."""

    source: Path
    strict: bool
    as_json: bool
    as_sarif: bool


@app.command()
def lint(
    path: SkillSource,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print the findings as SARIF 2.1.0.")
    ] = False,
) -> Exit:
    """Check a skill's format as an upload would. The exit code: 0 no errors, 1 errors, 2 usage."""
    return _lint(Lint(source=path, strict=strict, as_json=as_json, as_sarif=as_sarif))


def _lint(asked: Lint) -> Exit:
    """Raises CommandError when there is nothing to check."""
    if asked.as_json and asked.as_sarif:
        raise CommandError("--json and --sarif exclude each other: choose one.", Exit.BAD_INPUT)
    checked = _checked(asked)
    if asked.as_json:
        _print(_document(asked, checked))
    elif asked.as_sarif:
        _print(_sarif(asked, checked))
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


def _sarif(asked: Lint, checked: CheckedSkill) -> dict[str, object]:
    return render_sarif(
        checked.findings,
        source=CheckedSource(
            path=asked.source, is_folder=asked.source.is_dir(), main_file=SKILL_MD
        ),
        rules=tuple(RULES.values()),
        tool_version=version("assay-cli"),
    )


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
