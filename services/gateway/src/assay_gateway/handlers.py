"""The REST API as a whole; its areas are in `adapters/http/routes`."""

from fastapi import APIRouter, Security

from assay_gateway.adapters.http.admin import require_admin
from assay_gateway.adapters.http.admin_gate import ADMIN_PATH
from assay_gateway.adapters.http.problems import responses
from assay_gateway.adapters.http.routes.bundles import bundle_routes
from assay_gateway.adapters.http.routes.full_tests import full_test_routes
from assay_gateway.adapters.http.routes.progress_events import progress_event_routes
from assay_gateway.adapters.http.routes.public_events import public_event_routes
from assay_gateway.adapters.http.routes.reports import report_routes
from assay_gateway.adapters.http.routes.review import audit_routes, review_routes
from assay_gateway.adapters.http.routes.runtime_versions import runtime_version_routes
from assay_gateway.adapters.http.routes.skills import skill_routes
from assay_gateway.adapters.http.routes.traces import trace_routes
from assay_gateway.adapters.http.routes.uploads import upload_routes
from assay_gateway.domain.rate_limit import RateLimit
from assay_gateway.ports import Ask, AskJson, ObjectStore, Progress, PublicEvents, Uploads
from assay_gateway.use_cases.coalesced_reads import CoalescedReads, ParsedAnswers
from assay_gateway.use_cases.downloads import OpenBundle, OpenTrace, ReadReport, RenderReport
from assay_gateway.use_cases.live_updates import FollowUpdates
from assay_gateway.use_cases.public_events import StreamPublicEvents
from assay_gateway.use_cases.records import AskRecords, ReadRecordsAsJson
from assay_gateway.use_cases.uploads import SubmitUpload


def admin_routes(
    *,
    ask: Ask,
    ask_json: AskJson,
    uploads: Uploads,
    objects: ObjectStore,
    progress: Progress,
    public_events: PublicEvents,
    upload_limit: RateLimit,
) -> APIRouter:
    """Everything under `/api/admin`, for admins only; `upload_limit` is for each caller."""
    records = AskRecords(ask=ask)
    coalesced_json = CoalescedReads(ask_json=ask_json)
    coalesced = ParsedAnswers(ask_json=coalesced_json)
    read_report = ReadReport(ask=records, objects=objects)
    router = APIRouter(
        prefix=ADMIN_PATH,
        dependencies=[Security(require_admin)],
        responses=responses(
            "UNAUTHORIZED",
            "FORBIDDEN",
            "INVALID_REQUEST",
            "RATE_LIMITED",
            "VALIDATION_ERROR",
            "SERVICE_UNAVAILABLE",
        ),
    )
    for area in (
        upload_routes(submit=SubmitUpload(ask=ask, uploads=uploads), limit=upload_limit),
        skill_routes(read_json=ReadRecordsAsJson(ask_json=coalesced_json)),
        full_test_routes(ask=records),
        progress_event_routes(
            ask=AskRecords(ask=coalesced),
            follow=FollowUpdates(ask=coalesced, progress=progress),
        ),
        public_event_routes(stream_events=StreamPublicEvents(events=public_events)),
        report_routes(render_report=RenderReport(ask=records, objects=objects)),
        trace_routes(
            read_report=read_report,
            open_trace=OpenTrace(read_report=read_report, objects=objects),
        ),
        bundle_routes(ask=records, open_bundle=OpenBundle(objects=objects)),
        review_routes(ask=records),
        audit_routes(ask=records),
        runtime_version_routes(ask=records),
    ):
        router.include_router(area)
    return router
