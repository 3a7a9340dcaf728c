"""Model providers, and the credentials for them and for tool connections."""

from urllib.parse import urlsplit

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import link_to_user


class ProviderKind(models.TextChoices):
    OFFLINE = "offline", _("Offline demo")  # answers from memory and inputs, no network
    OPENAI_COMPATIBLE = "openai_compatible", _("OpenAI-compatible endpoint")


class ProviderStatus(models.TextChoices):
    CONNECTED = "connected", _("Connected")
    UNREACHABLE = "unreachable", _("Not reachable")
    UNTESTED = "untested", _("Not tested")


class ModelType(models.TextChoices):
    """The types of models beside those that write texts, which a provider lists itself."""

    EMBEDDING = "embedding", _("Embedding")
    RERANK = "rerank", _("Reranking")


class Credential(TenantModel):
    """A secret of a team: created, used, replaced and deleted, but never shown.

    ``hint`` is all that people see of it. ``hosts`` says where it may be sent.
    """

    workflow_lookup = None

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

    workflow_lookup = None

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
    # Name of a model, or "*" for all others → {"input", "output"}, in USD per million tokens.
    prices = models.JSONField(_("prices"), default=dict, blank=True, db_default={})
    enabled = models.BooleanField(_("enabled"), default=True)
    # The result of the last test or call that told something new: when it was, and why it failed. The names of the
    # models are those of the last test.
    checked_at = models.DateTimeField(_("last check"), null=True, blank=True)
    check_error = models.CharField(_("error of the last check"), max_length=1000, blank=True)
    model_names = models.JSONField(_("models"), default=list, blank=True, db_default=[])
    # Limits of its calls; empty: the application's.
    timeout_seconds = models.PositiveIntegerField(_("time limit (seconds)"), null=True, blank=True)
    idle_seconds = models.PositiveIntegerField(
        _("time until the first word (seconds)"), null=True, blank=True
    )
    max_concurrency = models.PositiveIntegerField(
        _("calls at the same time"), null=True, blank=True
    )
    max_tokens = models.PositiveIntegerField(_("max tokens"), null=True, blank=True)
    max_retries = models.PositiveSmallIntegerField(_("retries"), default=2, db_default=2)
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

    @property
    def status(self) -> ProviderStatus:
        """Return whether the provider can be used, as its last test or call told (``execution.ports.model_health``)."""
        if self.kind == ProviderKind.OFFLINE:
            return ProviderStatus.CONNECTED
        if self.checked_at is None:
            return ProviderStatus.UNTESTED
        return ProviderStatus.UNREACHABLE if self.check_error else ProviderStatus.CONNECTED


class ModelMapping(TenantModel):
    """A model of the team that answers for one that documents name. Under ``default`` it is the team's default model."""

    workflow_lookup = None

    provider = models.CharField(_("provider"), max_length=255)
    model = models.CharField(
        _("model"), max_length=255, blank=True, help_text=_("Empty: all models of the provider.")
    )
    target = models.ForeignKey(
        ModelProvider,
        verbose_name=_("target provider"),
        on_delete=models.CASCADE,
        related_name="mappings",
    )
    target_model = models.CharField(_("target model"), max_length=255, blank=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("model mapping")
        verbose_name_plural = _("model mappings")
        ordering = ["provider", "model", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "provider", "model"], name="model_mapping_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}".rstrip("/")


class ProviderModel(TenantModel):
    """A model of a provider that embeds texts or ranks documents. The team has one default model of each type."""

    workflow_lookup = None

    provider = models.ForeignKey(
        ModelProvider,
        verbose_name=_("provider"),
        on_delete=models.CASCADE,
        related_name="added_models",
        db_index=False,
    )
    type = models.CharField(_("type"), max_length=16, choices=ModelType)
    name = models.CharField(_("model"), max_length=255)
    is_default = models.BooleanField(_("default"), default=False)
    # Of an embedding model: the vectors to ask for, and what comes before a question or a text.
    requested_dimensions = models.PositiveIntegerField(
        _("requested dimensions"), null=True, blank=True
    )
    question_prefix = models.CharField(_("before questions"), max_length=100, blank=True)
    text_prefix = models.CharField(_("before texts"), max_length=100, blank=True)
    # The result of the last test.
    checked_at = models.DateTimeField(_("last check"), null=True, blank=True)
    check_error = models.CharField(_("error of the last check"), max_length=1000, blank=True)
    dimensions = models.PositiveIntegerField(_("dimensions"), null=True, blank=True)
    unrelated_cosine = models.FloatField(_("cosine of unrelated texts"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("embedding or reranking model")
        verbose_name_plural = _("embedding and reranking models")
        ordering = ["type", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "type", "name"], name="provider_model_once"
            ),
            models.UniqueConstraint(
                fields=["team", "type"],
                condition=models.Q(is_default=True),
                name="provider_model_one_default",
            ),
            models.CheckConstraint(
                condition=models.Q(type__in=ModelType.values), name="provider_model_type_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id}/{self.name}"


class KnowledgeMapping(TenantModel):
    """A knowledge base of the team that answers for a data set which documents of another installation name."""

    workflow_lookup = None

    data_set = models.CharField(_("data set"), max_length=255)  # its id in the other installation
    knowledge_base = models.CharField(
        _("knowledge base"), max_length=200
    )  # the text of a namespace
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("knowledge base mapping")
        verbose_name_plural = _("knowledge base mappings")
        ordering = ["data_set", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "data_set"], name="knowledge_mapping_once"),
        ]

    def __str__(self) -> str:
        return self.data_set


class ModelCall(TenantModel):
    """A call that a provider answers now. Only those of providers with a limit of calls at the same time are counted."""

    workflow_lookup = None

    provider = models.ForeignKey(ModelProvider, on_delete=models.CASCADE, related_name="calls")
    expires_at = models.DateTimeField(_("expires at"))  # after the end of a worker that was killed

    class Meta:
        verbose_name = _("model call")
        verbose_name_plural = _("model calls")
        ordering = ["expires_at", "id"]

    def __str__(self) -> str:
        return str(self.id)
