"""Which page of a list is asked for."""

from typing import Annotated

from fastapi import Query

Page = Annotated[int, Query(ge=1, le=1_000_000)]
Size = Annotated[int, Query(ge=1, le=100)]
"""Entries on a page."""
