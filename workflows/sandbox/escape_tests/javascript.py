"""Hostile programs in JavaScript. Their canary is the same as that of the programs in Python."""

from typing import Final


def _build_main(*lines: str) -> str:
    return "function main() {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _try_all(*expressions: str) -> str:
    """Return a program that evaluates every expression, and returns whatever one of them gives."""
    lines = [
        f"try {{ r.push(String({expression})) }} catch (e) {{ r.push(String(e)) }}"
        for expression in expressions
    ]
    return _build_main("const r = [];", *lines, "return {r};")


ESCAPES: Final[dict[str, str]] = {
    "process": _try_all("process.env.CODE_CANARY", "process.binding('fs')"),
    "require": _try_all("require('fs').readFileSync('{file}', 'utf8')", "require('child_process').execSync('env')"),
    "modules of the engine": _try_all("std.getenv('CODE_CANARY')", "std.loadFile('{file}')", "os.exec(['env'])"),
    "constructor walk": _try_all(
        "(() => {}).constructor.constructor('return process')().env",
        "this.constructor.constructor('return std')().getenv('CODE_CANARY')",
        "Function('return this')().std.loadFile('{file}')",
    ),
    "import": (
        "async function main() {\n  const r = [];\n"
        "  for (const name of ['std', 'os', 'fs', 'qjs:std', 'qjs:os', '{file}', 'data:text/javascript,1']) {\n"
        "    try { r.push(JSON.stringify(Object.keys(await import(name)))) } catch (e) { r.push(String(e)) }\n"
        "  }\n  return {r};\n}\n"
    ),
    "network": _try_all(
        "fetch('http://127.0.0.1:{port}/')", "new XMLHttpRequest()", "new WebSocket('ws://127.0.0.1:{port}')"
    ),
    "load": _try_all("load('{file}')", "read('{file}')", "loadScript('{file}')", "print('x')"),
    "workers": _try_all("new Worker('{file}')", "new SharedArrayBuffer(1 << 30).byteLength"),
    "collector's hooks": _try_all(
        "new FinalizationRegistry(() => main()).register({}, 1)", "new WeakRef({}).deref()", "gc()"
    ),
    "prepared stack": _build_main(
        "Error.prepareStackTrace = (e, frames) => frames.map((f) => f.getThis && String(f.getThis())).join();",
        "try { null.x } catch (e) { return {r: String(e.stack)} }",
    ),
    "prototypes of the call": (
        "JSON.stringify = () => '{}'; Promise = null; globalThis.console = null;\n"
        "Object.prototype.toJSON = () => globalThis;\nfunction main() { return {r: 1}; }\n"
    ),
    "getter of the result": _build_main("return {get r() { return main.caller + '' + arguments.callee; }};"),
    "broken array": _build_main(
        "const a = [1.1, 2.2, 3.3];",
        "const e = {valueOf() { a.length = 0; return 1e6; }};",
        "return {r: [a.slice(0, e).length, a.lastIndexOf(1.1, e), a.fill(0, e).length]};",
    ),
    "detached buffer": _build_main(
        "const b = new ArrayBuffer(1024), v = new Uint8Array(b);",
        "try { b.transfer(0) } catch (e) {}",
        "const e = {valueOf() { try { b.transfer(0) } catch (x) {} return 1; }};",
        "v.set([1, 2, 3], e); v.fill(e); new DataView(new ArrayBuffer(8)).setFloat64(0, e);",
        "return {r: [v.length, v[100]]};",
    ),
    "sort that changes its array": _build_main(
        "const a = Array.from({length: 2000}, (_, i) => i);",
        "a.sort((x, y) => { a.length = 3; a.push(x); return y - x; });",
        "return {r: a.length};",
    ),
    "proxies": _build_main(
        "const p = new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 40 : globalThis, has: () => true});",
        "return {r: Array.prototype.indexOf.call({length: 3}, p), j: JSON.stringify([1], [p]).length};",
    ),
}  # fmt: skip

RESOURCES: Final[dict[str, str]] = {
    "endless loop": _build_main("while (true) {}"),
    "loop that swallows": _build_main("while (true) { try { while (true) {} } catch (e) {} }"),
    "endless promise": "function main() { const f = () => Promise.resolve().then(f); return f(); }\n",
    "promise that nobody fulfills": "function main() { return new Promise(() => {}); }\n",
    "small objects": _build_main("const a = []; while (true) a.push({x: [1, 2, 3]});"),
    "string doubling": _build_main("let s = 'x'; while (true) s += s;"),
    "repeat": _build_main("return {r: 'x'.repeat(2 ** 29).length};"),
    "buffers": _build_main("const a = []; while (true) a.push(new Uint8Array(1 << 24).fill(1));"),
    "recursion": _build_main("return main();"),
    "recursion of replacers": _build_main("'a'.replace(/a/, main); JSON.stringify({toJSON: main}); return 1;"),
    "parentheses": "const x = " + "(" * 50_000 + "1" + ")" * 50_000 + ";\n" + _build_main("return {r: x};"),
    "brackets": "const x = " + "[" * 50_000 + "]" * 50_000 + ";\n" + _build_main("return {r: 1};"),
    "regular expression": _build_main("return {r: /(a+)+$/.test('a'.repeat(40) + 'b')};"),
    "big power": _build_main("return {r: String(9n ** (9n ** 8n)).length};"),
    "bigint chain": _build_main("let x = 3n; while (true) x = x * x;"),
    "sparse array": _build_main("const a = []; a[4294967294] = 1; return {r: a.join().length};"),
    "sort of a long list": _build_main("return {r: Array.from({length: 1e9}, (_, i) => -i).sort().length};"),
    "output": _build_main("while (true) console.log('x'.repeat(10000));"),
    "deep result": _build_main("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return {r: a};"),
    "large result": _build_main("return {r: Array(200).fill('x'.repeat(1e6))};"),
    "self-referential result": _build_main("const a = []; a.push(a); return {r: a};"),
    "module level loop": "while (true) {}\n",
    "getter that loops": _build_main("return {get r() { while (true) {} }};"),
}  # fmt: skip
