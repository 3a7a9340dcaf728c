"""Django admin of workflows: read-only rows of one's own teams, without secrets and private runs.

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
    """Rows of a person, with the same visibility as on the other pages."""

    run_path = ""  # the lookup from the row to its run or conversation; "" for the row itself
    owner: type[models.Run] | type[models.Conversation] | type[models.Task] = models.Run

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        visible_ids = self.owner.objects.visible_to(get_principal(request)).values("pk")
        path = f"{self.run_path}__in" if self.run_path else "pk__in"
        return super().get_queryset(request).filter(**{path: visible_ids})


class OfRunAdmin(PersonalAdmin):
    run_path = "run"
    list_select_related = ("run",)


@admin.register(models.Workflow)
class WorkflowAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "team", "mode", "revision", "published_version", "updated_at")
    list_filter = ("mode",)
    list_select_related = ("team", "published_version")
    search_fields = ("name",)


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


@admin.register(models.TestCase)
class TestCaseAdmin(ReadOnlyTenantAdmin):
    list_display = ("name", "workflow", "created_by", "updated_at")
    list_select_related = ("workflow", "created_by")
    search_fields = ("name",)


@admin.register(models.TestResult)
class TestResultAdmin(ReadOnlyTenantAdmin):
    list_display = ("case", "status", "started_by", "queued_at", "elapsed")
    list_filter = ("status",)
    list_select_related = ("case", "started_by")


@admin.register(models.FirstSteps)
class FirstStepsAdmin(ReadOnlyAdmin):
    """The signed-in person's own first steps, which belong to no team."""

    list_display = ("user", "done", "dismissed_at", "tour")
    list_select_related = ("user",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(user_id=get_principal(request).user_id)


@admin.register(models.Run)
class RunAdmin(PersonalAdmin):
    list_display = ("id", "workflow", "status", "created_at", "elapsed")
    list_filter = ("status",)
    list_select_related = ("workflow",)


@admin.register(models.Task)
class TaskAdmin(PersonalAdmin):
    owner = models.Task
    list_display = ("title", "team", "run", "created_at")
    list_select_related = ("team", "run")


@admin.register(models.Conversation)
class ConversationAdmin(PersonalAdmin):
    owner = models.Conversation
    list_display = ("name", "workflow", "dialogue_count", "created_at")
    list_select_related = ("workflow",)


@admin.register(models.Message)
class MessageAdmin(PersonalAdmin):
    owner = models.Conversation
    run_path = "conversation"
    list_display = ("number", "conversation", "created_at")
    list_select_related = ("conversation",)


def _register(model: type[Model], *columns: str) -> None:
    admin.site.register(
        model, type(f"{model.__name__}Admin", (OfRunAdmin,), {"list_display": columns})
    )


_register(models.Step, "node_key", "kind", "status", "run")
_register(models.StepIntent, "node_key", "attempt", "run", "at")
_register(models.RunEvent, "seq", "name", "run", "at")
_register(models.RunPartial, "run", "updated_at")
_register(models.DryRunChange, "number", "operation", "key", "fate", "run")
