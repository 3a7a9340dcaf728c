"""Texts of the history at the bottom."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("The history could not be loaded"),
    _("Something went wrong"),
    _("Show history"),
)
