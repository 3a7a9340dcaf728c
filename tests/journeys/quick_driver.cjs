// Loaded into Playwright's driver before its own code (see conftest.py). Three things are left out here:
//
// - Each time that something isn't there yet, the driver has the whole page described, element by element, for the message of a
//   failure that mostly never comes.
// - It pauses up to half a second between two looks.
// - It has the browser tell it five times of each request, whoever listens: nine hundred messages for each look at the editor.
//   Here it asks for them when something needs them: a listener to requests or answers, a route, or a page that is offline. They
//   end with the next `goto` that nothing needs them for. So `goto`, `reload` and `expect_navigation` return no answer, unless
//   something listens: use `expect_response`.

const Module = require("module");

const NETWORK_EVENTS = new Set(["request", "response", "requestFinished", "requestFailed"]);

const CHANGES = [
  ["ariaSnapshotForExpectFailure(element, options) {", 'ariaSnapshotForExpectFailure(element, options) { return "";'],
  ["const backoffScale = [20, 50, 100, 100, 500];", "const backoffScale = [20, 50, 100];"],
  [
    'session.send("Network.enable"),\n          this._updateProtocolRequestInterceptionForSession(',
    'quickNetwork.begin(this, session),\n          this._updateProtocolRequestInterceptionForSession(',
  ],
  ["async _forEachSession(cb) {", "async _forEachSession(cb) { await quickNetwork.watch(this);"],
  ["async _navigate(frame, url3, referrer) {", "async _navigate(frame, url3, referrer) { await quickNetwork.rest(this._crPage._networkManager);"],
  // The press of a link waits for the page that it leads to. That none comes, the browser would tell by a failed request.
  [
    "page.willBeginDownload();",
    'page.willBeginDownload(); page._page.frameManager.frameAbortedNavigation(payload.frameId, "Download is starting");',
  ],
  ["async dispatch(message) {", "async dispatch(message) { await quickNetwork.hear(message, this._dispatcherByGuid.get(message.guid));"],
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

// Which pages and contexts of the driver somebody listens to, with the names of the events.
const listeners = new WeakMap();
// The driver's network managers, one a page, that the browser tells of requests: each with when it has begun to.
const watching = new WeakMap();
// When the browser tells of what was subscribed to last: whatever the test does next waits for it.
let subscribed = Promise.resolve();

globalThis.quickNetwork = {
  /** Ask the browser to tell a page or worker that has just come of its requests, if something needs them. */
  begin(manager, session) {
    if (isNeeded(manager)) watching.set(manager, Promise.resolve());
    return watching.has(manager) && session.send("Network.enable");
  },

  watch(manager) {
    if (!watching.has(manager)) watching.set(manager, tellEach(manager, "Network.enable"));
    return watching.get(manager);
  },

  async rest(manager) {
    if (isNeeded(manager) || !watching.delete(manager)) return;
    await tellEach(manager, "Network.disable");
  },

  /** Note who listens to what, before the driver itself does. */
  hear({ method, params }, dispatcher) {
    if (method !== "updateSubscription" || !dispatcher || !NETWORK_EVENTS.has(params.event)) return subscribed;
    const target = dispatcher._object;
    const names = listeners.get(target) ?? new Set();
    listeners.set(target, names);
    names[params.enabled ? "add" : "delete"](params.event);
    if (params.enabled) subscribed = Promise.all(managersOf(target).map((manager) => this.watch(manager)));
    return subscribed;
  },
};

function isNeeded(manager) {
  const page = manager._page;
  return (
    !page || // a service worker's
    isListenedTo(page) ||
    isListenedTo(page.browserContext) ||
    manager._protocolRequestInterceptionEnabled ||
    manager._offline ||
    manager._extraHTTPHeaders.length > 0
  );
}

function isListenedTo(object) {
  return (listeners.get(object)?.size ?? 0) > 0;
}

// Sessions of pages and workers that are just going can't be told any more.
async function tellEach(manager, command) {
  await Promise.all([...manager._sessions.keys()].map((session) => session.send(command).catch(() => {})));
}

// Of a page, or of all pages of a context.
function managersOf(object) {
  return (object.pages?.() ?? [object]).map((page) => page.delegate?._networkManager).filter(Boolean);
}
