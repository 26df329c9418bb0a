"""`assay validate`: one skill through the whole pipeline, and its verdict as an exit code."""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Literal
from uuid import UUID

import typer

from assay_cli.bundle_digest import bundle_at_hand
from assay_cli.commands import single_command
from assay_cli.connection import URL_VARIABLE, Connection, configured
from assay_cli.embedded.data import DataInUse
from assay_cli.embedded.process import StartFailed
from assay_cli.embedded.stack import Stack
from assay_cli.embedded.supervisor import ProcessEvent
from assay_cli.exit_codes import EXIT_OF, CommandError, Exit
from assay_cli.gateway_client import GatewayClient, Refused, parsed
from assay_cli.options import ReadersLanguage, SkillSource, Token
from assay_cli.packing import Packed, pack
from assay_cli.printing import say, say_document, show
from assay_cli.progress_display import Progress, progress_on_stderr
from assay_cli.signals import run_until_stopped
from assay_contracts.reports import Language, Report
from assay_contracts.rpc import SkillDetail
from assay_reporting.score_card import render_score_card
from assay_reporting.summary import render_summary
from assay_reporting.text import one_line

app = single_command()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for."""

    source: Path
    as_json: bool
    report_file: Path | None
    junit_file: Path | None
    summary_file: Path | None
    """What the summary is added to."""
    elsewhere: Connection | None
    """None means a private stack."""
    language: Language
    again: bool
    """Validate even what has its verdict already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    packed: Packed
    content: BinaryIO


@app.command()
def validate(
    path: SkillSource,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the Markdown report to this file.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tasks as JUnit to this file.")
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            envvar="GITHUB_STEP_SUMMARY",
            help="Add the verdict, as a few lines of Markdown, to this file.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            envvar=URL_VARIABLE,
            help="Address of a running Assay; the file's, or else a private one, by default.",
        ),
    ] = None,
    language: ReadersLanguage = "en",
    token: Token = None,
    private: Annotated[
        bool, typer.Option("--private", help="On a stack of its own, whatever is configured.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Validate anew what is unchanged since its verdict.")
    ] = False,
) -> Exit:
    """Validate a skill. The exit code says how: 0 passed, 1 failed, 2 bad input, 3 inconclusive."""
    return _validate(
        Wanted(
            source=path,
            as_json=as_json,
            report_file=report,
            junit_file=junit,
            summary_file=summary,
            elsewhere=None if private else configured(url, token),
            language=language,
            again=again,
        )
    )


def _validate(wanted: Wanted) -> Exit:
    """Raises CommandError or Interrupted."""
    _check(wanted)
    with tempfile.TemporaryFile() as content:
        archive = Archive(packed=pack(wanted.source, content), content=content)
        content.seek(0)
        progress = progress_on_stderr()
        for path in archive.packed.left_out:
            progress.notice(f"Left out of the upload: {one_line(path)}")
        if wanted.elsewhere is None:
            return _on_private_stack(wanted, archive, progress)
        return run_until_stopped(
            _through(GatewayClient(wanted.elsewhere), wanted, archive, progress)
        )


def _check(wanted: Wanted) -> None:
    for option, file in (
        ("--report", wanted.report_file),
        ("--junit", wanted.junit_file),
        ("--summary", wanted.summary_file),
    ):
        if file is not None and not file.absolute().parent.is_dir():
            raise CommandError(
                f"The folder of {file} does not exist: make it, or name another {option}.",
                Exit.BAD_INPUT,
            )


def _on_private_stack(wanted: Wanted, archive: Archive, progress: Progress) -> Exit:
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    failure_is_ours = False
    try:
        exit_code = run_until_stopped(_with_stack(folder, wanted, archive, progress))
        failure_is_ours = exit_code is Exit.INCONCLUSIVE
    except CommandError as error:
        failure_is_ours = error.exit_code is Exit.INCONCLUSIVE
        raise
    finally:
        _clear(folder, keep_logs=failure_is_ours)
    return exit_code


async def _with_stack(folder: Path, wanted: Wanted, archive: Archive, progress: Progress) -> Exit:
    def report(event: ProcessEvent) -> None:
        if line := event.interruption():
            progress.notice(line)

    began = time.monotonic()
    progress.notice("Starting a private stack …")
    try:
        async with Stack(folder, on_event=report) as stack:
            progress.notice(f"Ready after {time.monotonic() - began:.1f} s.")
            here = Connection(stack.url, stack.admin_token, on_this_machine=True)
            return await _through(GatewayClient(here), wanted, archive, progress)
    except (DataInUse, StartFailed, OSError) as error:
        raise CommandError(
            f"The private stack failed: {error} `assay doctor` says what this machine lacks.",
            Exit.INCONCLUSIVE,
        ) from error


async def _through(
    client: GatewayClient, wanted: Wanted, archive: Archive, progress: Progress
) -> Exit:
    try:
        async with client:
            skill_id = await _validation_of(client, wanted, archive, progress)
            with progress:
                async for status in client.follow_validation(skill_id):
                    progress.see(status)
            content = await client.report(skill_id, "json")
            if wanted.report_file is not None:
                _save(
                    wanted.report_file, await client.report(skill_id, "markdown", wanted.language)
                )
            if wanted.junit_file is not None:
                _save(wanted.junit_file, await client.report(skill_id, "junit"))
    except Refused as refused:
        if wanted.as_json:
            say_document(refused.problem.model_dump_json().encode())
        raise
    return _show(wanted, content)


async def _validation_of(
    client: GatewayClient, wanted: Wanted, archive: Archive, progress: Progress
) -> UUID:
    """The skill whose newest validation is of this very content: started here, or found there."""
    known = await _same_content(client, archive) if wanted.elsewhere else None
    if known is None:
        uploaded = await client.upload(archive.packed.filename, archive.content)
        progress.notice(f"Uploaded {one_line(uploaded.name)} as skill {uploaded.skill_id}.")
        return uploaded.skill_id
    name = one_line(known.name)
    if known.validation_id is not None and known.verdict is None:
        progress.notice(f"This very content of {name} is being validated already.")
    elif wanted.again or known.verdict in (None, "inconclusive"):
        await client.send("POST", f"/skills/{known.skill_id}/revalidate")
        progress.notice(f"This very content of {name} is validated again.")
    else:
        progress.notice(
            f"{name} is unchanged since its last validation: this is its verdict."
            " --again validates it anew."
        )
    return known.skill_id


async def _same_content(client: GatewayClient, archive: Archive) -> SkillDetail | None:
    """The skill there whose newest revision is this very content, if there is one."""
    bundle = bundle_at_hand(archive.content)
    skill_id = await client.find_skill(bundle.skill_name) if bundle else None
    if bundle is None or skill_id is None:
        return None
    detail = await client.read(f"/skills/{skill_id}", SkillDetail)
    return detail if detail.bundle_sha256 == bundle.sha256 else None


def _show(wanted: Wanted, content: bytes) -> Exit:
    report = parsed(content, Report)
    if wanted.summary_file is not None:
        _save(wanted.summary_file, render_summary(report, wanted.language).encode(), mode="ab")
    if wanted.as_json:
        say_document(content)
    else:
        show(render_score_card(report, wanted.language))
        if wanted.report_file is not None:
            say(f"\nThe whole report is in {wanted.report_file}.")
    return EXIT_OF[report.verdict]


def _save(file: Path, content: bytes, mode: Literal["wb", "ab"] = "wb") -> None:
    try:
        with file.open(mode) as target:
            target.write(content)
    except OSError as error:
        raise CommandError(
            f"What was asked for cannot be written: {error}. Name another file.", Exit.BAD_INPUT
        ) from error


def _clear(folder: Path, *, keep_logs: bool) -> None:
    for path in folder.iterdir():
        if not (keep_logs and path.name == "logs"):
            _remove(path)
    if keep_logs and (folder / "logs").exists():
        sys.stderr.write(f"The logs are in {folder / 'logs'}.\n")
    else:
        folder.rmdir()


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink()
        return
    for parent, folders, _ in os.walk(path):
        for name in folders:
            # The kernel leaves folders behind, below a sandbox's overlay, that nobody may enter.
            if not Path(parent, name).is_symlink():
                Path(parent, name).chmod(0o700)
    shutil.rmtree(path)
