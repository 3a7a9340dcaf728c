// Syntax highlighting for small languages: a table of patterns for each, tried in order at each position. The result is a
// list of [text, class].

const STRING = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
const PYTHON_WORDS = "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|match|case";
const PYTHON_NAMES = "abs|all|any|bool|dict|enumerate|float|int|isinstance|len|list|map|max|min|print|range|round|set|sorted|str|sum|tuple|type|zip";

const LANGUAGES = {
  python: [
    ["comment", String.raw`#[^\n]*`],
    ["string", String.raw`[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|${STRING})`],
    ["decorator", String.raw`@[\w.]+`],
    ["number", String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.[\d_]+)?(?:[eE][+-]?\d+)?)\b`],
    ["keyword", String.raw`\b(?:${PYTHON_WORDS})\b`],
    ["builtin", String.raw`\b(?:${PYTHON_NAMES})\b(?=\s*\()`],
    ["name", String.raw`\b[A-Za-z_]\w*\b`],
  ],
  json: [
    ["key", String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)`],
    ["string", String.raw`"(?:\\.|[^"\\\n])*"?`],
    ["number", String.raw`-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`],
    ["keyword", String.raw`\b(?:true|false|null)\b`],
  ],
  jinja: [
    ["comment", String.raw`\{#[\s\S]*?(?:#\}|$)`],
    ["tag", String.raw`\{%[\s\S]*?(?:%\}|$)`],
    ["expression", String.raw`\{\{[\s\S]*?(?:\}\}|$)`],
  ],
  template: [
    ["reference", String.raw`\{\{#[^#{}\n]{1,200}#\}\}`],
    ["unclosed", String.raw`\{\{#[\w.]*`],
  ],
};

const COMPILED = new Map(Object.entries(LANGUAGES).map(([name, rules]) => [name, new RegExp(rules.map(([, pattern]) => `(${pattern})`).join("|"), "g")]));

export function tokenize(text, language) {
  const rules = LANGUAGES[language];
  const tokens = [];
  let end = 0;
  for (const match of text.matchAll(COMPILED.get(language))) {
    if (match.index > end) tokens.push([text.slice(end, match.index), ""]);
    tokens.push([match[0], rules[match.slice(1).findIndex((group) => group !== undefined)][0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) tokens.push([text.slice(end), ""]);
  return tokens;
}
