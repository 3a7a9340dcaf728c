// The chat bubble for any site: <script src="https://HOST/embed.js" data-page="TOKEN" defer></script>. It stands alone: one
// classic script without imports, in a shadow root, so that neither the site's styles nor its names meet ours.
//
// Attributes of the script: data-page (the token of the page's link), data-color, data-position ("right" or "left"),
// data-label (the name of the button and of the chat), data-language ("en" or "zh-hans"), data-open (open from the start).
// window.mnemoflowChat, its only global, has open(), close() and remove().

(() => {
  const script = document.currentScript;
  const { page, color, position, label, language = "", open: opensAtOnce } = script?.dataset ?? {};
  if (!page || window.mnemoflowChat) return;

  const WORDS = { en: { chat: "Chat", close: "Close chat" }, zh: { chat: "聊天", close: "关闭聊天" } };
  const words = WORDS[(language || document.documentElement.lang || "en").slice(0, 2).toLowerCase()] ?? WORDS.en;
  const name = label || words.chat;
  const { origin } = new URL(script.src);
  const source = new URL(`/p/${encodeURIComponent(page)}/embed/`, origin);
  if (language) source.searchParams.set("language", language);

  const STYLE = `
    :host { all: initial; position: fixed; z-index: 2147483000; inset: auto 20px 20px auto; font: 16px/1.4 system-ui, sans-serif; }
    :host([data-side="left"]) { inset: auto auto 20px 20px; }
    button { display: grid; place-items: center; width: 56px; height: 56px; margin: 0; margin-inline-start: auto; padding: 0; border: 0; border-radius: 50%;
      background: var(--color, #3b4bd8); color: var(--ink, #fff); cursor: pointer; box-shadow: 0 4px 16px rgb(0 0 0 / 0.25); }
    :host([data-side="left"]) button { margin-inline: 0 auto; }
    button:focus-visible { outline: 3px solid var(--color, #3b4bd8); outline-offset: 3px; }
    svg { width: 26px; height: 26px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
    [hidden] { display: none; }
    div { width: min(390px, calc(100vw - 40px)); height: min(640px, calc(100dvh - 116px)); margin-block-end: 14px; overflow: hidden; border-radius: 14px;
      background: Canvas; box-shadow: 0 10px 40px rgb(0 0 0 / 0.3); }
    iframe { display: block; width: 100%; height: 100%; border: 0; color-scheme: light dark; }
    @media (max-width: 480px) {
      :host([data-open]) { inset: 0; display: grid; grid-template-rows: minmax(0, 1fr) auto; background: Canvas; }
      :host([data-open]) div { width: 100%; height: auto; margin: 0; border-radius: 0; box-shadow: none; }
      :host([data-open]) button { width: 44px; height: 44px; margin: 6px 12px; }
    }
    @media (prefers-reduced-motion: no-preference) { button { transition: transform 0.15s; } button:hover { transform: scale(1.05); } }
  `;
  const SHAPES = { chat: "M4 5h16v11H9l-5 4z", close: "M6 6l12 12M18 6L6 18" };

  const host = document.createElement("mnemoflow-chat");
  const root = host.attachShadow({ mode: "open" });
  const style = new CSSStyleSheet(); // no style element, which the policy of a site may forbid
  style.replaceSync(STYLE);
  root.adoptedStyleSheets = [style];
  host.dataset.side = position === "left" ? "left" : "right";
  if (color && CSS.supports("color", color)) {
    host.style.setProperty("--color", color);
    host.style.setProperty("--ink", isLight(color) ? "#111" : "#fff");
  }

  const panel = Object.assign(document.createElement("div"), { id: "panel", hidden: true });
  const button = Object.assign(document.createElement("button"), { type: "button" });
  button.setAttribute("aria-controls", "panel");
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  icon.append(path);
  button.append(icon);
  root.append(panel, button);
  let frame = null; // loaded when the chat is opened for the first time

  /** Return whether black is easier to read on the color than white. */
  function isLight(text) {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
    return 0.299 * red + 0.587 * green + 0.114 * blue > 150;
  }

  function show(isOpen) {
    panel.hidden = !isOpen;
    host.toggleAttribute("data-open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
    button.setAttribute("aria-label", isOpen ? words.close : name);
    button.title = isOpen ? words.close : name;
    path.setAttribute("d", isOpen ? SHAPES.close : SHAPES.chat);
  }

  function open() {
    if (!frame) {
      frame = Object.assign(document.createElement("iframe"), { src: source.href, title: name, allow: "clipboard-write" });
      panel.append(frame);
    }
    show(true);
    frame.focus();
  }

  function close() {
    const hadFocus = root.activeElement !== null;
    show(false);
    if (hadFocus) button.focus();
  }

  function onMessage(event) {
    if (event.origin === origin && event.source === frame?.contentWindow && event.data === "mnemoflow:close") close();
  }

  function remove() {
    window.removeEventListener("message", onMessage);
    host.remove();
    delete window.mnemoflowChat;
  }

  button.addEventListener("click", () => (panel.hidden ? open() : close()));
  root.addEventListener("keydown", (event) => event.key === "Escape" && !panel.hidden && close());
  window.addEventListener("message", onMessage);
  show(false);
  document.body.append(host);
  if (opensAtOnce !== undefined) open();
  window.mnemoflowChat = Object.freeze({ open, close, remove });
})();
