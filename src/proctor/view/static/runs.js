// All runs below the folders: search, sort, choose some to compare.

import { api, count, duration, h, problem, progress, replace, runUrl, state, titled, when, wide } from "./dom.js";

const SORTS = {
  when: (run) => -(run.made_at || 0),
  name: (run) => (run.name || run.id).toLowerCase(),
  state: (run) => run.state,
  n: (run) => -(run.done || 0),
};

export async function show(page) {
  titled("Runs");
  const chosen = new Set();
  let data = await api("/api/runs", page.signal);
  if (!page.live()) return;
  let sort = "when";
  const search = h("input", { type: "search", placeholder: "Search runs, agents, tasks", "aria-label": "Search runs", value: page.query.get("q") || "", oninput: draw });
  const body = h("tbody", {});
  const actions = h("div", { class: "actions", hidden: true });
  const said = h("p", { class: "soft", "aria-live": "polite" });
  const header = (key, words, cls) => h("th", { scope: "col", class: cls }, h("button", { type: "button", class: "sort", "data-sort": key, onclick: () => { sort = key; draw(); } }, words));

  function matches(run) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = [run.id, run.name, run.state, run.scoring, ...(run.agents || []), ...(run.tasks || [])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function choose(id, on) {
    if (on) chosen.add(id);
    else chosen.delete(id);
    const query = [...chosen].map((one) => `run=${encodeURIComponent(one)}`).join("&");
    actions.hidden = !chosen.size;
    replace(actions, h("span", { class: "soft" }, count(chosen.size, "run"), " chosen"),
      h("a", { class: "button", href: `/compare?${query}` }, "Compare"),
      h("a", { class: "button", href: `/leaderboard?${query}` }, "Leaderboard"),
      h("button", { type: "button", class: "quiet", onclick: () => { chosen.clear(); choose("", false); draw(); } }, "Clear"));
  }

  function row(run) {
    const broken = run.state === "unreadable";
    const best = run.best && run.best.text;
    return h("tr", { "data-run": run.id },
      h("td", { class: "pick" }, broken ? null : h("input", { type: "checkbox", "aria-label": `choose ${run.id}`, checked: chosen.has(run.id), onchange: (event) => choose(run.id, event.target.checked) })),
      h("th", { scope: "row" }, broken ? h("span", {}, run.id) : h("a", { href: runUrl(run.id) }, run.name),
        h("span", { class: "sub" }, broken ? run.why : run.id)),
      h("td", {}, state(run), run.state === "running" ? progress(run.done, run.planned) : null),
      h("td", { class: "names" }, (run.agents || []).slice(0, 4).join(", "), (run.agents || []).length > 4 ? ` and ${run.agents.length - 4} more` : ""),
      h("td", { class: "names" }, (run.tasks || []).slice(0, 3).join(", "), (run.tasks || []).length > 3 ? ` and ${run.tasks.length - 3} more` : ""),
      h("td", { class: "num" }, broken ? "" : run.done === run.planned ? run.done.toLocaleString("en") : `${run.done.toLocaleString("en")} of ${run.planned.toLocaleString("en")}`,
        run.unscored ? h("span", { class: "sub warn" }, `${run.unscored} unscored`) : null, run.cautions ? h("span", { class: "sub warn" }, count(run.cautions, "caution")) : null),
      h("td", { class: "num" }, best ? h("span", {}, best, h("span", { class: "sub" }, run.best.agent)) : ""),
      h("td", { class: "num" }, when(run.made_at)),
      h("td", { class: "num" }, run.seconds ? duration(run.seconds) : ""));
  }

  function draw() {
    const found = data.runs.filter(matches).sort((a, b) => { const [x, y] = [SORTS[sort](a), SORTS[sort](b)]; return x < y ? -1 : x > y ? 1 : 0; });
    replace(body, found.map(row));
    replace(said, data.runs.length ? `${count(found.length, "run")} of ${data.runs.length.toLocaleString("en")}` : `There is no run below ${data.folders.join(", ")} yet. Start one: proctor run CONFIG`);
  }

  function pages() {
    if (!data.pages.length) return null;
    return h("section", {}, h("h2", {}, "Pages"), h("ul", { class: "plain" }, data.pages.map((one) =>
      h("li", {}, h("a", { href: `/file?page=${one.id}` }, `${one.kind} in ${one.where}`)))));
  }

  page.keys([["/", "search", () => search.focus()]]);
  draw();
  replace(page.main,
    h("div", { class: "head" }, h("h1", {}, "Runs"), h("p", { class: "path" }, data.folders.join(", "))),
    h("div", { class: "filters" }, search, said, actions),
    wide(h("table", { class: "runs" },
      h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "sr" }, "choose")), header("name", "Run"), header("state", "State"), h("th", { scope: "col" }, "Agents"), h("th", { scope: "col" }, "Tasks"), header("n", "Trials", "num"), h("th", { scope: "col", class: "num", title: "Largest mean; no test stands behind it" }, "Best"), header("when", "Begun", "num"), h("th", { scope: "col", class: "num" }, "Took"))),
      body)),
    pages());

  const timer = setInterval(async () => {
    if (!page.live()) return clearInterval(timer);
    if (document.hidden || !data.runs.some((run) => run.state === "running")) return;
    try { data = await api("/api/runs", page.signal); } catch (error) { if (error.name !== "AbortError") replace(said, problem(error)); return; }
    if (page.live()) draw();
  }, 3000);
  page.signal.addEventListener("abort", () => clearInterval(timer));
}
