"""Hand out what lies in the object store: reports, traces, bundles.

Every use case here raises ProblemError, NOT_FOUND included for what is not kept any more.
"""

from dataclasses import dataclass
from typing import BinaryIO, assert_never

from assay_contracts.reports import Language, Report
from assay_contracts.rest import ReportForm
from assay_contracts.rpc import BundleView, GetReport, Problem, ProblemError, ReportView
from assay_contracts.runs import RunKind
from assay_gateway.ports import ObjectStore
from assay_gateway.use_cases.records import AskRecords
from assay_reporting.html import render_html
from assay_reporting.junit import render_junit
from assay_reporting.markdown import render_markdown


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """The report as data."""

    ask: AskRecords
    objects: ObjectStore

    async def __call__(self, question: GetReport) -> Report:
        return await _stored_report(self.objects, await self.ask(question))


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderReport:
    """The report in the form that is asked for, with the validation it is of."""

    ask: AskRecords
    objects: ObjectStore

    async def __call__(
        self, question: GetReport, form: ReportForm, language: Language = "en"
    ) -> tuple[ReportView, bytes]:
        view = await self.ask(question)
        match form:
            case "json":
                content = await _stored(self.objects, view.report.json_key)
            case "markdown":
                content = await self._markdown(view, language)
            case "html":
                markdown = await self._markdown(view, language)
                report = await _stored_report(self.objects, view)
                content = render_html(report, markdown.decode(), language).encode()
            case "junit":
                content = render_junit(await _stored_report(self.objects, view))
            case "attestation":
                content = await _signed(self.objects, view)
            case _:
                assert_never(form)
        return view, content

    async def _markdown(self, view: ReportView, language: Language) -> bytes:
        if language == "en":
            return await _stored(self.objects, view.report.markdown_key)
        return render_markdown(await _stored_report(self.objects, view), language).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTrace:
    """What the agent did in one task of a run; to be closed by the caller."""

    read_report: ReadReport
    objects: ObjectStore

    async def __call__(self, question: GetReport, run: RunKind, task_id: str) -> BinaryIO:
        report = await self.read_report(question)
        keys = [
            outcome.trace_key
            for each in report.runs
            if each.kind == run
            for outcome in each.outcomes
            if outcome.task_id == task_id
        ]
        if not keys:
            raise ProblemError(
                Problem(
                    code="NOT_FOUND",
                    message=f"The validation has no {run} run with a task {task_id}. "
                    "List its traces to see which there are.",
                )
            )
        return await self.objects.fetch("traces", keys[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBundle:
    """A bundle that the records know; to be closed by the caller."""

    objects: ObjectStore

    async def __call__(self, bundle: BundleView) -> BinaryIO:
        return await self.objects.fetch("bundles", bundle.bundle.key)


async def _stored_report(objects: ObjectStore, view: ReportView) -> Report:
    return Report.model_validate_json(await _stored(objects, view.report.json_key))


async def _signed(objects: ObjectStore, view: ReportView) -> bytes:
    try:
        return await _stored(objects, view.report.attestation_key)
    except ProblemError as error:
        if error.problem.code != "NOT_FOUND":
            raise
        raise ProblemError(
            Problem(
                code="NOT_FOUND",
                message="There is no signed verdict on this validation. Give the scorer a key to "
                "sign with (ASSAY_SIGNING_KEY_FILE), and validate the skill again.",
            )
        ) from error


async def _stored(objects: ObjectStore, key: str) -> bytes:
    with await objects.fetch("reports", key) as content:
        return content.read()
