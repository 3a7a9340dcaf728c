"""The limits in the words of pages and refusals."""

from typing import Final

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


LABELS: Final[dict[str, str | Promise]] = {
    "runs_per_day": _("Runs started per day"),
    "concurrent_runs": _("Runs at the same time"),
    "tokens_per_day": _("Tokens per day"),
    "code_seconds_per_day": _("Seconds of code per day"),
}

_OF_TEAM: Final[dict[str, str | Promise]] = {
    "runs_per_day": _(
        "This team has reached its limit of runs per day: %(limit)s. New runs can start after midnight UTC."
    ),
    "concurrent_runs": _(
        "This team has reached its limit of runs at the same time: %(limit)s. Try again when one has ended."
    ),
    "tokens_per_day": _(
        "This team has reached its limit of tokens per day: %(limit)s. New runs can start after midnight UTC."
    ),
    "code_seconds_per_day": _(
        "This team has reached its limit of seconds of code per day: %(limit)s. New runs can start after midnight UTC."
    ),
}
_OF_KEY: Final[dict[str, str | Promise]] = {
    "runs_per_day": _(
        "This API key has reached its limit of runs per day: %(limit)s. New runs can start after midnight UTC."
    ),
    "concurrent_runs": _(
        "This API key has reached its limit of runs at the same time: %(limit)s. Try again when one has ended."
    ),
    "tokens_per_day": _(
        "This API key has reached its limit of tokens per day: %(limit)s. New runs can start after midnight UTC."
    ),
    "code_seconds_per_day": _(
        "This API key has reached its limit of seconds of code per day: %(limit)s. New runs can start after midnight UTC."
    ),
}


def describe_refusal(name: str, limit: int, *, is_key: bool) -> str:
    sentences = _OF_KEY if is_key else _OF_TEAM
    return str(sentences[name]) % {"limit": number_format(limit, force_grouping=True)}
