"""Logging: events with fields, coloured for people or one JSON object per line for machines."""

import logging.config
import sys
from collections.abc import Mapping
from typing import Any, Final

import structlog
from structlog.typing import EventDict, Processor

from config.redaction import log_redactor


OUR_PACKAGES = ("config.", "accounts.", "memory.", "workflows.")


def add_extra(logger: logging.Logger, method: str, event: EventDict) -> EventDict:
    """Add the fields that our modules pass as ``extra``. Those of other packages are made for their own formatters."""
    if str(event.get("logger", "")).startswith(OUR_PACKAGES):
        return _EXTRA_ADDER(logger, method, event)
    return event


_EXTRA_ADDER = structlog.stdlib.ExtraAdder()
SHARED_PROCESSORS: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
# One list for the whole process: a logger keeps the list of its first use, also when logging is configured again.
_PROCESSORS: Final[list[Processor]] = [
    structlog.stdlib.filter_by_level,
    *SHARED_PROCESSORS,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]


def build_logging_config(log_format: str, level: str) -> dict[str, Any]:
    """Return the configuration of the log on standard error; ``log_format`` is ``json`` or ``console``."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "events": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*SHARED_PROCESSORS, add_extra],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    log_redactor.process,  # after the exception has become text
                    structlog.processors.JSONRenderer()
                    if log_format == "json"
                    else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "events"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # One line per request is too many, and its URL may be confidential.
            "httpx2": {"level": "WARNING"},
            "httpcore2": {"level": "WARNING"},
            # They log what a server says, such as a message that can't be parsed.
            "mcp": {"level": "CRITICAL"},
            "client": {"level": "CRITICAL"},  # the session of mcp
            "uvicorn.access": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},  # one "received" line per task
            "celery.app.trace": {"level": "WARNING"},
            "celery.beat": {"level": "WARNING"},  # one line per task, several each minute
        },
    }


def configure(config: Mapping[str, Any]) -> None:
    """Configure logging and structlog, both with the same output; Django calls this with ``settings.LOGGING``."""
    logging.config.dictConfig(dict(config))
    structlog.configure(
        processors=_PROCESSORS,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
