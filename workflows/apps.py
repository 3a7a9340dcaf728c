from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from workflows import memory_app


class WorkflowsConfig(AppConfig):
    name = "workflows"
    verbose_name = _("Workflows")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Inline import: models need the app registry.
        from accounts.audit import register_namer  # noqa: PLC0415
        from workflows.services import audit_lines  # noqa: PLC0415

        for family in audit_lines.FAMILIES:
            register_namer(family, audit_lines.list_display_names)
        # Inline import: models need the app registry.
        from workflows.services.questions import periodic as questions  # noqa: PLC0415
        from workflows.services.triggers import periodic as triggers  # noqa: PLC0415

        questions.register()
        triggers.register()
        if memory_app.is_on():
            # Inline import: models need the app registry.
            from workflows.memory_host import register  # noqa: PLC0415

            register()

    def texts_of_files(self) -> list[tuple[str | None, str]]:
        """Return context and string of each text of the gallery's documents and of the scripts, for the catalogs."""
        # Inline imports: reading documents needs the app registry.
        from workflows.samples.wording import CONTEXT, list_file_texts  # noqa: PLC0415
        from workflows.views.script_texts import list_texts  # noqa: PLC0415

        texts = [(CONTEXT, text) for _file, text in list_file_texts()]
        return [*texts, *((None, text) for text in list_texts())]
