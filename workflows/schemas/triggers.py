"""Request and response schemas of triggers. A secret is returned once, when it is made."""

import datetime as dt
from typing import Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example


class TriggerOut(Schema):
    """A trigger of a workflow: a node at which runs begin without a person."""

    node_id: str
    kind: Literal["trigger-webhook", "trigger-schedule"]
    title: str
    is_published: bool = Field(description="Whether the published version has its node.")
    is_on: bool = Field(description="Whether somebody switched it off.")
    url: str = Field("", description="Webhooks, for those who may publish: the address.")
    next_at: dt.datetime | None = Field(None, description="Schedules: the next run.")
    last_at: dt.datetime | None = None
    last_run_id: UUID | None = None
    error: str = Field("", description="What kept the last run from starting.")
    error_at: dt.datetime | None = None


class TriggerPatch(Body):
    model_config = with_example(is_on=False)

    is_on: bool


class TriggerSecretOut(Schema):
    secret: str
