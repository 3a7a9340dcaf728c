"""Request and response schemas of the storage API."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example


Days = Annotated[int, Field(ge=0, le=30_000)]


class RetentionIn(Body):
    """Days after the end of a run; ``null`` for the setting of the installation, 0 for ever."""

    model_config = with_example(keep_days=30, keep_failed_days=90)

    keep_days: Days | None = None
    keep_failed_days: Days | None = None


class RetentionOut(Schema):
    """The days that hold now; 0 for ever."""

    keep_days: int
    keep_failed_days: int


class StorageOut(RetentionOut):
    """The stored runs of one workflow."""

    workflow: UUID
    name: str
    runs: int
    bytes: int
    bytes_per_run: int
    oldest_at: datetime | None
