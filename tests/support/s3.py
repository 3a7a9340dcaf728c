"""A small bucket that speaks the part of S3's protocol that boto3 needs, over real HTTP on this machine.

moto's server would do, but weighs 100 MB with what it brings. Every request's signature is computed again with botocore's
own signer, so that an unsigned or wrongly signed one is refused as a real service does.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes.serving import serving


KEY: Final = "test-key"
SECRET: Final = "test-secret"
REGION: Final = "test-region"
_XMLNS: Final = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


@dataclass
class Bucket:
    """The contents of the bucket by their keys; ``requests`` are those that were signed, as method and path."""

    url: str
    name: str = "files"
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    is_away: bool = False


class _Server(ThreadingHTTPServer):
    bucket: Bucket
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_args: object) -> None:
        pass

    def handle_any(self) -> None:
        bucket = self.server.bucket
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if bucket.is_away:
            return self._refuse(503, "SlowDown")
        if not self._is_signed(body):
            return self._refuse(403, "SignatureDoesNotMatch")
        # A bucket that ignores access control lists, as new ones do, refuses every other one.
        if (
            self.headers.get("x-amz-acl", "bucket-owner-full-control")
            != "bucket-owner-full-control"
        ):
            return self._refuse(400, "AccessControlListNotSupported")
        parts = urlsplit(self.path)
        name, _slash, key = unquote(parts.path).lstrip("/").partition("/")
        if name != bucket.name:
            return self._refuse(404, "NoSuchBucket")
        bucket.requests.append((self.command, key))
        query = {n: v[0] for n, v in parse_qs(parts.query, keep_blank_values=True).items()}
        return self._answer(key, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 - the names of the library

    def _answer(self, key: str, query: dict[str, str], body: bytes) -> None:
        bucket, command = self.server.bucket, self.command
        if not key and command == "GET":
            return self._list(query)
        if command == "POST" and "uploads" in query:
            number = str(len(bucket.uploads))
            bucket.uploads[number] = {}
            return self._send_xml(f"<InitiateMultipartUploadResult {_XMLNS}><UploadId>{number}</UploadId></InitiateMultipartUploadResult>")  # fmt: skip
        if command == "PUT" and "uploadId" in query:
            bucket.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return self._send(200, b"", ETag=_tag(body))
        if command == "POST" and "uploadId" in query:
            parts = bucket.uploads.pop(query["uploadId"])
            bucket.objects[key] = b"".join(parts[number] for number in sorted(parts))
            return self._send_xml(f"<CompleteMultipartUploadResult {_XMLNS}><Key>{escape(key)}</Key></CompleteMultipartUploadResult>")  # fmt: skip
        if command == "PUT":
            bucket.objects[key] = body
            return self._send(200, b"", ETag=_tag(body))
        if command == "DELETE":
            bucket.objects.pop(key, None)
            return self._send(204, b"")
        return self._read(key)

    def _read(self, key: str) -> None:
        content = self.server.bucket.objects.get(key)
        if content is None:
            return self._refuse(404, "NoSuchKey")
        if wanted := self.headers.get("Range"):
            start, _dash, end = wanted.removeprefix("bytes=").partition("-")
            piece = content[int(start) : int(end) + 1 if end else None]
            last = int(start) + len(piece) - 1
            return self._send(206, piece, ETag=_tag(content), **{"Content-Range": f"bytes {start}-{last}/{len(content)}"})  # fmt: skip
        return self._send(200, content, ETag=_tag(content))

    def _list(self, query: dict[str, str]) -> None:
        keys = [k for k in sorted(self.server.bucket.objects) if k.startswith(query["prefix"])]
        items = "".join(f"<Contents><Key>{escape(k)}</Key><Size>{len(self.server.bucket.objects[k])}</Size></Contents>" for k in keys)  # fmt: skip
        self._send_xml(f"<ListBucketResult {_XMLNS}><IsTruncated>false</IsTruncated>{items}</ListBucketResult>")  # fmt: skip

    def _is_signed(self, body: bytes) -> bool:
        """Return whether the signature is the one that botocore makes with the secret for this very request."""
        given = self.headers.get("Authorization", "")
        if not given.startswith(f"AWS4-HMAC-SHA256 Credential={KEY}/"):
            return False
        digest = self.headers.get("x-amz-content-sha256", "")
        if digest not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
            return False
        signed = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        headers = {n: v for n, v in self.headers.items() if n.lower() in signed}
        request = AWSRequest(self.command, f"{self.server.bucket.url}{self.path}", headers)
        request.context = {"timestamp": self.headers["X-Amz-Date"], "signing": {}}
        signer = S3SigV4Auth(Credentials(KEY, SECRET), "s3", REGION)
        canonical = "\n".join([
            self.command, signer._normalize_url_path(urlsplit(self.path).path),
            signer.canonical_query_string(request),
            "".join(f"{n}:{' '.join(str(self.headers[n]).split())}\n" for n in signed), ";".join(signed), digest,
        ])  # fmt: skip
        text = signer.string_to_sign(request, canonical)
        return given.endswith(f"Signature={signer.signature(text, request)}")

    def _refuse(self, status: int, code: str) -> None:
        self._send_xml(f"<Error><Code>{code}</Code><Message>{code}</Message></Error>", status)

    def _send_xml(self, xml: str, status: int = 200) -> None:
        head = '<?xml version="1.0" encoding="UTF-8"?>'
        self._send(status, f"{head}{xml}".encode(), **{"Content-Type": "application/xml"})

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


@contextmanager
def open_bucket() -> Iterator[Bucket]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.bucket = Bucket(f"http://127.0.0.1:{server.server_port}")
    with serving(server):
        yield server.bucket
