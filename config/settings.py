"""Django settings. They read `config.env` and nothing else, and are used through `django.conf` only."""

import warnings
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

from config.embedded.layout import find_layout
from config.encryption.keyfile import load_secrets
from config.env import REDIS_SCHEMES, ROOT, env
from config.logs import build_logging_config
from config.url_settings import (
    build_database_config,
    build_file_storage,
    build_mail_settings,
)


# WhiteNoise serves from the source folders until collectstatic has run.
warnings.filterwarnings("ignore", message="No directory at")
django_stubs_ext.monkeypatch()  # before any app is loaded

ENV = env()
_LAYOUT = find_layout(ENV.mnemoflow_home)

# Secrets; those that the environment lacks are generated at the first start.
SECRET_KEY = ENV.secret_key or load_secrets(ENV.mnemoflow_home).secret_key
SECRET_KEYS_AT_REST = ENV.secret_keys_at_rest or load_secrets(ENV.mnemoflow_home).keys_at_rest

# Signed heads of the audit trail, stored outside the database
AUDIT_HEADS_FILE = ENV.audit_heads_file or ENV.mnemoflow_home / "audit-heads.jsonl"

# Apps
MEMORY_ENABLED = ENV.memory_enabled
MEMORY_NODES_ENABLED = ENV.memory_enabled and ENV.memory_nodes_enabled
MEMORY_PLACES = ENV.memory_places
MEMORY_REDIS_URL = ENV.memory_redis_url
MEMORY_HTTP_URL = ENV.memory_http_url
MEMORY_HTTP_KEY = ENV.memory_http_key
MEMORY_EMBEDDER = ENV.memory_embedder
MEMORY_EMBEDDER_URL = ENV.memory_embedder_url
MEMORY_EMBEDDER_KEY = ENV.memory_embedder_key
MEMORY_EMBEDDER_MODEL = ENV.memory_embedder_model
MEMORY_EMBEDDER_DIMENSIONS = ENV.memory_embedder_dimensions
MEMORY_EMBEDDER_QUESTION_PREFIX = ENV.memory_embedder_question_prefix
MEMORY_EMBEDDER_TEXT_PREFIX = ENV.memory_embedder_text_prefix
MEMORY_EMBEDDER_SECONDS = ENV.memory_embedder_seconds
MEMORY_EMBEDDER_UNRELATED_COSINE = ENV.memory_embedder_unrelated_cosine
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    *(["allauth.mfa"] if ENV.mfa_enabled else []),
    "guardian",
    "django_htmx",
    "csp",
    "ninja",
    "config",
    "accounts",
    *(["memory"] if ENV.memory_enabled else []),
    "workflows",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.http.middleware.EmbeddedPagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "accounts.http.throttles.RateLimitHeadersMiddleware",
    "config.http.middleware.ApiErrorsMiddleware",
    "config.http.middleware.NoNulMiddleware",
    "config.http.middleware.JsonWritesMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.http.language.PersonLanguageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.errors.NotAllowedMiddleware",
    "config.errors.DomainErrorMiddleware",
    "accounts.http.middleware.TenantMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            # What takes longest in pages, and is the same each time: icons and constant texts are rendered once.
            "builtins": ["config.templatetags.drawn_icons"],
            "libraries": {"i18n": "config.templatetags.constant_texts"},
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.http.context.page",
                "accounts.http.context.team",
                "workflows.views.navigation.navigation",
                *(["memory.views.tabs.add_tabs"] if ENV.memory_enabled else []),
            ],
        },
    }
]
SILENCED_SYSTEM_CHECKS = [
    "templates.W003"
]  # a library of our own takes the place of Django's ``i18n``

# Data. `default` is the app's role: it owns nothing, and row-level security holds for it. `owner` migrates.
_APP_URL = ENV.database_url or _LAYOUT.build_database_url("mnemoflow_app")
_OWNER_URL = ENV.database_owner_url or ENV.database_url or _LAYOUT.build_database_url("postgres")
DATABASES = {
    "default": build_database_config(_APP_URL, pool_size=ENV.database_pool_size),
    "owner": build_database_config(_OWNER_URL),
}
MIGRATE_ALIAS = "owner"

# Queue and token bus
BROKER_URL = ENV.broker_url or _LAYOUT.broker_url
_BROKER_IS_REDIS = bool(ENV.broker_url and ENV.broker_url.startswith(REDIS_SCHEMES))
REDIS_URL = ENV.redis_url or (BROKER_URL if _BROKER_IS_REDIS else _LAYOUT.redis_url)
WORKER_THREADS = ENV.worker_threads
TEAM_RUNNING_RUNS = ENV.team_running_runs
WORKFLOW_RUNNING_RUNS = ENV.workflow_running_runs
TEAM_QUEUED_RUNS = ENV.team_queued_runs
RUN_MAX_STEPS = ENV.run_max_steps
RUN_MAX_RUNS_BELOW = ENV.run_max_runs_below
RUN_MAX_STEPS_BELOW = ENV.run_max_steps_below
RUN_KEEP_DAYS = ENV.run_keep_days
RUN_KEEP_FAILED_DAYS = ENV.run_keep_failed_days
CACHES = {
    "default": (
        {"BACKEND": "config.http.outage_cache.OutageCache", "LOCATION": REDIS_URL}
        if ENV.has_shared_cache or (ENV.web_processes or 1) > 1
        # A single web process can use its own memory, so that limits hold without Valkey.
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    )
}

# Files of runs
FILES_DIR = ENV.files_dir or ENV.mnemoflow_home / "files"
FILE_DOCUMENT_MB = ENV.file_document_mb
FILE_IMAGE_MB = ENV.file_image_mb
FILE_MEDIA_MB = ENV.file_media_mb
TEAM_FILES_MB = ENV.team_files_mb
FILE_LINK_SECONDS = ENV.file_link_seconds
STORAGES = {
    "staticfiles": {"BACKEND": "config.http.assets.StaticFiles"},
    "files": build_file_storage(
        FILES_DIR,
        bucket=ENV.files_bucket,
        endpoint_url=ENV.files_endpoint_url,
        region=ENV.files_region,
        access_key=ENV.files_access_key,
        secret_key=ENV.files_secret_key,
    ),
}
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700

# Users and sign-in
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "guardian.backends.ObjectPermissionBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "optional" if ENV.email_url else "none"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_FORMS = {
    "login": "accounts.forms.SignInForm",
    "reset_password": "accounts.forms.PasswordResetForm",
    "signup": "accounts.forms.SignUpForm",
}
# accounts.services.sign_in delays failed sign-ins instead of allauth's limits, which everybody in a network shares.
ACCOUNT_RATE_LIMITS = {"login_failed": None, "login": None, "answer_link": "60/m/ip"}
ACCOUNT_ADAPTER = "accounts.http.adapter.AccountAdapter"
SIGNUP_OPEN = ENV.signup_open
API_REQUESTS_PER_MINUTE = ENV.api_requests_per_minute
OPENAI_FORWARDED_HEADERS = ENV.openai_forwarded_headers
API_TEAM_REQUESTS_PER_MINUTE = ENV.api_team_requests_per_minute
TEAM_LIMITS = {
    "runs_per_day": ENV.team_runs_per_day,
    "concurrent_runs": ENV.team_concurrent_runs,
    "tokens_per_day": ENV.team_tokens_per_day,
    "code_seconds_per_day": ENV.team_code_seconds_per_day,
}
GUARDIAN_RAISE_403 = False
ANONYMOUS_USER_NAME = None  # guardian would create a row for the anonymous user

# Security of pages
DEBUG = ENV.debug
PUBLIC_URL = ENV.public_url
ALLOWED_HOSTS = [
    *ENV.allowed_hosts,
    *([urlsplit(ENV.public_url).hostname or ""] if ENV.public_url else []),
]
_HTTPS = bool(ENV.public_url and ENV.public_url.startswith("https://"))
CSRF_TRUSTED_ORIGINS = [ENV.public_url.rstrip("/")] if ENV.public_url else []
# No SECURE_PROXY_SSL_HEADER, which would believe any client: config.http.proxies sets the scheme.
TRUSTED_PROXIES = ENV.trusted_proxies
BODY_SECONDS = ENV.body_seconds
SECURE_SSL_REDIRECT = _HTTPS
SECURE_REDIRECT_EXEMPT = [r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_NAME = "__Host-session" if _HTTPS else "mnemoflow_session"
CSRF_COOKIE_NAME = "__Host-csrf" if _HTTPS else "mnemoflow_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
DEVICE_COOKIE_NAME = "__Host-device" if _HTTPS else "mnemoflow_device"
# htmx gets the token from hx-headers in the page.
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
EMBED_ORIGINS = ENV.embed_origins
METRICS_TOKEN = ENV.metrics_token
OTEL_ENDPOINT = ENV.otel_endpoint
WORKER_METRICS_ADDRESS = ENV.worker_metrics_address
NET_ALLOW = ENV.net_allow
NET_PROXY = ENV.net_proxy
CODE_HTTP = ENV.code_http
CODE_FULL_PYTHON = ENV.code_full_python
LOCAL_MODELS = bool(ENV.local_models)
LOCAL_MCP = bool(ENV.local_mcp)
OLLAMA_HOST = ENV.ollama_host
MCP_STDIO_COMMANDS = ENV.mcp_stdio_commands

# Languages, files, mail, log
USE_I18N = USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [ROOT / "locale"]
FORMAT_MODULE_PATH = "config.formats"
STATIC_URL = "/static/"
STATIC_ROOT = ROOT / "staticfiles"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic needed before the first page
# A development checkout changes while it runs; a production deployment sets DATABASE_URL.
WHITENOISE_AUTOREFRESH = ENV.debug or not ENV.database_url
LOGGING_CONFIG = "config.logs.configure"
LOGGING = build_logging_config(ENV.log_format, ENV.log_level)
globals().update(build_mail_settings(ENV.email_url, ENV.email_from))
