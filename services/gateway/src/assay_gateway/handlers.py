"""The REST API as a whole; its areas are in `routes`."""

from fastapi import APIRouter, Depends

from assay_gateway.auth import Authenticate
from assay_gateway.problems import responses
from assay_gateway.routes.events import event_routes
from assay_gateway.routes.images import image_routes
from assay_gateway.routes.reports import report_routes
from assay_gateway.routes.review import audit_routes, review_routes
from assay_gateway.routes.skills import skill_routes
from assay_gateway.service import FetchReport, FollowStatus, Read, SubmitUpload


def admin_routes(
    *,
    authenticate: Authenticate,
    submit: SubmitUpload,
    read: Read,
    follow: FollowStatus,
    fetch_report: FetchReport,
) -> APIRouter:
    """Everything under `/api/admin`; whatever is added here is for admins only."""
    router = APIRouter(
        prefix="/api/admin",
        dependencies=[Depends(authenticate)],
        responses=responses(
            "UNAUTHORIZED", "INVALID_REQUEST", "VALIDATION_ERROR", "SERVICE_UNAVAILABLE"
        ),
    )
    router.include_router(skill_routes(authenticate=authenticate, submit=submit, read=read))
    router.include_router(event_routes(read=read, follow=follow))
    router.include_router(report_routes(fetch=fetch_report))
    router.include_router(review_routes(authenticate=authenticate, ask=read))
    router.include_router(audit_routes(ask=read))
    router.include_router(image_routes(authenticate=authenticate, ask=read))
    return router
