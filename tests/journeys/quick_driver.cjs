// Loaded into Playwright's driver before its own code (see conftest.py). Each time that something isn't there yet, the driver has
// the whole page described, element by element, for the message of a failure that mostly never comes; and it pauses up to half a
// second between two looks. Both are left out here.

const Module = require("module");

const CHANGES = [
  ["ariaSnapshotForExpectFailure(element, options) {", 'ariaSnapshotForExpectFailure(element, options) { return "";'],
  ["const backoffScale = [20, 50, 100, 100, 500];", "const backoffScale = [20, 50, 100];"],
];

const compile = Module.prototype._compile;
Module.prototype._compile = function (content, filename, ...rest) {
  const isDriver = filename.endsWith("coreBundle.js");
  return compile.call(this, isDriver ? CHANGES.reduce(changeOnce, content) : content, filename, ...rest);
};

function changeOnce(content, [before, after]) {
  if (content.split(before).length !== 2) throw new Error(`The driver of this version of Playwright has no single ${before}`);
  return content.replace(before, () => after);
}
