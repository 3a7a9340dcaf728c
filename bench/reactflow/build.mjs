// node build.mjs MODULES OUT: one bundle of the peer, as its users would ship it.
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2).map((given) => path.resolve(given));
const here = path.dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(path.join(modules, "anything.js"))("esbuild");

await esbuild.build({
  entryPoints: [path.join(here, "app.jsx")],
  outfile: path.join(out, "app.js"),
  bundle: true,
  minify: true,
  format: "esm",
  jsx: "automatic",
  nodePaths: [modules],
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "error",
});
