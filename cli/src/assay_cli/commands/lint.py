"""`assay lint`: the format check that an upload goes through, here and without a stack."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from assay_cli.commands import single_command
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.printing import console, say_json
from assay_contracts.skills import Finding, Severity
from assay_reporting.sarif import CheckedSource, render_sarif
from assay_reporting.text import one_line
from assay_skillkit.check import CheckedSkill, check_archive, check_folder
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.rules import RULES

HEADING: Final[dict[Severity, str]] = {"error": "Errors", "warning": "Warnings", "note": "Notes"}
STYLE: Final[dict[Severity, str]] = {"error": "bold red", "warning": "yellow", "note": "dim"}

app = single_command()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One of the skills that were asked about."""

    source: Path
    skill: CheckedSkill


@app.command()
def lint(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Skills' folders, or zips of them.")
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print the findings as SARIF 2.1.0.")
    ] = False,
) -> Exit:
    """Check skills' format as an upload would. The exit code: 0 no errors, 1 errors, 2 usage."""
    if as_json and as_sarif:
        raise CommandError("--json and --sarif exclude each other: choose one.", Exit.BAD_INPUT)
    checked = [Checked(source=path, skill=_check(path, strict=strict)) for path in paths]
    if as_json:
        documents = [_document(each, strict=strict) for each in checked]
        _print(documents[0] if len(documents) == 1 else documents)
    elif as_sarif:
        _print(_sarif(checked))
    else:
        for each in checked:
            _show(each.source, each.skill)
    return Exit.FAILED if any(each.skill.errors for each in checked) else Exit.PASSED


def _check(source: Path, *, strict: bool) -> CheckedSkill:
    """Raises CommandError when there is nothing to check."""
    try:
        if source.is_dir():
            return check_folder(source, strict=strict)
        with source.open("rb") as archive:
            return check_archive(archive, filename=source.name, strict=strict)
    except FileNotFoundError as error:
        raise CommandError(
            f"{source} does not exist: name a skill's folder, or a zip of one.", Exit.BAD_INPUT
        ) from error
    except OSError as error:
        raise CommandError(
            f"{source} cannot be read: {error.strerror or error}. See that you may read it.",
            Exit.BAD_INPUT,
        ) from error


def _document(checked: Checked, *, strict: bool) -> dict[str, object]:
    skill = checked.skill
    return {
        "path": str(checked.source),
        "strict": strict,
        "valid": not skill.errors,
        "name": skill.manifest.name if skill.manifest else None,
        "findings": [finding.model_dump(mode="json") for finding in skill.findings],
    }


def _sarif(checked: Sequence[Checked]) -> dict[str, object]:
    return render_sarif(
        (
            CheckedSource(
                path=each.source,
                is_folder=each.source.is_dir(),
                main_file=SKILL_MD,
                findings=each.skill.findings,
            )
            for each in checked
        ),
        rules=tuple(RULES.values()),
        tool_version=version("assay-cli"),
    )


def _print(document: object) -> None:
    say_json(document, indent=2)


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
