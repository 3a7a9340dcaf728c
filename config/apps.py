from django.apps import AppConfig
from django.conf import settings

from config.redaction import log_redactor
from config.translations import compile_outdated


class WiringConfig(AppConfig):
    """An app without models, for the work that must happen at start-up."""

    name = "config"

    def ready(self) -> None:
        compile_outdated(settings.LOCALE_PATHS)
        for secret in self._list_secrets():
            log_redactor.add(secret)
        # Imported here, because checks need the app registry, and tasks need the Celery app with its broker.
        from config import celery, checks  # noqa: F401, PLC0415

    def _list_secrets(self) -> list[str]:
        """Return the operator's secrets, which no log may contain."""
        optional = (settings.MEMORY_HTTP_KEY, settings.MEMORY_EMBEDDER_KEY, settings.METRICS_TOKEN)
        secrets = (*optional, settings.SECRET_KEY, *settings.SECRET_KEYS_AT_REST)
        return [secret for secret in secrets if secret]
