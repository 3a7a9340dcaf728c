"""Texts of Django that our Chinese catalog translates anew: 3 分钟前 instead of 3分钟之前, and 5 天前 instead of 5 日前.

Nothing imports them: they stand here for the collection of texts. The spaces before units do not break, as in Django.
"""

from django.utils.translation import ngettext_lazy, npgettext_lazy


TEXTS = (
    ngettext_lazy("an hour ago", "%(count)s hours ago", "count"),
    ngettext_lazy("a minute ago", "%(count)s minutes ago", "count"),
    ngettext_lazy("a second ago", "%(count)s seconds ago", "count"),
    npgettext_lazy("naturaltime-past", "%(num)d month", "%(num)d months", "num"),
    npgettext_lazy("naturaltime-past", "%(num)d day", "%(num)d days", "num"),
)
