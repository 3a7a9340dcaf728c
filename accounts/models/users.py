"""A person with an account, who signs in with their e-mail address; there is no other user name."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from config.ids import uuid7


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create a user. A user without a password can't sign in until a password is set."""
        user = self.model(email=normalise_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        fields |= {"is_staff": True, "is_superuser": True}
        return self.create_user(email, password, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=normalise_email(username or ""))


class User(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(_("email"), unique=True)
    name = models.CharField(_("name"), max_length=120, blank=True)
    locale = models.CharField(_("language"), max_length=16, blank=True)
    is_active = models.BooleanField(_("can sign in"), default=True)
    is_staff = models.BooleanField(_("can open the admin pages"), default=False)
    date_joined = models.DateTimeField(_("joined"), default=timezone.now, editable=False)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        ordering = ("email", "id")
        constraints = (
            models.UniqueConstraint(Lower("email"), name="accounts_user_email_any_case"),
        )

    def __str__(self) -> str:
        return self.name or self.email

    def clean(self) -> None:
        super().clean()
        self.email = normalise_email(self.email)

    def get_full_name(self) -> str:
        return self.name

    def get_short_name(self) -> str:
        return self.name or self.email.partition("@")[0]


def normalise_email(email: str) -> str:
    """Return an address in lower case: no server distinguishes Ana@ from ana@, but look-alike accounts would."""
    return email.strip().lower()
