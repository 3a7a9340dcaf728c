"""Hostile programs, for the tests and for ``manage.py doctor``. Most define ``main()``.

An escape tries to return a canary: from the environment, a file, the parent process, a listener, or through objects of
its interpreter. The caller fills in ``{file}``, ``{port}``, ``{parent}`` and ``{write}``. A resource attack tries to
use more time, memory or space than allowed.
"""

from typing import Final


def _build_main(*lines: str) -> str:
    return "def main():\n" + "".join(f"    {line}\n" for line in lines)


ESCAPES: Final[dict[str, str]] = {
    "environment": "import os\n" + _build_main("return {'r': str(dict(os.environ))}"),
    "getenv": "import os\n" + _build_main("return {'r': os.getenv('CODE_CANARY')}"),
    "open": _build_main("return {'r': open('{file}').read()}"),
    "open traversal": _build_main("return {'r': open('/../../../..{file}').read()}"),
    "pathlib": "import pathlib\n" + _build_main("return {'r': pathlib.Path('{file}').read_text()}"),
    "own environment file": _build_main("return {'r': open('/proc/self/environ').read()}"),
    "environment of the parent": _build_main("return {'r': open('/proc/{parent}/environ').read()}"),
    "subclass walk": _build_main(
        "for c in ().__class__.__base__.__subclasses__():",
        "    if c.__name__ == '_wrap_close':",
        "        return {'r': str(c.__init__.__globals__['environ'])}",
    ),
    "traceback frame": _build_main(
        "try:",
        "    1 / 0",
        "except Exception as e:",
        "    return {'r': str(e.__traceback__.tb_frame.f_back.f_globals)}",
    ),
    "generator frame": "def g():\n    yield 1\n"
    + _build_main("return {'r': str(g().gi_frame.f_back.f_globals)}"),
    "format walk": _build_main("return {'r': '{0.__globals__}'.format(main)}"),
    "format class walk": _build_main(
        "return {'r': '{0.__class__.__base__.__subclasses__}'.format('')}"
    ),
    "attribute error object": _build_main(
        "try:",
        "    main.nothing",
        "except AttributeError as e:",
        "    return {'r': str(e.obj.__globals__)}",
    ),
    "module graph of json": "import json\n"
    + _build_main("return {'r': str(json.codecs.open('{file}').read())}"),
    "module graph of re": "import re\n"
    + _build_main("return {'r': re.enum.sys.modules['os'].environ['CODE_CANARY']}"),
    "homoglyph import": _build_main("return {'r': str(__ｉmport__('os').environ['CODE_CANARY'])}"),
    "ctypes": "import ctypes\n"
    + _build_main("return {'r': ctypes.CDLL(None).getenv(b'CODE_CANARY')}"),
    "socket": "import socket\n"
    + _build_main("return {'r': socket.create_connection(('127.0.0.1', {port})).recv(99)}"),
    "abstract socket": "import socket\n"
    + _build_main(
        "s = socket.socket(socket.AF_UNIX)", "s.connect('\\0mnemoflow')", "return {'r': s.recv(99)}"
    ),
    "subprocess": "import subprocess\n"
    + _build_main("return {'r': subprocess.check_output(['env'])}"),
    "os.system": "import os\n" + _build_main("return {'r': os.system('cat {file}')}"),
    "signal parent": "import os\n" + _build_main("os.kill({parent}, 9)", "return {'r': 'killed'}"),
    "host write": _build_main(
        "f = open('{write}', 'w')", "f.write('x')", "return {'r': 'written'}"
    ),
    "pickle": "import pickle\n"
    + _build_main("return {'r': pickle.loads(b\"cos\\nsystem\\n(S'env'\\ntR.\")}"),
    "eval import": _build_main("return {'r': eval(\"__import__('os').environ['CODE_CANARY']\")}"),
    "exec import": _build_main(
        "d = {}", "exec(\"import os; r = os.environ['CODE_CANARY']\", d)", "return {'r': d['r']}"
    ),
    "three-argument type": _build_main(
        "return {'r': str(type('X', (object,), {}).__subclasses__)}"
    ),
    "guard shadowing": _build_main(
        "open = lambda *a: 0", "import builtins", "return {'r': builtins.open('{file}').read()}"
    ),
}

RESOURCES: Final[dict[str, str]] = {
    "endless loop": _build_main("while True: pass"),
    "loop that swallows": _build_main(
        "while True:", "    try:", "        while True: pass", "    except BaseException: pass"
    ),
    "big power": _build_main("return {'r': str(9 ** 9 ** 9)[:3]}"),
    "bigint chain": _build_main("x = 3", "while True: x = x * x"),
    "string of a million millions": _build_main("return {'r': len('a' * 10 ** 12)}"),
    "list of a million millions": _build_main("return {'r': len([0] * 10 ** 12)}"),
    "small objects": _build_main("a = []", "while True: a.append([1, 2, 3])"),
    "dictionary flood": _build_main(
        "d = {}", "i = 0", "while True:", "    d[i] = str(i)", "    i += 1"
    ),
    "recursion": "def f(n): return f(n + 1)\n" + _build_main("return {'r': f(0)}"),
    "mutual recursion": "def a(n): return b(n)\ndef b(n): return a(n)\n"
    + _build_main("return {'r': a(0)}"),
    "parentheses": "x = "
    + "(" * 50_000
    + "1"
    + ")" * 50_000
    + "\n"
    + _build_main("return {'r': x}"),
    "brackets": "x = " + "[" * 50_000 + "]" * 50_000 + "\n" + _build_main("return {'r': 1}"),
    "unary chain": "x = " + "-" * 100_000 + "1\n" + _build_main("return {'r': x}"),
    "attribute chain": "def f():\n    return x"
    + ".a" * 60_000
    + "\n"
    + _build_main("return {'r': f()}"),
    "regular expression": "import re\n"
    + _build_main("return {'r': str(re.match('(a+)+$', 'a' * 40 + 'b'))}"),
    "regular expression of choices": "import re\n"
    + _build_main("return {'r': str(re.match('(a|a)*$', 'a' * 40 + 'b'))}"),
    "integer to text": _build_main("return {'r': len(str(7 ** 5_000_000))}"),
    "forks": "import os\n" + _build_main("for _ in range(200): os.fork()", "return {'r': 1}"),
    "threads": "import threading\n"
    + _build_main("for _ in range(500): threading.Thread().start()", "return {'r': 1}"),
    "disk": _build_main("f = open('{write}', 'w')", "while True: f.write('x' * 1_000_000)"),
    "output": _build_main("while True: print('x' * 10_000)"),
    "sleep": "import time\n" + _build_main("while True: time.sleep(3600)"),
    "self-referential result": _build_main("a = []", "a.append(a)", "return {'r': a}"),
    "deep result": _build_main("a = []", "for _ in range(100_000): a = [a]", "return {'r': a}"),
    "large result": _build_main("return {'r': ['x' * 1_000_000] * 200}"),
    "wide result": _build_main("return {'r': list(range(5_000_000))}"),
    "replace amplification": _build_main(
        "s = 'a' * 10_000", "return {'r': len(s.replace('a', s).replace('a', s))}"
    ),
    "width": _build_main("return {'r': len('{:>2000000000}'.format('x'))}"),
    "justify": _build_main("return {'r': len('x'.ljust(2_000_000_000))}"),
    "hash flood": _build_main(
        "d = {}", "for i in range(10 ** 9): d[i * (2 ** 61 - 1)] = 1", "return {'r': 1}"
    ),
    "sum of a long range": _build_main("return {'r': sum(range(10 ** 13))}"),
    "product": "import itertools\n"
    + _build_main("return {'r': len(list(itertools.product(range(99), repeat=9)))}"),
    "sorting": _build_main("return {'r': len(sorted([str(i) for i in range(10 ** 9)]))}"),
    "deep JSON": "import json\n" + _build_main("return {'r': str(json.loads('[' * 1_000_000))}"),
    "import of itself": _build_main("exec('main()')", "return {'r': 1}"),
    "module level loop": "while True: pass\n",
}
