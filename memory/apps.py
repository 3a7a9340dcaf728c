from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = _("Memory")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Inline import: accounts' modules need the app registry.
        from accounts.audit import name_with, register_actions  # noqa: PLC0415
        from accounts.pseudonyms import persons_are_under  # noqa: PLC0415
        from memory import checks, naming, places  # noqa: F401, PLC0415
        from memory.embedding import column, embedders, wakes  # noqa: PLC0415
        from memory.plugins import plug_in_scopes  # noqa: PLC0415
        from memory.services.erasures import carry_out  # noqa: PLC0415
        from memory.tasks import wake_embedding  # noqa: PLC0415
        from memory.upkeep import erasing  # noqa: PLC0415

        erasing.asks_to_erase(carry_out)
        plug_in_scopes()
        places.check()
        embedders.check()
        wakes.tells(wake_embedding)
        post_migrate.connect(column.add_after_migrating, sender=self)
        name_with("memory", naming.for_the_trail)
        persons_are_under(naming.prefixes_of_persons)

        register_actions(
            {
                "memory.curated": _("learned from a run"),
                "memory.edited": _("edited a memory"),
                "memory.approved": _("approved what was in quarantine"),
                "memory.rejected": _("rejected what was in quarantine"),
                "memory.paused": _("paused their own memory"),
                "memory.resumed": _("resumed their own memory"),
                "memory.promoted": _("kept a memory for good"),
                "memory.quarantined": _("put a memory into quarantine"),
                "memory.imported": _("imported memories"),
                "memory.erased": _("erased a person's memory"),
                "memory.proposal_applied": _("applied a proposed change of memory"),
                "memory.proposal_rejected": _("rejected a proposed change of memory"),
                "memory.proposal_reopened": _("reopened a proposed change of memory"),
                "memory.proposed": _("proposed changes of memory"),
                "memory.rule_changed": _("changed how an application learns"),
                "memory.unshared": _("ended sharing a namespace"),
            }
        )
