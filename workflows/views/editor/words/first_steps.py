"""What the first steps and the tour say from their scripts."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("First steps"),
    _("Show me around"),
    _("Done: {step}"),
)
