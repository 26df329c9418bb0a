"""Use cases that hand out what lies in the object store: reports, traces, bundles."""

from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, assert_never

from assay_contracts.reports import Report
from assay_contracts.rpc import BundleView, GetBundle, GetReport, Problem, ProblemError, ReportView
from assay_contracts.runs import RunKind
from assay_gateway.ports import Ask, Objects
from assay_gateway.service import READ_TIMEOUT_S
from assay_reporting.html import render_html
from assay_reporting.junit import render_junit

ReportForm = Literal["json", "markdown", "html", "junit"]
MEDIA_TYPES: Final[dict[ReportForm, str]] = {
    "json": "application/json",
    "markdown": "text/markdown",
    "html": "text/html",
    "junit": "application/xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """Every method raises ProblemError, NOT_FOUND included for what is not kept any more."""

    ask: Ask
    objects: Objects

    async def bundle(self, question: GetBundle) -> BundleView:
        return await self.ask(question, timeout_s=READ_TIMEOUT_S)

    async def bundle_content(self, bundle: BundleView) -> BinaryIO:
        return await self.objects.fetch("bundles", bundle.bundle.key)

    async def report(self, question: GetReport) -> Report:
        return await self._report(await self.ask(question, timeout_s=READ_TIMEOUT_S))

    async def report_as(self, question: GetReport, form: ReportForm) -> tuple[ReportView, bytes]:
        view = await self.ask(question, timeout_s=READ_TIMEOUT_S)
        match form:
            case "json":
                content = await self._read(view.report.json_key)
            case "markdown":
                content = await self._read(view.report.markdown_key)
            case "html":
                markdown = await self._read(view.report.markdown_key)
                content = render_html(await self._report(view), markdown.decode()).encode()
            case "junit":
                content = render_junit(await self._report(view))
            case _:
                assert_never(form)
        return view, content

    async def trace(self, question: GetReport, run: RunKind, task_id: str) -> BinaryIO:
        report = await self.report(question)
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

    async def _report(self, view: ReportView) -> Report:
        return Report.model_validate_json(await self._read(view.report.json_key))

    async def _read(self, key: str) -> bytes:
        with await self.objects.fetch("reports", key) as content:
            return content.read()
