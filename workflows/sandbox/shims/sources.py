"""Modules that the monty interpreter lacks, as programs in its own Python.

A shim is part of the untrusted program: it runs inside the interpreter, so it opens no way out. It ends with an object
that stands for the module.
"""

from collections.abc import Mapping
from typing import Final


_UUID: Final = """
import random as __random
class __Uuid:
    def __init__(self, hex):
        self.hex = hex.replace('urn:uuid:', '').replace('-', '').strip('{}').lower()
        self.int = int(self.hex, 16)
        if len(self.hex) != 32:
            raise ValueError('badly formed hexadecimal UUID string')
        self.version = int(self.hex[12], 16)
    def __str__(self):
        h = self.hex
        return h[:8] + '-' + h[8:12] + '-' + h[12:16] + '-' + h[16:20] + '-' + h[20:]
    def __repr__(self):
        return "UUID('" + str(self) + "')"
    def __eq__(self, other):
        return str(self) == str(other)
    def __hash__(self):
        return hash(self.hex)
def __build_uuid(number, version):
    number = number & ~(0xc000 << 48) | 0x8000 << 48
    number = number & ~(0xf000 << 64) | version << 76
    text = '%x' % number
    return __Uuid('0' * (32 - len(text)) + text)
class __UuidModule:
    def UUID(self, hex):
        return __Uuid(hex)
    def uuid4(self):
        return __build_uuid(__random.getrandbits(128), 4)
    def uuid1(self):
        return __build_uuid(__random.getrandbits(128), 1)
__shim_uuid = __UuidModule()
"""

_HMAC: Final = """
import hashlib as __hashlib
def __xor_bytes(data, number):
    return bytes.fromhex(''.join(['%02x' % (byte ^ number) for byte in data]))
class __Hmac:
    def __init__(self, key, message, digest):
        name = digest if isinstance(digest, str) else digest(b'').name
        self.name = 'hmac-' + name
        self._name = name
        block = 128 if name in ('sha384', 'sha512') else 64
        key = __hashlib.new(name, key).digest() if len(key) > block else key
        self._key = key + b'\\0' * (block - len(key))
        self._message = message
    def update(self, message):
        self._message = self._message + message
    def digest(self):
        inner = __hashlib.new(self._name, __xor_bytes(self._key, 0x36) + self._message).digest()
        return __hashlib.new(self._name, __xor_bytes(self._key, 0x5c) + inner).digest()
    def hexdigest(self):
        return self.digest().hex()
class __HmacModule:
    def new(self, key, msg=b'', digestmod='sha256'):
        return __Hmac(key, msg or b'', digestmod)
    def digest(self, key, msg, digest):
        return __Hmac(key, msg, digest).digest()
    def compare_digest(self, a, b):
        return a == b
__shim_hmac = __HmacModule()
"""

_HTML: Final = """
import re as __re
__ENTITIES = {'lt': '<', 'gt': '>', 'amp': '&', 'quot': '"', 'apos': "'", 'nbsp': '\\xa0', 'copy': '\\xa9',
    'reg': '\\xae', 'hellip': '\\u2026', 'mdash': '\\u2014', 'ndash': '\\u2013', 'lsquo': '\\u2018',
    'rsquo': '\\u2019', 'ldquo': '\\u201c', 'rdquo': '\\u201d', 'bull': '\\u2022', 'middot': '\\xb7',
    'laquo': '\\xab', 'raquo': '\\xbb', 'times': '\\xd7', 'deg': '\\xb0', 'euro': '\\u20ac', 'trade': '\\u2122'}
def __read_entity(name):
    if name[:2] in ('#x', '#X'):
        return chr(int(name[2:], 16))
    if name[:1] == '#':
        return chr(int(name[1:]))
    return __ENTITIES.get(name, '&' + name + ';')
class __HtmlModule:
    def escape(self, s, quote=True):
        s = s.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')
        return s.replace('"', '&quot;').replace("'", '&#x27;') if quote else s
    def unescape(self, s):
        parts = []
        end = 0
        for match in __re.finditer('&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});', s):
            parts.append(s[end:match.start()])
            parts.append(__read_entity(match.group(1)))
            end = match.end()
        parts.append(s[end:])
        return ''.join(parts)
__shim_html = __HtmlModule()
"""

_LOGGING: Final = """
__LEVELS = {10: 'DEBUG', 20: 'INFO', 30: 'WARNING', 40: 'ERROR', 50: 'CRITICAL'}
class __Handler:
    def __init__(self, *args, **kwargs):
        self.level = 0
    def setLevel(self, level):
        self.level = level
    def setFormatter(self, formatter):
        self.formatter = formatter
class __Logger:
    def __init__(self, name, level):
        self.name = name
        self.level = level
        self.handlers = []
        self.propagate = True
    def setLevel(self, level):
        numbers = {__LEVELS[number]: number for number in __LEVELS}
        self.level = numbers.get(level, 30) if isinstance(level, str) else level
    def getEffectiveLevel(self):
        return self.level
    def isEnabledFor(self, level):
        return level >= self.level
    def addHandler(self, handler):
        self.handlers.append(handler)
    def hasHandlers(self):
        return bool(self.handlers)
    def log(self, level, message, *args, **kwargs):
        if level >= self.level:
            text = str(message) % args if args else str(message)
            print(__LEVELS.get(level, str(level)) + ':' + self.name + ':' + text)
    def debug(self, message, *args, **kwargs):
        self.log(10, message, *args)
    def info(self, message, *args, **kwargs):
        self.log(20, message, *args)
    def warning(self, message, *args, **kwargs):
        self.log(30, message, *args)
    def error(self, message, *args, **kwargs):
        self.log(40, message, *args)
    def exception(self, message, *args, **kwargs):
        self.log(40, message, *args)
    def critical(self, message, *args, **kwargs):
        self.log(50, message, *args)
class __LoggingModule:
    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40
    CRITICAL = 50
    def __init__(self):
        self._root = __Logger('root', 30)
        self._loggers = {}
    def basicConfig(self, **kwargs):
        self._root.setLevel(kwargs.get('level', 30))
    def getLogger(self, name=None):
        if not name:
            return self._root
        if name not in self._loggers:
            self._loggers[name] = __Logger(name, self._root.level)
        return self._loggers[name]
    def StreamHandler(self, *args):
        return __Handler()
    def NullHandler(self):
        return __Handler()
    def Formatter(self, *args, **kwargs):
        return __Handler()
    def debug(self, message, *args, **kwargs):
        self._root.debug(message, *args)
    def info(self, message, *args, **kwargs):
        self._root.info(message, *args)
    def warning(self, message, *args, **kwargs):
        self._root.warning(message, *args)
    def error(self, message, *args, **kwargs):
        self._root.error(message, *args)
    def exception(self, message, *args, **kwargs):
        self._root.error(message, *args)
    def critical(self, message, *args, **kwargs):
        self._root.critical(message, *args)
__shim_logging = __LoggingModule()
"""

_IO: Final = """
class __Buffer:
    def __init__(self, value, empty):
        self._value = value
        self._empty = empty
        self._position = 0
        self.closed = False
    def write(self, part):
        end = self._position + len(part)
        self._value = self._value[:self._position] + part + self._value[end:]
        self._position = end
        return len(part)
    def writelines(self, lines):
        for line in lines:
            self.write(line)
    def read(self, size=-1):
        rest = self._value[self._position:]
        part = rest if size is None or size < 0 else rest[:size]
        self._position = self._position + len(part)
        return part
    def readline(self):
        rest = self._value[self._position:]
        lines = rest.splitlines(True)
        part = lines[0] if lines else self._empty
        self._position = self._position + len(part)
        return part
    def readlines(self):
        return self.read().splitlines(True)
    def getvalue(self):
        return self._value
    def seek(self, position, whence=0):
        start = [0, self._position, len(self._value)][whence]
        self._position = max(0, start + position)
        return self._position
    def tell(self):
        return self._position
    def truncate(self, size=None):
        self._value = self._value[:self._position if size is None else size]
        return len(self._value)
    def close(self):
        self.closed = True
    def flush(self):
        pass
    def __iter__(self):
        return iter(self.readlines())
    def __enter__(self):
        return self
    def __exit__(self, kind, error, frames):
        self.closed = True
        return False
class __IoModule:
    def StringIO(self, value='', newline=None):
        return __Buffer(value or '', '')
    def BytesIO(self, value=b''):
        return __Buffer(value or b'', b'')
__shim_io = __IoModule()
"""

SHIMS: Final[Mapping[str, str]] = {
    "uuid": _UUID,
    "hmac": _HMAC,
    "html": _HTML,
    "logging": _LOGGING,
    "io": _IO,
}
