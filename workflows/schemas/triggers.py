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


RunEndName = Literal["succeeded", "failed", "paused"]


class RunSubscriptionIn(Body):
    model_config = with_example(url="https://example.com/runs", events=["succeeded", "failed"])

    url: str = Field(max_length=2048)
    events: list[RunEndName] = Field(min_length=1, max_length=3)
    all_workflows: bool = Field(False, description="Whether it is about all workflows of the team.")


class RunSubscriptionOut(Schema):
    """An address that is told when runs of published versions end."""

    id: UUID
    workflow_id: UUID | None = Field(description="Null for all workflows of the team.")
    url: str
    events: list[RunEndName]
    is_on: bool
    created_at: dt.datetime


class NewRunSubscriptionOut(RunSubscriptionOut):
    secret: str = Field(description="Signs the messages. It is shown only here.")


class DeliveryOut(Schema):
    """A message about the end of a run, and what became of it."""

    id: UUID = Field(description="Sent as X-Webhook-Id, the same in every attempt.")
    run_id: UUID
    event: RunEndName
    status: Literal["pending", "sent", "given_up"]
    attempts: int
    next_at: dt.datetime | None
    answer_status: int | None = Field(description="The status of the last answer.")
    error: str
    created_at: dt.datetime
    sent_at: dt.datetime | None
