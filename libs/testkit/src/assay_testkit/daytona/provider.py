"""The provider of sandboxes at Daytona, on the stand-in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from assay_sandboxes.daytona.provider import Account, DaytonaProvider
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.remote.retries import RetryPolicy
from assay_testkit.daytona.double import CANARY, KEY, DaytonaDouble

QUICK: Final = RetryPolicy(
    first_pause=0.02,
    longest_pause=0.3,
    create_patience=20.0,
    create_timeout=10.0,
    request_timeout=10.0,
    request_patience=20.0,
    destroy_patience=20.0,
    snapshot_patience=15.0,
)
"""For a service that is next door."""


def provider_for(
    double: DaytonaDouble,
    *,
    policy: RetryPolicy = QUICK,
    most: int = 5,
    snapshot_ttl: timedelta = timedelta(days=1),
    egress: EgressRules | None = None,
) -> DaytonaProvider:
    """A provider whose sandboxes are the stand-in's."""
    return DaytonaProvider(
        Account(
            api_key=KEY,
            api_url=double.api_url,
            target="local",
            egress=egress or EgressRules(),
        ),
        most=most,
        snapshot_ttl=snapshot_ttl,
        grace=timedelta(0),
        probe=Probe(names=("example.com", CANARY), silence_is_proof=True),
        policy=policy,
    )


@asynccontextmanager
async def providing(
    double: DaytonaDouble,
    *,
    policy: RetryPolicy = QUICK,
    most: int = 5,
    snapshot_ttl: timedelta = timedelta(days=1),
) -> AsyncIterator[DaytonaProvider]:
    """As `provider_for`, closed at the end."""
    provider = provider_for(double, policy=policy, most=most, snapshot_ttl=snapshot_ttl)
    try:
        yield provider
    finally:
        await provider.close()
