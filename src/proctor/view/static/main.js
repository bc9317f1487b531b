// Which page an address means, and the keys that every page has.

import { h, problem, replace } from "./dom.js";

const ROUTES = [
  [/^\/$/, () => import("./runs.js")],
  [/^\/run\/([^/]+)$/, () => import("./run.js")],
  [/^\/run\/([^/]+)\/trials$/, () => import("./trials.js")],
  [/^\/run\/([^/]+)\/trial$/, () => import("./trial.js")],
  [/^\/run\/([^/]+)\/side$/, () => import("./side.js")],
  [/^\/(compare|leaderboard|report|file)$/, () => import("./framed.js")],
];
const EVERYWHERE = [["?", "these keys"], ["g r", "all runs"], ["Esc", "close, or back to the list"]];

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let current = null;
let generation = 0;

/** Go to an address of the viewer without loading it anew. */
export function go(url, instead = false) {
  history[instead ? "replaceState" : "pushState"](null, "", url);
  show();
}

async function show() {
  const own = (generation += 1);
  if (current) current.abort.abort();
  const abort = new AbortController();
  current = { abort, keys: {}, listed: [] };
  const found = ROUTES.map(([pattern, load]) => [location.pathname.match(pattern), load]).find(([match]) => match);
  const page = {
    name: found && found[0][1] ? decodeURIComponent(found[0][1]) : "",
    query: new URLSearchParams(location.search),
    signal: abort.signal,
    main,
    go,
    live: () => own === generation,
    links: (...links) => replace(nav, links.map(([text, url]) => h("a", { href: url, "aria-current": url === location.pathname ? "page" : null }, text))),
    keys: (listed) => {
      current.listed = listed.map(([key, words]) => [key, words]);
      for (const [key, , act] of listed) for (const one of key.split(" / ")) current.keys[one] = act;
    },
  };
  replace(nav);
  try {
    if (!found) throw new Error(`there is no page ${location.pathname}; all runs are at /`);
    const module = await found[1]();
    if (own !== generation) return;
    await module.show(page);
  } catch (error) {
    if (error.name !== "AbortError" && own === generation) replace(main, problem(error), h("p", {}, h("a", { href: "/" }, "All runs")));
  }
  if (own === generation) main.dataset.ready = location.pathname + location.search;
}

addEventListener("popstate", show);

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || link.target || link.hasAttribute("download") || /^\/(runs|pages|api|static)\//.test(url.pathname)) return;
  if (url.hash && url.pathname === location.pathname) return;
  event.preventDefault();
  go(url.pathname + url.search);
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
});

const dialog = document.getElementById("keys");

function help() {
  const rows = [...(current ? current.listed : []), ...EVERYWHERE];
  replace(dialog, h("h2", {}, "Keys"),
    h("dl", { class: "keys" }, rows.map(([key, words]) => h("div", {}, h("dt", {}, key.split(" / ").map((one) => h("kbd", {}, one))), h("dd", {}, words)))),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  dialog.showModal();
}

document.getElementById("help").addEventListener("click", help);

let before = "";
addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (event.metaKey || event.ctrlKey || event.altKey || dialog.open) return;
  if (typing) {
    if (event.key === "Escape") typing.blur();
    return;
  }
  const key = event.key === " " ? "Space" : event.key;
  if (key === "Enter" && event.target.closest("a, button, summary")) return;
  if (key === "Space" && event.target.closest("button, summary, video, input")) return;
  if (key === "?") help();
  else if (before === "g" && key === "r") go("/");
  else if (current && current.keys[key]) current.keys[key](event);
  else { before = key; return; }
  before = "";
  event.preventDefault();
});

show();
