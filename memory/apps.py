import sys

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = _("Memory")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Inline import: accounts' modules need the app registry.
        from accounts.audit import register_actions, register_namer  # noqa: PLC0415
        from accounts.pseudonyms import register_person_prefixes  # noqa: PLC0415
        from memory import checks, naming, routing  # noqa: F401, PLC0415
        from memory.embedding import embedders, notify, vector_column  # noqa: PLC0415
        from memory.plugins import plug_in_scopes  # noqa: PLC0415
        from memory.services.documents.removal import tidy_documents  # noqa: PLC0415
        from memory.services.documents.worker import carry_out_document  # noqa: PLC0415
        from memory.services.erasure.erasure_jobs import carry_out_erasure  # noqa: PLC0415
        from memory.services.wiki.job_worker import carry_out_wiki_job  # noqa: PLC0415
        from memory.tasks import wake_embedding  # noqa: PLC0415
        from memory.upkeep import documents, erasure, wiki_jobs  # noqa: PLC0415

        documents.register_document_worker(carry_out_document, tidy_documents)
        wiki_jobs.register_wiki_worker(carry_out_wiki_job)
        erasure.register_eraser(carry_out_erasure)
        plug_in_scopes()
        try:
            routing.check_rules()
            embedders.check_configuration()
        except ImproperlyConfigured as error:
            sys.exit(str(error))  # an operator needs the sentence, whichever process starts
        notify.register_notifier(wake_embedding)
        post_migrate.connect(vector_column.add_after_migrating, sender=self)
        register_namer("memory", naming.name_for_audit_log)
        register_person_prefixes(naming.list_person_prefixes)

        register_actions(
            {
                "memory.curated": _("learned from a run"),
                "memory.edited": _("edited a memory"),
                "memory.approved": _("approved a quarantined memory"),
                "memory.rejected": _("rejected a quarantined memory"),
                "memory.paused": _("paused their own memory"),
                "memory.resumed": _("resumed their own memory"),
                "memory.folded": _("folded repetitions into one memory"),
                "memory.promoted": _("moved a memory to long-term"),
                "memory.quarantined": _("quarantined a memory"),
                "memory.imported": _("imported memories"),
                "memory.moved": _("moved memories to another provider"),
                "memory.erased": _("erased a user's memory"),
                "memory.erasure_decided": _("decided about a shared memory that an erasure left"),
                "memory.proposal_applied": _("accepted a proposal"),
                "memory.proposal_rejected": _("rejected a proposal"),
                "memory.proposal_reopened": _("reopened a proposal"),
                "memory.proposed": _("proposed memory changes"),
                "memory.rule_changed": _("changed the learning settings of an application"),
                "memory.unshared": _("stopped sharing a namespace"),
            }
        )
