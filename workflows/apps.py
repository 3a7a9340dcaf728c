from django.apps import AppConfig
from django.conf import settings


class WorkflowsConfig(AppConfig):
    name = "workflows"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if settings.MEMORY_ENABLED:
            # Inline import: models need the app registry.
            from workflows.memory_names import register  # noqa: PLC0415

            register()
