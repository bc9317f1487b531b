// Small helpers: elements, numbers in words, and what the server says. Text only ever becomes text nodes.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "css") for (const [key, own] of Object.entries(value)) node.style.setProperty(key, own);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** An element with properties and children; strings are text. */
export const h = (tag, props, ...children) => filled(document.createElement(tag), props, children);

/** The same in SVG. */
export const s = (tag, props, ...children) => filled(document.createElementNS(SVG, tag), props, children);

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** JSON from the server; throws an Error with the sentence that the server says. */
export async function api(path, signal) {
  const answer = await fetch(path, { signal, headers: { Accept: "application/json" } });
  const data = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(data.error || `the server answered ${answer.status}`);
  return data;
}

/** A JSON text and a block of float32 numbers. */
export async function packed(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `the server answered ${answer.status}`);
  const buffer = await answer.arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { head, numbers: new Float32Array(buffer, 4 + length) };
}

export const runUrl = (run, rest = "") => `/run/${encodeURIComponent(run)}${rest}`;
export const apiUrl = (run, rest = "") => `/api/runs/${encodeURIComponent(run)}${rest}`;
export const fileUrl = (run, path) => `/runs/${encodeURIComponent(run)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

export function trialUrl(run, key, query = "") {
  const given = new URLSearchParams(query);
  given.delete("trial");
  given.delete("grid");
  const rest = given.toString();
  return runUrl(run, `/trial?trial=${encodeURIComponent(key)}${rest ? `&${rest}` : ""}`);
}

const NONE = "–";

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace("-", "\u2212").replace("e\u2212", "e\u2212").replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "\u2212");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 8 }).replace("-", "\u2212");
}

// As Python rounds: what lies exactly in the middle goes to the even digit.
function rounded(size, digits) {
  const words = size.toFixed(digits);
  const middle = /^50*$/.test(size.toFixed(100).split(".")[1].slice(digits));
  return middle && Number(words.at(-1)) % 2 ? (Number(words) - 10 ** -digits).toFixed(digits) : words;
}

/** A share from 0 to 1 as the report writes it: one decimal where whole percents would hide that it is neither 0 nor 100. */
export function percent(value) {
  if (value === null || value === undefined) return NONE;
  const whole = rounded(100 * value, 0);
  const hides = (whole === "0" && value > 1e-12) || (whole === "100" && value < 1);
  return `${hides ? rounded(100 * value, 1) : whole} %`;
}

export const count = (n, word, more = `${word}s`) => `${n.toLocaleString("en")} ${n === 1 ? word : more}`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  if (seconds < 60) return `${number(seconds, 2)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours ? `${hours} h ${String(minutes).padStart(2, "0")} min` : `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
}

export function when(seconds) {
  if (!seconds) return NONE;
  const date = new Date(1000 * seconds);
  const day = date.toLocaleDateString("en-CA");
  return `${day} ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

export function bytes(value) {
  if (!value) return NONE;
  return value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : `${Math.round(value / 2 ** 20)} MiB`;
}

const SHAPES = {
  success: "M2 7.5 5.5 11 12 3.5",
  failure: "M3 3 11 11 M11 3 3 11",
  truncated: "M3 7h8",
  done: "M7 7h.01",
  invalid_action: "M7 2.5v5.5 M7 11.2v.1",
  policy_error: "M7 2.5v5.5 M7 11.2v.1",
};

/** An outcome as a shape and a word, so that colour is never all there is. */
export function outcome(kind, short = false) {
  const known = SHAPES[kind] ? kind : "fault";
  const mark = s("svg", { class: `shape o-${known}`, viewBox: "0 0 14 14", "aria-hidden": "true" },
    s("path", { d: SHAPES[kind] || "M7 2 12.5 11.5 1.5 11.5Z" }));
  return h("span", { class: `outcome o-${known}`, title: kind }, mark, short ? h("span", { class: "sr" }, kind) : kind.replaceAll("_", " "));
}

const STATES = { running: "running", done: "done", stopped: "stopped", ended: "ended", quiet: "quiet", unreadable: "unreadable", gone: "gone" };

export const state = (run) => h("span", { class: `state s-${STATES[run.state] || "stopped"}`, title: run.why || null }, STATES[run.state] || run.state);

/** A value with its interval on a track from `low` to `high`. */
export function track(estimate, low, high, label) {
  const width = 120, place = (value) => 4 + (width - 8) * Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
  const svg = s("svg", { class: "track", viewBox: `0 0 ${width} 14`, role: "img", "aria-label": label },
    s("line", { class: "rail", x1: 4, x2: width - 4, y1: 7, y2: 7 }));
  if (!estimate || estimate.value === null) return svg;
  if (estimate.interval) svg.append(s("line", { class: "interval", x1: place(estimate.interval[0]), x2: place(estimate.interval[1]), y1: 7, y2: 7 }));
  svg.append(s("circle", { class: "dot", cx: place(estimate.value), cy: 7, r: 3.6 }));
  return svg;
}

export const progress = (done, planned, label) =>
  h("span", { class: "progress", role: "img", "aria-label": label || `${done} of ${planned}` },
    h("span", { css: { width: `${planned ? Math.min(100, (100 * done) / planned) : 0}%` } }));

/** A table that scrolls sideways where it is wider than the page, and says so there. */
export function wide(table) {
  const box = h("div", { class: "scroll" }, table);
  const hint = h("p", { class: "sideways", hidden: true }, "scrolls sideways →");
  const look = () => requestAnimationFrame(() => { hint.hidden = box.scrollWidth <= box.clientWidth; });
  const sized = new ResizeObserver(look);
  sized.observe(box);
  sized.observe(table);
  return h("div", { class: "wider" }, hint, box);
}

export const problem = (error) => h("p", { class: "problem", role: "alert" }, error.message || String(error));

/** A text that can be copied. */
export function copyable(text) {
  const button = h("button", { type: "button", class: "quiet", onclick: async () => {
    await navigator.clipboard.writeText(text).catch(() => null);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  } }, "copy");
  return h("span", { class: "copyable" }, h("code", {}, text), button);
}

export function titled(text) {
  document.title = text ? `${text} · Proctor` : "Proctor";
}
