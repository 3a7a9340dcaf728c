from django.apps import AppConfig

from workflows import memory_app


class WorkflowsConfig(AppConfig):
    name = "workflows"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if memory_app.is_on():
            # Inline import: models need the app registry.
            from workflows.memory_names import register  # noqa: PLC0415

            register()
