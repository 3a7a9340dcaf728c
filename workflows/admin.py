"""Django admin of workflows: the rows of one's own teams, read-only and without secrets and others' private runs.

Changes are made on the pages and in the API, where they are checked and audited.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.admin import ReadOnlyAdmin, ReadOnlyTenantAdmin
from accounts.principals import get_principal
from workflows import models


class PersonalAdmin(ReadOnlyTenantAdmin):
    """Rows about a person, which are visible if their run, conversation or task is visible on the other pages."""

    owner_lookup = (
        ""  # the field lookup from the row to its owner; "" if the row is the owner itself
    )
    owner_model: type[models.Run | models.Conversation | models.Task | models.StoredFile] = (
        models.Run
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        visible_ids = self.owner_model.objects.visible_to(get_principal(request)).values("pk")
        lookup = f"{self.owner_lookup or 'pk'}__in"
        return super().get_queryset(request).filter(**{lookup: visible_ids})


class RunDetailAdmin(PersonalAdmin):
    """Rows that belong to a run."""

    owner_lookup = "run"
    list_select_related = ("run",)


@admin.register(models.Workflow)
class WorkflowAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "team", "mode", "revision", "published_version", "updated_at")
    list_filter = ("mode",)
    list_select_related = ("team", "published_version")
    search_fields = ("name",)


@admin.register(models.Trigger)
class TriggerAdmin(ReadOnlyTenantAdmin):
    list_display = ("title", "kind", "workflow", "is_published", "is_on", "next_at", "last_at")
    list_filter = ("kind", "is_published", "is_on")
    list_select_related = ("workflow",)
    exclude = ("sealed_token", "sealed_secret", "test_call")


@admin.register(models.RunSubscription)
class RunSubscriptionAdmin(ReadOnlyTenantAdmin):
    list_display = ("url", "workflow", "events", "is_on", "created_at")
    list_select_related = ("workflow",)
    exclude = ("sealed_secret",)


@admin.register(models.Delivery)
class DeliveryAdmin(ReadOnlyTenantAdmin):
    list_display = ("event", "run_id", "status", "attempts", "answer_status", "created_at")
    list_filter = ("status", "event")
    list_select_related = ("subscription",)


@admin.register(models.Folder)
class FolderAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "parent", "team", "created_by", "created_at")
    list_select_related = ("parent", "team", "created_by")
    search_fields = ("name",)


@admin.register(models.Node)
class NodeAdmin(ReadOnlyTenantAdmin):
    list_display = ("title", "kind", "workflow", "is_note")
    list_filter = ("kind",)
    list_select_related = ("workflow",)


@admin.register(models.Edge)
class EdgeAdmin(ReadOnlyTenantAdmin):
    list_display = ("key", "source", "handle", "target", "workflow")
    list_select_related = ("workflow",)


@admin.register(models.Variable)
class VariableAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "area", "value_type", "workflow")
    list_select_related = ("workflow",)


class SecretAdmin(ReadOnlyTenantAdmin):
    """Rows of secrets, without the secret itself, encrypted or not."""

    exclude = ("secret",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("secret")


@admin.register(models.WorkflowSecret)
class WorkflowSecretAdmin(SecretAdmin):
    list_display = ("name", "workflow", "updated_at")
    list_select_related = ("workflow",)


@admin.register(models.Credential)
class CredentialAdmin(SecretAdmin):
    verb = "credential.view"
    list_display = ("name", "kind", "hint", "team", "rotated_at")
    list_select_related = ("team",)


@admin.register(models.ModelProvider)
class ModelProviderAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("name", "kind", "base_url", "enabled", "team")
    list_select_related = ("team",)


@admin.register(models.ProviderModel)
class ProviderModelAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("name", "type", "provider", "is_default", "team")
    list_select_related = ("provider", "team")


@admin.register(models.ModelMapping)
class ModelMappingAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("provider", "model", "target", "target_model", "team")
    list_select_related = ("target", "team")


@admin.register(models.KnowledgeMapping)
class KnowledgeMappingAdmin(ReadOnlyTenantAdmin):
    list_display = ("data_set", "knowledge_base", "team")
    list_select_related = ("team",)


@admin.register(models.ModelCall)
class ModelCallAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("provider", "expires_at", "team")
    list_select_related = ("provider", "team")


@admin.register(models.PublicPage)
class PublicPageAdmin(ReadOnlyTenantAdmin):
    """Public pages without their links, which open them, and their passwords."""

    verb = "workflow.view"
    exclude = ("token", "password")
    list_display = ("workflow", "access", "team", "updated_at")
    list_select_related = ("workflow", "team")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("token", "password")


@admin.register(models.RunUsage, models.ModelUsage)
class UsageAdmin(ReadOnlyTenantAdmin):
    verb = "usage.view"
    list_display = ("day", "workflow_id", "latency_bucket", "failed", "team")
    list_select_related = ("team",)


@admin.register(models.StartCount)
class StartCountAdmin(ReadOnlyTenantAdmin):
    verb = "usage.view"
    list_display = ("day", "api_key_id", "runs", "team")
    list_select_related = ("team",)


@admin.register(models.DataSet)
class DataSetAdmin(ReadOnlyTenantAdmin):
    list_display = ("title", "team", "created_by", "created_at")
    list_select_related = ("team", "created_by", "workflow")
    search_fields = ("name",)


@admin.register(models.DataCase)
class DataCaseAdmin(ReadOnlyTenantAdmin):
    verb = "workflow.edit"
    list_display = ("name", "data_set", "created_by", "updated_at")
    list_select_related = ("data_set__workflow", "created_by")
    search_fields = ("name",)


@admin.register(models.Evaluation)
class EvaluationAdmin(ReadOnlyTenantAdmin):
    list_display = ("data_set", "workflow", "label", "other_label", "scorer", "status")
    list_filter = ("status",)
    list_select_related = ("data_set__workflow", "workflow")


@admin.register(models.EvaluationResult)
class EvaluationResultAdmin(ReadOnlyTenantAdmin):
    verb = "workflow.edit"
    list_display = ("evaluation", "case", "side", "status", "score")
    list_filter = ("status",)
    list_select_related = ("evaluation", "case")


@admin.register(models.ToolConnection)
class ToolConnectionAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("name", "slug", "kind", "url", "checked_at", "team")
    list_filter = ("kind",)
    list_select_related = ("team",)


@admin.register(models.ToolSignIn)
class ToolSignInAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("connection", "signed_in_at", "expires_at", "error", "team")
    list_select_related = ("connection", "team")
    exclude = ("access_token", "refresh_token", "client_secret")


@admin.register(models.SignInAttempt)
class SignInAttemptAdmin(ReadOnlyTenantAdmin):
    verb = "credential.view"
    list_display = ("connection", "user", "expires_at", "team")
    list_select_related = ("connection", "user", "team")
    exclude = ("code_verifier", "client_secret", "state_hash", "session_hash")


@admin.register(models.StreamName)
class StreamNameAdmin(ReadOnlyTenantAdmin):
    verb = "workflow.view"
    list_display = ("name", "workflow_ids", "team")
    list_select_related = ("team",)


@admin.register(models.Snapshot)
class SnapshotAdmin(ReadOnlyTenantAdmin):
    list_display = ("hash", "team", "created_at")
    list_select_related = ("team",)


@admin.register(models.Version)
class VersionAdmin(ReadOnlyTenantAdmin):
    list_display = ("workflow", "number", "note", "created_at")
    list_select_related = ("workflow",)


@admin.register(models.Revision)
class RevisionAdmin(ReadOnlyTenantAdmin):
    list_display = ("number", "workflow", "kind", "label", "author", "at")
    list_filter = ("kind",)
    list_select_related = ("workflow", "author")


@admin.register(models.Comment)
class CommentAdmin(ReadOnlyTenantAdmin):
    list_display = ("author_name", "node", "workflow", "created_at", "resolved_at", "deleted_at")
    list_select_related = ("workflow",)


@admin.register(models.Pin)
class PinAdmin(ReadOnlyTenantAdmin):
    list_display = ("node_key", "workflow", "pinned_by", "pinned_at")
    list_select_related = ("workflow", "pinned_by")


@admin.register(models.FirstSteps)
class FirstStepsAdmin(ReadOnlyAdmin):
    """The signed-in person's own first steps, which belong to no team."""

    list_display = ("user", "done", "dismissed_at", "tour")
    list_select_related = ("user",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(user_id=get_principal(request).user_id)


@admin.register(models.Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """The workers of this installation, which belong to no team."""

    list_display = ("name", "started_at", "seen_at", "capacity", "running")


@admin.register(models.Run)
class RunAdmin(PersonalAdmin):
    list_display = ("id", "workflow", "status", "created_at", "elapsed")
    list_filter = ("status",)
    list_select_related = ("workflow",)


@admin.register(models.Task)
class TaskAdmin(PersonalAdmin):
    owner_model = models.Task
    list_display = ("title", "team", "run", "created_at")
    list_select_related = ("team", "run")


@admin.register(models.StoredFile)
class StoredFileAdmin(PersonalAdmin):
    owner_model = models.StoredFile
    list_display = ("name", "team", "kind", "size", "created_at")
    list_select_related = ("team",)


@admin.register(models.Conversation)
class ConversationAdmin(PersonalAdmin):
    owner_model = models.Conversation
    list_display = ("name", "workflow", "dialogue_count", "created_at")
    list_select_related = ("workflow",)


@admin.register(models.Message)
class MessageAdmin(PersonalAdmin):
    owner_model = models.Conversation
    owner_lookup = "conversation"
    list_display = ("number", "conversation", "created_at")
    list_select_related = ("conversation",)


def _register_run_detail(model: type[Model], *columns: str) -> None:
    attributes = {"list_display": columns}
    admin.site.register(model, type(f"{model.__name__}Admin", (RunDetailAdmin,), attributes))


_register_run_detail(models.Step, "node_key", "kind", "status", "run")
_register_run_detail(models.RunCommit, "number", "attempt", "last_seq", "run", "at")
_register_run_detail(models.StepPart, "node_key", "part", "kind", "run")
_register_run_detail(models.RunWait, "node_key", "part", "due_at", "answered_at", "run")
_register_run_detail(models.Feedback, "actor", "rating", "run", "created_at")
_register_run_detail(models.RunPartial, "run", "updated_at")
_register_run_detail(models.DryRunChange, "number", "operation", "key", "fate", "run")
