"""The bodies and queries of Dify's service API. Fields that we don't know are ignored, as Dify does."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AwareDatetime, ConfigDict, Field, NaiveDatetime, field_validator


ResponseMode = Literal["streaming", "blocking"]
Limit = Annotated[int, Field(ge=1, le=100)]


class Lenient(Schema):
    """The base of these bodies and queries."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class UserBody(Lenient):
    user: str


class FileBody(Lenient):
    type: str = ""
    transfer_method: str = "remote_url"
    url: str | None = None
    upload_file_id: str | None = None


class RunBody(Lenient):
    """The fields of every request that starts a run. Without a mode, the answer comes as a whole."""

    user: str
    inputs: dict[str, Any]
    response_mode: ResponseMode | None = None
    files: list[FileBody] | None = None
    trace_id: Any = None  # one that isn't valid is left out, see trace_ids

    @property
    def is_streamed(self) -> bool:
        return self.response_mode == "streaming"


class ChatBody(RunBody):
    query: str
    conversation_id: str | None = None
    auto_generate_name: bool | None = True
    workflow_id: str | None = None


class CompletionBody(RunBody):
    """The body of an app that completes a text. ``query`` is from older clients; it is an input like any other."""

    inputs: dict[str, Any] = Field(default_factory=dict)
    query: str | None = None


class RenameBody(UserBody):
    name: str | None = None
    auto_generate: bool | None = False


class VariableBody(UserBody):
    value: Any


class FeedbackBody(UserBody):
    rating: Literal["like", "dislike"] | None = None
    content: str | None = None


class FormBody(UserBody):
    inputs: dict[str, Any] = Field(default_factory=dict)
    action: str = ""


class UserQuery(Lenient):
    user: str


class ConversationsQuery(UserQuery):
    last_id: str | None = None
    limit: Limit = 20
    sort_by: Literal["created_at", "-created_at", "updated_at", "-updated_at"] = "-updated_at"


class MessagesQuery(UserQuery):
    conversation_id: str
    first_id: str | None = None
    limit: Limit = 20


class VariablesQuery(UserQuery):
    last_id: str | None = None
    limit: Limit = 20
    variable_name: str | None = None


class FeedbacksQuery(Lenient):
    page: Annotated[int, Field(ge=1, le=99_999)] = 1
    limit: Annotated[int, Field(ge=1, le=101)] = 20


class LogsQuery(Lenient):
    """The filters of the log of runs. The times are in ISO 8601."""

    keyword: str | None = None
    status: Literal["succeeded", "failed", "stopped", "partial-succeeded", "running"] | None = None
    created_at__before: AwareDatetime | NaiveDatetime | None = None
    created_at__after: AwareDatetime | NaiveDatetime | None = None
    created_by_end_user_session_id: str | None = None
    created_by_account: str | None = None
    page: Annotated[int, Field(ge=1, le=99_999)] = 1
    limit: Limit = 20

    @field_validator("*", mode="before")
    @classmethod
    def drop_blank(cls, value: Any) -> Any:
        """Take a parameter without a text as not given, as forms send it. The page and its size then are invalid."""
        return None if value == "" else value


class EventsQuery(UserQuery):
    include_state_snapshot: bool = False
    continue_on_pause: bool = False


class PreviewQuery(UserQuery):
    as_attachment: bool = False
