"""`python -m assay_scorer.recompute`: compute every stored score once more and compare.

Needs `DATABASE_URL`. Ends with 1 when a stored score is not what its grades and traces give.
"""

import asyncio
import os
import sys

from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.domain.recompute import difference


async def recompute(engine: AsyncEngine) -> tuple[int, list[str]]:
    """How many were compared, and a line for each that differs."""
    compared, differing = 0, []
    async for validation in PostgresRecords(engine).ended_validations():
        compared += 1
        if (found := difference(validation)) is not None:
            differing.append(
                f"{validation.validation_id} ({validation.skill_name}): stored "
                f"{validation.scores}, recomputed {found.recomputed}"
            )
    return compared, differing


async def _main() -> int:
    if not (url := os.environ.get("DATABASE_URL")):
        sys.stderr.write("Set DATABASE_URL to the scorer's database: postgresql+asyncpg://…\n")
        return 2
    engine = open_engine(url)
    try:
        compared, differing = await recompute(engine)
    finally:
        await engine.dispose()
    for line in differing:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{compared} compared, {len(differing)} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
