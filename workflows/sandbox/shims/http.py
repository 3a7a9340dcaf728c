"""The module ``requests`` of code nodes: a program asks for a call, ends, and is run again with the response.

So a program never has a connection, and no process waits for one. The worker sends the request through the guarded
client and keeps the limits. A program that catches the exception of the call is run again all the same, because the
request stays in ``_shim_pending``. Names begin with one underscore, since full Python changes two in classes.
"""

from collections.abc import Mapping
from typing import Any, Final


PENDING: Final = "_shim_pending"
RESPONSES: Final = "_shim_responses"

REQUESTS: Final = """
import base64 as _shim_base64, json as _shim_json
_shim_pending = []
_shim_counter = [0]
class _ShimHeaders:
    def __init__(self, pairs):
        self._values = {pair[0].lower(): pair[1] for pair in pairs}
        self._names = [pair[0] for pair in pairs]
    def get(self, name, default=None):
        return self._values.get(name.lower(), default)
    def __getitem__(self, name):
        return self._values[name.lower()]
    def __contains__(self, name):
        return name.lower() in self._values
    def keys(self):
        return self._names
    def items(self):
        return [(name, self._values[name.lower()]) for name in self._names]
class _ShimResponse:
    def __init__(self, reply):
        self.status_code = reply['status']
        self.url = reply['url']
        self.text = reply['text']
        self.reason = ''
        self.encoding = 'utf-8'
        self.headers = _ShimHeaders(reply['headers'])
        content = reply['content']
        self.content = self.text.encode() if content is None else _shim_base64.b64decode(content)
        self.ok = self.status_code < 400
    def json(self, **options):
        return _shim_json.loads(self.text)
    def raise_for_status(self):
        if self.status_code >= 400:
            raise Exception(str(self.status_code) + ' Error for url: ' + self.url)
    def close(self):
        pass
    def __repr__(self):
        return '<Response [' + str(self.status_code) + ']>'
def _shim_plain(value):
    return None if value is None else _shim_json.loads(_shim_json.dumps(value))
def _shim_call(method, url, params=None, data=None, headers=None, json=None, auth=None, timeout=None, **options):
    if options.get('files'):
        raise NotImplementedError('requests can not send files here')
    number = _shim_counter[0]
    _shim_counter[0] = number + 1
    if number < len(_shim_responses):
        reply = _shim_responses[number]
        if 'error' in reply:
            raise Exception(reply['error'])
        return _ShimResponse(reply)
    if not _shim_pending:
        body = data.decode() if isinstance(data, bytes) else data
        _shim_pending.append({'method': str(method).upper(), 'url': str(url), 'params': _shim_plain(params),
            'data': _shim_plain(body), 'json': _shim_plain(json), 'headers': _shim_plain(headers),
            'auth': list(auth) if auth else None, 'timeout': timeout if isinstance(timeout, (int, float)) else None})
    raise RuntimeError('The request is being sent')
class _ShimExceptions:
    def __init__(self):
        self.RequestException = Exception
        self.HTTPError = Exception
        self.ConnectionError = Exception
        self.Timeout = Exception
        self.ConnectTimeout = Exception
        self.ReadTimeout = Exception
        self.JSONDecodeError = Exception
        self.SSLError = Exception
        self.InvalidURL = Exception
class _ShimSession:
    def __init__(self):
        self.headers = {}
        self.params = {}
        self.auth = None
    def request(self, method, url, **options):
        given = options.get('headers') or {}
        options['headers'] = {**self.headers, **given}
        options['params'] = options.get('params') or self.params or None
        options['auth'] = options.get('auth') or self.auth
        return _shim_call(method, url, **options)
    def get(self, url, params=None, **options):
        return self.request('GET', url, params=params, **options)
    def post(self, url, data=None, json=None, **options):
        return self.request('POST', url, data=data, json=json, **options)
    def put(self, url, data=None, **options):
        return self.request('PUT', url, data=data, **options)
    def patch(self, url, data=None, **options):
        return self.request('PATCH', url, data=data, **options)
    def delete(self, url, **options):
        return self.request('DELETE', url, **options)
    def head(self, url, **options):
        return self.request('HEAD', url, **options)
    def mount(self, prefix, adapter):
        pass
    def close(self):
        pass
    def __enter__(self):
        return self
    def __exit__(self, kind, error, frames):
        return False
class _ShimRequestsModule:
    def __init__(self):
        self.exceptions = _ShimExceptions()
        self.RequestException = Exception
        self.HTTPError = Exception
        self.ConnectionError = Exception
        self.Timeout = Exception
    def Session(self):
        return _ShimSession()
    def session(self):
        return _ShimSession()
    def request(self, method, url, **options):
        return _shim_call(method, url, **options)
    def get(self, url, params=None, **options):
        return _shim_call('GET', url, params=params, **options)
    def post(self, url, data=None, json=None, **options):
        return _shim_call('POST', url, data=data, json=json, **options)
    def put(self, url, data=None, **options):
        return _shim_call('PUT', url, data=data, **options)
    def patch(self, url, data=None, **options):
        return _shim_call('PATCH', url, data=data, **options)
    def delete(self, url, **options):
        return _shim_call('DELETE', url, **options)
    def head(self, url, **options):
        return _shim_call('HEAD', url, **options)
__shim_requests = _ShimRequestsModule()
"""


def build_call(pending: object) -> Mapping[str, Any] | None:
    """Return the request that a program waits for, or None. What it says comes from untrusted code."""
    request = pending[0] if isinstance(pending, list) and pending else None
    return request if isinstance(request, dict) else None
