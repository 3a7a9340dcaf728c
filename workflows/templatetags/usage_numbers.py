"""Formats the numbers of usage for people: counts, times, costs and shares."""

from typing import Final

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _


register = template.Library()

ALMOST_A_SECOND: Final = 0.9995


@register.filter
def format_count(value: float | None) -> str:
    return number_format(round(value or 0), use_l10n=True, force_grouping=True)


def format_short_count(value: int) -> str:
    """Return a count for a small place: 9,999, 12.3k or 4.5M."""
    if value < 10_000:
        return format_count(value)
    if value < 1_000_000:
        return f"{_format_rounded(value / 1_000, 1)}k"
    return f"{_format_rounded(value / 1_000_000, 1)}M"


@register.filter
def format_seconds(value: float | None) -> str:
    """Return a time for people, such as 420 ms, 3.1 s, 5 min 20 s or 2 h 5 min; a dash without one."""
    if not value:
        return "–"
    if value < ALMOST_A_SECOND:
        return _("%(n)s ms") % {"n": max(round(value * 1000), 1)}
    if value < 60:
        return _("%(n)s s") % {"n": _format_rounded(value, 1 if value >= 10 else 2)}
    minutes, seconds = divmod(round(value), 60)
    if minutes >= 60:
        hours, minutes = divmod(minutes, 60)
        return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": minutes}
    return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": seconds}


@register.filter
def format_cost(value: float | None) -> str:
    """Return a cost in US dollars, with as many digits as a small one needs; a dash without one."""
    if value is None:
        return "–"
    digits = 2 if value >= 1 or not value else 4 if value >= 0.001 else 6
    return f"${_format_rounded(value, digits)}"


@register.filter
def format_share(value: float | None) -> str:
    """Return a share in percent, rounded, with one digit after the point if it isn't whole; a dash without one."""
    if value is None:
        return "–"
    percent = round(value * 100, 1)
    return f"{number_format(percent, 0 if percent == int(percent) else 1)}%"


def _format_rounded(value: float, digits: int) -> str:
    """Return a number with so many digits after the point, rounded: ``number_format`` alone cuts off the others."""
    return number_format(round(value, digits), digits, use_l10n=True, force_grouping=True)
