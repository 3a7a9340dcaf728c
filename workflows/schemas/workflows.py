"""Request and response schemas of workflows. A body can't set the team, the owner or the id of a row."""

import datetime as dt
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example
from workflows.models import ModelProvider, Workflow
from workflows.models.documents import to_json
from workflows.samples import Sample
from workflows.services.editor.drafts import load_draft


Name = Annotated[str, Field(min_length=1, max_length=255)]
Document = Annotated[
    str | dict[str, Any],  # Any: the document's own rules are the loader's
    Field(
        description="A workflow document in Dify or Mnemoflow format: YAML or JSON text, or the object itself."
    ),
]
Kind = Literal["offline", "openai_compatible"]


class ProblemOut(Schema):
    """A problem of a document, with the node, field or edge that it concerns."""

    code: str
    message: str
    severity: Literal["error", "warning"]
    node: str | None = None
    field: str | None = None
    edge: str | None = None


class ReportOut(Schema):
    """All problems of a document. ``valid``: there are no errors, but there may be warnings."""

    valid: bool
    problems: list[ProblemOut]


class WorkflowIn(Body):
    model_config = with_example(
        document={"version": "0.1.0", "nodes": [], "edges": []}, name="Helpdesk"
    )

    document: Document
    name: Name | None = Field(None, description="Overrides the name in the document.")
    folder: UUID | None = Field(None, description="Target folder; null for the top level.")
    confirm_newer: bool = Field(
        False, description="Import a document of a newer format version anyway."
    )


class DraftIn(Body):
    model_config = with_example(document={"version": "0.1.0", "nodes": [], "edges": []})

    document: Document
    confirm_newer: bool = False


class ValidateIn(Body):
    model_config = with_example(document={"version": "0.1.0", "nodes": [], "edges": []})

    document: Document


class WorkflowPatch(Body):
    """Fields that are left out keep their value. ``folder`` null moves the workflow to the top level."""

    model_config = with_example(name="Helpdesk", description="Answers questions of customers.")

    name: Name = Field("")
    description: str | None = Field(None, max_length=10_000)
    folder: UUID | None = None
    is_tool: bool = Field(False, description="Whether agents and tool nodes may call the workflow.")
    tool_description: str | None = Field(
        None, max_length=2_000, description="When a model should use the workflow as a tool."
    )


class MoveIn(Body):
    """The workflows to move; all are moved or none."""

    model_config = with_example(workflows=["0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b"], folder=None)

    workflows: list[UUID] = Field(min_length=1, max_length=200)
    folder: UUID | None = Field(description="null for the top level.")


class DuplicateIn(Body):
    model_config = with_example(name="Helpdesk, second")

    name: Name | None = None


class PublishIn(Body):
    model_config = with_example(note="Shorter answers")

    note: str = Field("", max_length=2_000, description="Version note.")
    confirm_failing: bool = Field(
        default=False, description="Publish also if runs would fail at some nodes."
    )


class WorkflowOut(Schema):
    id: UUID
    team_id: UUID
    name: str
    slug: str = Field(description="The name by which other workflows refer to it.")
    is_tool: bool
    tool_description: str
    description: str
    mode: Literal["workflow", "advanced-chat"]
    dialect: Literal["dify", "xworkflow"]
    revision: int = Field(description="The revision number of the draft.")
    published_version: int | None = Field(description="Number of the published version, if any.")
    sample: str
    folder: UUID | None = Field(
        validation_alias="folder_id",
        description="The folder of the workflow; null for the top level.",
    )
    archived: bool = Field(validation_alias="is_archived")
    created_at: dt.datetime
    updated_at: dt.datetime

    @staticmethod
    def resolve_published_version(workflow: Workflow) -> int | None:
        version = workflow.published_version
        return version.number if version else None


class WorkflowToolOut(Schema):
    """A published workflow as a tool. ``parameters`` is the JSON schema of its inputs."""

    workflow: UUID
    slug: str
    name: str
    description: str
    parameters: dict[str, Any]


class WorkflowDetailOut(WorkflowOut):
    document: dict[str, Any] = Field(
        description="The draft in its own format, without secret values."
    )

    @staticmethod
    def resolve_document(workflow: Workflow) -> dict[str, Any]:
        return to_json(load_draft(workflow))


class ImportFindingOut(Schema):
    """Something that the document wants, such as a model or a tool.

    ``effect`` says what happens to the nodes: a run that reaches one ``fails`` there, a call of the tool is ``refused``
    and the agent goes on, something else does the work (``replaced``), the setting has no effect (``ignored``), it is
    here (``works``), or no node uses it (``unused``).
    ``detail`` is what answers instead, why a tool can't be used, the version of a plug-in or the value of a setting.
    """

    need: Literal[
        "model", "tool", "data_set", "node_type", "plugin", "module", "language", "feature"
    ]
    name: str
    provider: str
    effect: Literal["works", "fails", "refused", "replaced", "ignored", "unused"]
    detail: str
    nodes: list[str]


class ImportReportOut(Schema):
    """The report about a draft: it names the things that this installation or the team lacks.

    ``working_count`` nodes can run. For the ``demo_nodes`` of them only the offline demo model is there, which answers
    questions and writes nothing.
    """

    node_count: int
    working_count: int
    demo_nodes: list[str]
    missing: list[ImportFindingOut] = Field(validation_alias="findings")
    present: list[ImportFindingOut]
    unused: list[ImportFindingOut]


class CreatedOut(Schema):
    workflow: WorkflowOut
    warnings: list[ProblemOut]
    report: ImportReportOut


class VersionOut(Schema):
    number: int
    note: str
    content_hash: str
    published: bool
    created_at: dt.datetime


class VersionDetailOut(VersionOut):
    document: dict[str, Any]


class SampleOut(Schema):
    slug: str
    title: str
    explanation: list[str]
    is_chat: bool

    @staticmethod
    def resolve_title(sample: Sample) -> str:
        return str(sample.title)

    @staticmethod
    def resolve_explanation(sample: Sample) -> list[str]:
        return list(map(str, sample.explanation_lines))


class PriceIn(Body):
    """The price of a model, in USD per million tokens."""

    input: float = Field(ge=0, le=1_000_000, allow_inf_nan=False)
    output: float = Field(ge=0, le=1_000_000, allow_inf_nan=False)


class LimitsIn(Body):
    """Limits of a provider's calls. Those that are left out get the application's defaults."""

    timeout_seconds: int | None = Field(None, ge=1, le=3600, description="For the whole answer.")
    idle_seconds: int | None = Field(
        None, ge=1, le=3600, description="Until the first word, and between two."
    )
    max_concurrency: int | None = Field(
        None, ge=1, le=1000, description="Calls at the same time, of all workers together."
    )
    max_tokens: int | None = Field(
        None, ge=1, le=1_000_000, description="For requests that name no limit."
    )
    max_retries: int | None = Field(
        None, ge=0, le=10, description="Of requests that failed for a reason that may pass."
    )


class ProviderIn(Body):
    model_config = with_example(
        name="ollama", base_url="http://127.0.0.1:11434/v1", default_model="qwen3:4b"
    )

    name: Name = Field(description="The name in a document's model.provider, such as openai.")
    kind: Kind = "openai_compatible"
    base_url: str = Field("", max_length=2048, examples=["https://api.example.com/v1"])
    default_model: str = Field("", max_length=255)
    secret: str | None = Field(
        None, min_length=1, max_length=4096, description="The API key. It is never shown again."
    )
    enabled: bool = True
    prices: dict[str, PriceIn] = Field(
        {}, max_length=200, description="By name of the model; * stands for all others."
    )
    limits: LimitsIn | None = None


class ProviderPatch(Body):
    model_config = with_example(default_model="qwen3:8b")

    base_url: str | None = Field(None, max_length=2048)
    default_model: str | None = Field(None, max_length=255)
    secret: str | None = Field(None, min_length=1, max_length=4096)
    enabled: bool | None = None
    prices: dict[str, PriceIn] | None = Field(None, max_length=200)
    limits: LimitsIn | None = None


class ProviderOut(Schema):
    id: UUID
    name: str
    kind: Kind
    base_url: str
    default_model: str
    enabled: bool
    prices: dict[str, dict[str, float]] = Field(description="USD per million tokens, by model.")
    status: Literal["connected", "unreachable", "untested"] = Field(
        description="The result of the last test."
    )
    check_error: str = Field(description="Why the last test failed.")
    models: list[str] = Field(
        alias="model_names", description="Those that the provider listed at the last test."
    )
    timeout_seconds: int | None
    idle_seconds: int | None
    max_concurrency: int | None
    max_tokens: int | None
    max_retries: int
    has_secret: bool
    hint: str = Field(description="The last characters of the secret.")

    @staticmethod
    def resolve_has_secret(provider: ModelProvider) -> bool:
        return provider.credential_id is not None

    @staticmethod
    def resolve_hint(provider: ModelProvider) -> str:
        return provider.credential.hint if provider.credential else ""


class TestOut(Schema):
    """The result of a test: the models that the provider lists, or why it could not be reached."""

    models: list[str]
    error: str


class DefaultModel(Body):
    """The model that new nodes and samples use; both are empty if the team has none."""

    model_config = with_example(provider="ollama", model="qwen3:4b")

    provider: str = Field("", max_length=255, description="The name of a provider of the team.")
    model: str = Field("", max_length=255, description="Empty: the provider's own default model.")


class FallbackModel(Body):
    """The model that is asked if another one can't be reached or refuses; both are empty if the team has none."""

    model_config = with_example(provider="ollama", model="qwen3:4b")

    provider: str = Field("", max_length=255, description="The name of a provider of the team.")
    model: str = Field("", max_length=255, description="Empty: the provider's own default model.")


AddedType = Annotated[Literal["embedding", "rerank"], Field(description="The type of model.")]


class AddedModelIn(Body):
    """An embedding or reranking model to add to a provider, after a test that calls it."""

    model_config = with_example(type="embedding", name="nomic-embed-text")

    type: AddedType
    name: str = Field(min_length=1, max_length=255, examples=["text-embedding-3-small"])
    dimensions: int | None = Field(
        None, ge=1, le=3900, description="Of the vectors to ask for; null: the model's own number."
    )
    question_prefix: str = Field("", max_length=100, examples=["query: "])
    text_prefix: str = Field("", max_length=100, examples=["passage: "])
    is_default: bool = Field(
        True, description="Make it the team's default of its type, which is what memory uses."
    )
    saves_failing: bool = Field(False, description="Add it even if the test fails.")


class AddedModelOut(Schema):
    id: UUID
    type: AddedType
    provider: str = Field(alias="provider.name")
    name: str
    is_default: bool
    dimensions: int | None = Field(description="Of its vectors, as the last test measured them.")
    unrelated_cosine: float | None = Field(
        description="The cosine of unrelated texts in the last test, from which nearness starts."
    )
    check_error: str = Field(description="Why the last test failed.")


class AddedModelTestOut(Schema):
    """The result of a test that called the model."""

    error: str
    dimensions: int | None
    unrelated_cosine: float | None
    order: list[int] = Field(
        description="The numbers of three texts, from the most relevant one to a question; the second answers it."
    )


class AddedModelResultOut(Schema):
    """The model, unless it failed its test and was not added, and the result of the test."""

    model: AddedModelOut | None
    test: AddedModelTestOut


class DefaultAddedModel(Body):
    """The team's default model of a type; both names are empty if it has none."""

    model_config = with_example(provider="ollama", model="nomic-embed-text")

    provider: str = Field("", max_length=255, description="The name of a provider of the team.")
    model: str = Field("", max_length=255)


class MappingIn(Body):
    """A model of the team that answers for one that documents name."""

    model_config = with_example(provider="openai", target="ollama", target_model="qwen3:4b")

    provider: str = Field(min_length=1, max_length=255, examples=["openai"])
    model: str = Field("", max_length=255, description="Empty: all models of the provider.")
    target: str = Field(min_length=1, max_length=255, description="A provider of the team.")
    target_model: str = Field("", max_length=255)


class MappingKey(Body):
    model_config = with_example(provider="openai")

    provider: str = Field(min_length=1, max_length=255)
    model: str = Field("", max_length=255)


class MappingOut(Schema):
    provider: str
    model: str
    target: str = Field(alias="target.name")
    target_model: str


class CredentialIn(Body):
    model_config = with_example(name="weather", secret="sk-…", hosts="api.example.com")  # noqa: S106

    name: Name
    secret: str = Field(min_length=1, max_length=4096)
    base_url: str = Field("", max_length=2048)
    hosts: str = Field("", max_length=255)


class SecretIn(Body):
    model_config = with_example(secret="sk-…")  # noqa: S106

    secret: str = Field(min_length=1, max_length=4096)


class CredentialOut(Schema):
    id: UUID
    name: str
    kind: str
    base_url: str
    hosts: str
    hint: str
    created_at: dt.datetime
    rotated_at: dt.datetime | None
