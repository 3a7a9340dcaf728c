"""Hostile programs, for the tests and for ``manage.py doctor``. Each defines ``main()`` and means harm.

An escape tries to bring back a canary: from the environment, a file, the parent, a listener, or by
walking its own interpreter to where such things are kept. ``{file}``, ``{port}``, ``{parent}`` and
``{write}`` are filled in by who runs them. A resource attack tries to cost more than it may.
"""

from typing import Final


def _body(*lines: str) -> str:
    return "def main():\n" + "".join(f"    {line}\n" for line in lines)


ESCAPES: Final[dict[str, str]] = {
    "environment": "import os\n" + _body("return {'r': str(dict(os.environ))}"),
    "getenv": "import os\n" + _body("return {'r': os.getenv('CODE_CANARY')}"),
    "open": _body("return {'r': open('{file}').read()}"),
    "open traversal": _body("return {'r': open('/../../../..{file}').read()}"),
    "pathlib": "import pathlib\n" + _body("return {'r': pathlib.Path('{file}').read_text()}"),
    "own environment file": _body("return {'r': open('/proc/self/environ').read()}"),
    "environment of the parent": _body("return {'r': open('/proc/{parent}/environ').read()}"),
    "subclass walk": _body(
        "for c in ().__class__.__base__.__subclasses__():",
        "    if c.__name__ == '_wrap_close':",
        "        return {'r': str(c.__init__.__globals__['environ'])}",
    ),
    "traceback frame": _body(
        "try:",
        "    1 / 0",
        "except Exception as e:",
        "    return {'r': str(e.__traceback__.tb_frame.f_back.f_globals)}",
    ),
    "generator frame": "def g():\n    yield 1\n"
    + _body("return {'r': str(g().gi_frame.f_back.f_globals)}"),
    "format walk": _body("return {'r': '{0.__globals__}'.format(main)}"),
    "format class walk": _body("return {'r': '{0.__class__.__base__.__subclasses__}'.format('')}"),
    "attribute error object": _body(
        "try:",
        "    main.nothing",
        "except AttributeError as e:",
        "    return {'r': str(e.obj.__globals__)}",
    ),
    "module graph of json": "import json\n"
    + _body("return {'r': str(json.codecs.open('{file}').read())}"),
    "module graph of re": "import re\n"
    + _body("return {'r': re.enum.sys.modules['os'].environ['CODE_CANARY']}"),
    "homoglyph import": _body("return {'r': str(__ｉmport__('os').environ['CODE_CANARY'])}"),
    "ctypes": "import ctypes\n" + _body("return {'r': ctypes.CDLL(None).getenv(b'CODE_CANARY')}"),
    "socket": "import socket\n"
    + _body("return {'r': socket.create_connection(('127.0.0.1', {port})).recv(99)}"),
    "abstract socket": "import socket\n"
    + _body(
        "s = socket.socket(socket.AF_UNIX)", "s.connect('\\0mnemoflow')", "return {'r': s.recv(99)}"
    ),
    "subprocess": "import subprocess\n" + _body("return {'r': subprocess.check_output(['env'])}"),
    "os.system": "import os\n" + _body("return {'r': os.system('cat {file}')}"),
    "signal parent": "import os\n" + _body("os.kill({parent}, 9)", "return {'r': 'killed'}"),
    "host write": _body("f = open('{write}', 'w')", "f.write('x')", "return {'r': 'written'}"),
    "pickle": "import pickle\n"
    + _body("return {'r': pickle.loads(b\"cos\\nsystem\\n(S'env'\\ntR.\")}"),
    "eval import": _body("return {'r': eval(\"__import__('os').environ['CODE_CANARY']\")}"),
    "exec import": _body(
        "d = {}", "exec(\"import os; r = os.environ['CODE_CANARY']\", d)", "return {'r': d['r']}"
    ),
    "three-argument type": _body("return {'r': str(type('X', (object,), {}).__subclasses__)}"),
    "guard shadowing": _body(
        "open = lambda *a: 0", "import builtins", "return {'r': builtins.open('{file}').read()}"
    ),
}

RESOURCES: Final[dict[str, str]] = {
    "endless loop": _body("while True: pass"),
    "loop that swallows": _body(
        "while True:", "    try:", "        while True: pass", "    except BaseException: pass"
    ),
    "big power": _body("return {'r': str(9 ** 9 ** 9)[:3]}"),
    "bigint chain": _body("x = 3", "while True: x = x * x"),
    "string of a million millions": _body("return {'r': len('a' * 10 ** 12)}"),
    "list of a million millions": _body("return {'r': len([0] * 10 ** 12)}"),
    "small objects": _body("a = []", "while True: a.append([1, 2, 3])"),
    "dictionary flood": _body("d = {}", "i = 0", "while True:", "    d[i] = str(i)", "    i += 1"),
    "recursion": "def f(n): return f(n + 1)\n" + _body("return {'r': f(0)}"),
    "mutual recursion": "def a(n): return b(n)\ndef b(n): return a(n)\n"
    + _body("return {'r': a(0)}"),
    "parentheses": "x = " + "(" * 50_000 + "1" + ")" * 50_000 + "\n" + _body("return {'r': x}"),
    "brackets": "x = " + "[" * 50_000 + "]" * 50_000 + "\n" + _body("return {'r': 1}"),
    "unary chain": "x = " + "-" * 100_000 + "1\n" + _body("return {'r': x}"),
    "attribute chain": "def f():\n    return x" + ".a" * 60_000 + "\n" + _body("return {'r': f()}"),
    "regular expression": "import re\n"
    + _body("return {'r': str(re.match('(a+)+$', 'a' * 40 + 'b'))}"),
    "regular expression of choices": "import re\n"
    + _body("return {'r': str(re.match('(a|a)*$', 'a' * 40 + 'b'))}"),
    "integer to text": _body("return {'r': len(str(7 ** 5_000_000))}"),
    "forks": "import os\n" + _body("for _ in range(200): os.fork()", "return {'r': 1}"),
    "threads": "import threading\n"
    + _body("for _ in range(500): threading.Thread().start()", "return {'r': 1}"),
    "disk": _body("f = open('{write}', 'w')", "while True: f.write('x' * 1_000_000)"),
    "output": _body("while True: print('x' * 10_000)"),
    "sleep": "import time\n" + _body("while True: time.sleep(3600)"),
    "self-referential result": _body("a = []", "a.append(a)", "return {'r': a}"),
    "deep result": _body("a = []", "for _ in range(100_000): a = [a]", "return {'r': a}"),
    "large result": _body("return {'r': ['x' * 1_000_000] * 200}"),
    "wide result": _body("return {'r': list(range(5_000_000))}"),
    "replace amplification": _body(
        "s = 'a' * 10_000", "return {'r': len(s.replace('a', s).replace('a', s))}"
    ),
    "width": _body("return {'r': len('{:>2000000000}'.format('x'))}"),
    "justify": _body("return {'r': len('x'.ljust(2_000_000_000))}"),
    "hash flood": _body(
        "d = {}", "for i in range(10 ** 9): d[i * (2 ** 61 - 1)] = 1", "return {'r': 1}"
    ),
    "sum of a long range": _body("return {'r': sum(range(10 ** 13))}"),
    "product": "import itertools\n"
    + _body("return {'r': len(list(itertools.product(range(99), repeat=9)))}"),
    "sorting": _body("return {'r': len(sorted([str(i) for i in range(10 ** 9)]))}"),
    "deep JSON": "import json\n" + _body("return {'r': str(json.loads('[' * 1_000_000))}"),
    "import of itself": _body("exec('main()')", "return {'r': 1}"),
    "module level loop": "while True: pass\n",
}
