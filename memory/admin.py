"""The Django admin of memory. It shows what the person may see on the pages, without emergency access.

Changes are made on the pages, where policy, revision and audit apply. Reading contents is recorded in the audit log.
"""

from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.audit import record_action
from accounts.principals import get_principal
from memory import models
from memory.core.entry_codec import STATE


class VisibleAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """A read-only admin of the rows that the person may see on the pages."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        visible: QuerySet[Any] = self.model.objects.visible_to(get_principal(request))
        return visible

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ContentsAdmin(VisibleAdmin):
    """An admin of rows with the content of memories. Each view is recorded, as on the pages."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data:
            results = response.context_data["cl"].result_list
            for team_id, rows in Counter(row.team_id for row in results).items():
                self._record_read(request, team_id, rows=rows)
        return response

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        if row is not None:
            self._record_read(request, row.team_id, row=str(row.pk))
        return super().change_view(request, object_id, form_url, extra_context)

    def _record_read(self, request: HttpRequest, team_id: UUID, **details: str | int) -> None:
        principal, table = get_principal(request), f"table:{self.opts.db_table}"
        record_action(principal, team_id, "memory.listed", table, door="admin", **details)


@admin.register(models.Namespace)
class NamespaceAdmin(VisibleAdmin):
    list_display = ("text", "scope", "team", "entry_count", "byte_count", "created_at")
    list_filter = ("scope",)
    search_fields = ("text",)
    list_select_related = ("team",)


@admin.register(models.Entry)
class EntryAdmin(ContentsAdmin):
    list_display = ("key", "namespace", "category", "tier", "revision", "updated_at", "deleted_at")
    list_filter = ("tier", "category")
    search_fields = ("key", "text")
    list_select_related = ("namespace",)


@admin.register(models.Group)
class GroupAdmin(VisibleAdmin):
    list_display = ("name", "namespace", "last_number", "last_position")
    search_fields = ("name",)
    list_select_related = ("namespace",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A group is as private as its entries.
        namespaces = models.Namespace.objects.visible_to(get_principal(request))
        return super().get_queryset(request).filter(namespace__in=namespaces)


@admin.register(models.Embedding)
class EmbeddingAdmin(VisibleAdmin):
    list_display = ("entry", "model", "dimensions", "embedded_at", "due_at", "attempts", "problem")
    list_filter = ("model",)
    list_select_related = ("entry",)


@admin.register(models.Revision)
class RevisionAdmin(ContentsAdmin):
    list_display = ("entry", "number", "operation", "actor", "reason", "at")
    list_filter = ("operation",)
    list_select_related = ("entry",)
    exclude = STATE


@admin.register(models.Change)
class ChangeAdmin(VisibleAdmin):
    list_display = ("operation", "namespace", "entry_count", "actor", "at", "undone_at")
    list_select_related = ("namespace",)


@admin.register(models.Read)
class ReadAdmin(VisibleAdmin):
    list_display = ("entry", "run_id", "node_id", "score", "injected", "at")
    list_select_related = ("entry",)


@admin.register(models.RunPerson)
class RunPersonAdmin(VisibleAdmin):
    list_display = ("run_id", "subject", "team")
    list_select_related = ("team",)


@admin.register(models.CurationRule)
class CurationRuleAdmin(VisibleAdmin):
    list_display = ("app_id", "team", "auto_memory", "scope", "review", "provider", "model")
    list_filter = ("auto_memory", "review")
    list_select_related = ("team",)


@admin.register(models.Curation)
class CurationAdmin(VisibleAdmin):
    list_display = ("run_id", "place", "status", "curator", "problem", "created_at", "finished_at")
    list_filter = ("status",)
    search_fields = ("run_id",)


@admin.register(models.WikiJob)
class WikiJobAdmin(VisibleAdmin):
    list_display = ("task", "namespace", "status", "problem", "created_at", "finished_at")
    list_filter = ("status", "task")
    list_select_related = ("namespace",)


@admin.register(models.DocumentUpload)
class DocumentUploadAdmin(VisibleAdmin):
    list_display = ("name", "namespace", "status", "page_count", "problem", "created_at")
    list_filter = ("status",)
    list_select_related = ("namespace",)


@admin.register(models.Proposal)
class ProposalAdmin(ContentsAdmin):
    list_display = ("kind", "namespace", "state", "reason", "by", "score", "decided_by")
    list_filter = ("state", "kind")
    list_select_related = ("namespace",)


@admin.register(models.EmergencyAccess)
class EmergencyAccessAdmin(VisibleAdmin):
    list_display = ("by", "namespace", "reason", "created_at", "expires_at", "ended_at")
    list_select_related = ("by", "namespace")


@admin.register(models.Erasure)
class ErasureAdmin(VisibleAdmin):
    list_display = ("subject", "asked_by", "status", "created_at", "finished_at")
    list_filter = ("status",)
    list_select_related = ("asked_by",)


@admin.register(models.Policy)
class PolicyAdmin(VisibleAdmin):
    list_display = ("team", "app_id", "max_entries", "max_value_bytes", "subjects_write_global")
    list_select_related = ("team",)
