"""The REST API as a whole; its areas are in `routes`."""

from fastapi import APIRouter, Security

from assay_gateway.auth import require_admin
from assay_gateway.downloads import Download
from assay_gateway.following import Follow
from assay_gateway.guard import ADMIN_PATH
from assay_gateway.limits import RateLimit
from assay_gateway.problems import responses
from assay_gateway.routes.downloads import download_routes
from assay_gateway.routes.events import event_routes
from assay_gateway.routes.full_tests import full_test_routes
from assay_gateway.routes.images import image_routes
from assay_gateway.routes.review import audit_routes, review_routes
from assay_gateway.routes.skills import skill_routes
from assay_gateway.service import Read, SubmitUpload
from assay_gateway.sharing import SharedReads
from assay_gateway.telling import TellFacts


def admin_routes(
    *,
    submit: SubmitUpload,
    read: Read,
    look: SharedReads,
    follow: Follow,
    tell: TellFacts,
    download: Download,
    uploads: RateLimit,
) -> APIRouter:
    """Everything under `/api/admin`, for admins only; `uploads` are counted for each caller."""
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
    router.include_router(skill_routes(submit=submit, look=look, uploads=uploads))
    router.include_router(full_test_routes(ask=read))
    router.include_router(event_routes(read=Read(ask=look.ask), follow=follow, tell=tell))
    router.include_router(download_routes(download=download))
    router.include_router(review_routes(ask=read))
    router.include_router(audit_routes(ask=read))
    router.include_router(image_routes(ask=read))
    return router
