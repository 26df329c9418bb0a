"""`assay validate`: one skill through the whole pipeline, and its verdict as an exit code."""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from assay_cli.client import AssayClient, Refused, parsed
from assay_cli.config import Connection
from assay_cli.embedded.data import DataInUse
from assay_cli.embedded.process import StartFailed
from assay_cli.embedded.stack import Stack
from assay_cli.embedded.supervisor import ProcessEvent
from assay_cli.outcome import EXIT_OF, CommandError, Exit
from assay_cli.output import say, say_document, show
from assay_cli.packing import Packed, pack
from assay_cli.progress import Progress, progress_on_stderr
from assay_cli.running import run_until_stopped
from assay_contracts.reports import Report
from assay_reporting.score_card import render_score_card
from assay_reporting.summary import render_summary
from assay_reporting.text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was asked for."""

    source: Path
    as_json: bool
    report_file: Path | None
    junit_file: Path | None
    summary_file: Path | None
    """What the summary is added to."""
    elsewhere: Connection | None
    """None means a private stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    packed: Packed
    content: BinaryIO


def validate(asked: Validation) -> Exit:
    """Raises CommandError or Interrupted."""
    _check(asked)
    with tempfile.TemporaryFile() as content:
        archive = Archive(packed=pack(asked.source, content), content=content)
        content.seek(0)
        progress = progress_on_stderr()
        for path in archive.packed.left_out:
            progress.notice(f"Left out of the upload: {one_line(path)}")
        if asked.elsewhere is None:
            return _on_private_stack(asked, archive, progress)
        return run_until_stopped(_through(AssayClient(asked.elsewhere), asked, archive, progress))


def _check(asked: Validation) -> None:
    for option, file in (
        ("--report", asked.report_file),
        ("--junit", asked.junit_file),
        ("--summary", asked.summary_file),
    ):
        if file is not None and not file.absolute().parent.is_dir():
            raise CommandError(
                f"The folder of {file} does not exist: make it, or name another {option}.",
                Exit.BAD_INPUT,
            )


def _on_private_stack(asked: Validation, archive: Archive, progress: Progress) -> Exit:
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    failure_is_ours = False
    try:
        exit_code = run_until_stopped(_with_stack(folder, asked, archive, progress))
        failure_is_ours = exit_code is Exit.INCONCLUSIVE
    except CommandError as error:
        failure_is_ours = error.exit_code is Exit.INCONCLUSIVE
        raise
    finally:
        _clear(folder, keep_logs=failure_is_ours)
    return exit_code


async def _with_stack(
    folder: Path, asked: Validation, archive: Archive, progress: Progress
) -> Exit:
    def tell(event: ProcessEvent) -> None:
        if event.kind != "ready":
            happened = "died" if event.kind == "died" else "is back"
            progress.notice(f"{event.process} {happened}: {event.detail}")

    began = time.monotonic()
    progress.notice("Starting a private stack …")
    try:
        async with Stack(folder, on_event=tell) as stack:
            progress.notice(f"Ready after {time.monotonic() - began:.1f} s.")
            here = Connection(stack.url, stack.admin_token, on_this_machine=True)
            return await _through(AssayClient(here), asked, archive, progress)
    except (DataInUse, StartFailed, OSError) as error:
        raise CommandError(
            f"The private stack failed: {error} `assay doctor` says what this machine lacks.",
            Exit.INCONCLUSIVE,
        ) from error


async def _through(
    client: AssayClient, asked: Validation, archive: Archive, progress: Progress
) -> Exit:
    try:
        async with client:
            uploaded = await client.upload(archive.packed.filename, archive.content)
            progress.notice(f"Uploaded {one_line(uploaded.name)} as skill {uploaded.skill_id}.")
            with progress:
                async for status in client.follow(uploaded.skill_id):
                    progress.see(status)
            content = await client.report(uploaded.skill_id, "json")
            if asked.report_file is not None:
                _save(asked.report_file, await client.report(uploaded.skill_id, "markdown"))
            if asked.junit_file is not None:
                _save(asked.junit_file, await client.report(uploaded.skill_id, "junit"))
    except Refused as refused:
        if asked.as_json:
            say_document(refused.problem.model_dump_json().encode())
        raise
    return _show(asked, content)


def _show(asked: Validation, content: bytes) -> Exit:
    report = parsed(content, Report)
    if asked.summary_file is not None:
        _save(asked.summary_file, render_summary(report).encode(), mode="ab")
    if asked.as_json:
        say_document(content)
    else:
        show(render_score_card(report))
        if asked.report_file is not None:
            say(f"\nThe whole report is in {asked.report_file}.")
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
