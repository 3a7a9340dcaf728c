"""Sign-ins with OAuth: the tokens that an authorization server gave for a tool connection, and attempts to get some."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import link_to_user
from workflows.models.tools.connection import ToolConnection


class SignInStatus(models.TextChoices):
    NEEDED = "needed", _("Sign-in needed")  # nobody has signed in yet, or somebody signed out
    SIGNED_IN = "signed_in", _("Signed in")
    AGAIN = "again", _("Sign in again")  # the server takes the tokens no more, or wants more rights


class AuthorizationDetails(TenantModel):
    """Where a person signs in for a connection, for what, and as which client."""

    # What the authorization server says about itself (RFC 8414), and what it knows about this installation (RFC 7591)
    # without the secret of the client.
    server = models.JSONField(_("authorization server"), default=dict, blank=True)
    client = models.JSONField(_("client"), default=dict, blank=True)
    client_secret = models.BinaryField(_("secret of the client"), null=True, blank=True)
    resource = models.CharField(_("resource"), max_length=2048, blank=True)
    scope = models.CharField(_("permissions"), max_length=2000, blank=True)

    class Meta:
        abstract = True


class ToolSignIn(AuthorizationDetails):
    """The tokens of a connection, which its team shares. ``scope`` is what the authorization server granted.

    The tokens are encrypted like the secret of a credential, and nobody is shown any of them.
    """

    workflow_lookup = None

    connection = models.OneToOneField(
        ToolConnection,
        verbose_name=_("tool connection"),
        on_delete=models.CASCADE,
        related_name="sign_in",
    )
    access_token = models.BinaryField(_("access token"), null=True, blank=True)
    refresh_token = models.BinaryField(_("refresh token"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    # Until then a process renews the tokens, and no other one does.
    renewed_until = models.DateTimeField(_("being renewed until"), null=True, blank=True)
    # Why somebody has to sign in again, and the permissions that the server missed.
    error = models.CharField(_("error"), max_length=1000, blank=True)
    missing_scope = models.CharField(_("missing permissions"), max_length=2000, blank=True)
    signed_in_by = link_to_user(_("signed in by"))
    signed_in_at = models.DateTimeField(_("signed in at"), null=True, blank=True)

    class Meta:
        verbose_name = _("sign-in of a tool connection")
        verbose_name_plural = _("sign-ins of tool connections")
        ordering = ["connection_id", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(access_token=None) | ~models.Q(signed_in_at=None),
                name="tool_sign_in_has_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(refresh_token=None) | ~models.Q(access_token=None),
                name="tool_sign_in_has_an_access_token",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def status(self) -> SignInStatus:
        if self.signed_in_at is None:
            return SignInStatus.NEEDED
        if self.error or self.access_token is None:
            return SignInStatus.AGAIN
        return SignInStatus.SIGNED_IN


class SignInAttempt(AuthorizationDetails):
    """A sign-in that a person has begun, and that only this person can finish, in the same session and once."""

    workflow_lookup = None

    connection = models.ForeignKey(
        ToolConnection,
        verbose_name=_("tool connection"),
        on_delete=models.CASCADE,
        related_name="sign_in_attempts",
        db_index=False,
    )
    user = link_to_user(_("person"), on_delete=models.CASCADE)
    state_hash = models.CharField(_("hash of the state"), max_length=64, unique=True)
    session_hash = models.CharField(_("hash of the session"), max_length=64)
    code_verifier = models.BinaryField(_("code verifier"))
    redirect_uri = models.CharField(_("redirect URI"), max_length=2048)
    expires_at = models.DateTimeField(_("expires at"))

    class Meta:
        verbose_name = _("attempt to sign in")
        verbose_name_plural = _("attempts to sign in")
        ordering = ["expires_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "user"], name="sign_in_attempt_once"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_expired(self) -> bool:
        return self.expires_at <= timezone.now()
