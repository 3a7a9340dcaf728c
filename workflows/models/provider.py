"""Model providers and the credentials for them."""

from urllib.parse import urlsplit

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import link_to_user


class ProviderKind(models.TextChoices):
    OFFLINE = "offline", _("Offline demo")  # answers from memory and inputs, no network
    OPENAI_COMPATIBLE = "openai_compatible", _("OpenAI-compatible endpoint")


class Credential(TenantModel):
    """A secret of a team: created, used, replaced and deleted, but never shown.

    ``hint`` is all that people see of it. ``hosts`` says where it may be sent.
    """

    kind = models.CharField(_("kind"), max_length=32, choices=ProviderKind)
    name = models.CharField(_("name"), max_length=255)
    base_url = models.CharField(_("base URL"), max_length=2048, blank=True)
    hosts = models.CharField(
        _("hosts"),
        max_length=255,
        blank=True,
        help_text=_(
            "Hosts that this secret can be sent to; *.example.com includes all subdomains."
        ),
    )
    secret = models.BinaryField(_("secret"))
    hint = models.CharField(_("hint"), max_length=16, blank=True)
    created_by = link_to_user(_("created by"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    rotated_at = models.DateTimeField(_("replaced at"), null=True, blank=True)

    class Meta:
        verbose_name = _("credential")
        verbose_name_plural = _("credentials")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="credential_name_once"),
            models.CheckConstraint(
                condition=models.Q(kind__regex=r"^[a-z][a-z0-9_-]*$"), name="credential_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def may_be_sent_to(self, url: str) -> bool:
        """Return whether the secret may be sent to this URL, so that changing a provider's URL can't leak the key."""
        host = (urlsplit(url).hostname or "").lower()
        pattern = self.hosts.lower()
        if pattern.startswith("*."):
            return host.endswith(pattern[1:])
        return bool(host) and host == pattern


class ModelProvider(TenantModel):
    """The provider that a document's ``model.provider`` names in this team."""

    name = models.CharField(_("name"), max_length=255)
    kind = models.CharField(_("kind"), max_length=32, choices=ProviderKind)
    base_url = models.CharField(_("base URL"), max_length=2048, blank=True)
    default_model = models.CharField(_("default model"), max_length=255, blank=True)
    credential = models.ForeignKey(
        Credential,
        verbose_name=_("credential"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="providers",
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("model provider")
        verbose_name_plural = _("model providers")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="model_provider_name_once"),
            models.CheckConstraint(
                condition=models.Q(kind__regex=r"^[a-z][a-z0-9_-]*$"),
                name="model_provider_kind_known",
            ),
            models.CheckConstraint(
                condition=models.Q(kind=ProviderKind.OFFLINE) | ~models.Q(base_url=""),
                name="model_provider_has_a_url",
            ),
        ]

    def __str__(self) -> str:
        return self.name
