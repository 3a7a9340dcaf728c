"""Texts of the first steps and the tour."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("Show first steps"),
    _("Start tour"),
    _("Completed: {step}"),
)
