"""Django admin of memory: the same walls and the same eyes as everywhere. Changes are made on the pages,
where policy, revision and audit are; only policies are set here."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts import access
from accounts.audit import record
from accounts.principals import principal_of
from memory.models import (
    Change,
    Curation,
    CurationRule,
    Embedding,
    Entry,
    Erasure,
    Glass,
    Group,
    Namespace,
    Policy,
    Proposal,
    Read,
    Revision,
)


class VisibleAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Look, don't touch; and only at what one may see on the pages."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        visible: QuerySet[Any] = self.model.objects.visible_to(principal_of(request))
        return visible

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Namespace)
class NamespaceAdmin(VisibleAdmin):
    list_display = ("text", "scope", "team", "entry_count", "byte_count", "created_at")
    list_filter = ("scope",)
    search_fields = ("text",)
    list_select_related = ("team",)


@admin.register(Entry)
class EntryAdmin(VisibleAdmin):
    list_display = ("key", "namespace", "category", "tier", "revision", "updated_at", "deleted_at")
    list_filter = ("tier", "category")
    search_fields = ("key", "text")
    list_select_related = ("namespace",)


@admin.register(Group)
class GroupAdmin(VisibleAdmin):
    list_display = ("name", "namespace", "last_number", "last_position")
    search_fields = ("name",)
    list_select_related = ("namespace",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A group is as private as what lies in it.
        seen = Namespace.objects.visible_to(principal_of(request))
        return Group.objects.visible_to(principal_of(request)).filter(namespace__in=seen)


@admin.register(Embedding)
class EmbeddingAdmin(VisibleAdmin):
    list_display = ("entry", "model", "dimensions", "embedded_at", "due_at", "attempts", "problem")
    list_filter = ("model",)
    list_select_related = ("entry",)


@admin.register(Revision)
class RevisionAdmin(VisibleAdmin):
    list_display = ("entry", "number", "operation", "actor", "reason", "at")
    list_filter = ("operation",)
    list_select_related = ("entry",)


@admin.register(Change)
class ChangeAdmin(VisibleAdmin):
    list_display = ("operation", "namespace", "entry_count", "actor", "at", "undone_at")
    list_select_related = ("namespace",)


@admin.register(Read)
class ReadAdmin(VisibleAdmin):
    list_display = ("entry", "run_id", "node_id", "score", "injected", "at")
    list_select_related = ("entry",)


@admin.register(CurationRule)
class CurationRuleAdmin(VisibleAdmin):
    list_display = ("app_id", "team", "auto_memory", "scope", "review", "provider", "model")
    list_filter = ("auto_memory", "review")
    list_select_related = ("team",)


@admin.register(Curation)
class CurationAdmin(VisibleAdmin):
    list_display = ("run_id", "place", "status", "curator", "problem", "created_at", "finished_at")
    list_filter = ("status",)
    search_fields = ("run_id",)


@admin.register(Proposal)
class ProposalAdmin(VisibleAdmin):
    list_display = ("kind", "namespace", "state", "reason", "by", "score", "decided_by")
    list_filter = ("state", "kind")
    list_select_related = ("namespace",)


@admin.register(Glass)
class GlassAdmin(VisibleAdmin):
    list_display = ("by", "namespace", "reason", "created_at", "expires_at", "ended_at")
    list_select_related = ("by", "namespace")


@admin.register(Erasure)
class ErasureAdmin(VisibleAdmin):
    list_display = ("subject", "asked_by", "status", "created_at", "finished_at")
    list_filter = ("status",)
    list_select_related = ("asked_by",)


@admin.register(Policy)
class PolicyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # as above
    """Set by who may share memory, an admin of the team; each change is in the audit trail."""

    list_display = ("team", "app_id", "max_entries", "max_value_bytes", "subjects_write_global")
    list_select_related = ("team",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return Policy.objects.visible_to(principal_of(request))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "team":
            kwargs["queryset"] = db_field.related_model.objects.filter(
                pk__in=principal_of(request).team_ids
            )
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Policy, form: Any, change: bool) -> None:
        principal = principal_of(request)
        access.check(principal, "memory.share", obj.team_id)
        super().save_model(request, obj, form, change)
        record(
            team_id=obj.team_id,
            actor=principal.actor,
            action="memory.policy_changed",
            subject=f"memory policy {obj}",
            detail={"fields": sorted(form.changed_data)},
        )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
