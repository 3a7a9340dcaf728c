"""Response schemas of the files API."""

from datetime import datetime
from uuid import UUID

from ninja import Schema
from pydantic import Field


class FileOut(Schema):
    """A stored file. Its type is found by its content."""

    id: UUID
    name: str
    type: str = Field(description="image, document, audio, video or custom")
    extension: str
    mime_type: str
    size: int = Field(description="In bytes.")
    sha256: str
    user: str
    created_at: datetime
    expires_at: datetime | None = Field(
        description="When it is removed if no run uses it; null once a run does."
    )
    url: str = Field(description="Can be fetched without a key for some minutes.")
