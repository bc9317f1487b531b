// One trial: film or scene, signals on one time axis, what made the score, what was said, how to run it again.

import { api, apiUrl, copyable, duration, fileUrl, h, number, outcome, packed, problem, replace, runUrl, titled, trialUrl, wide } from "./dom.js";
import { lines, Plots, signals } from "./plots.js";
import { Player } from "./player.js";

export async function show(page) {
  const id = page.name;
  const key = page.query.get("trial") || "";
  titled(key);
  const list = new URLSearchParams(page.query);
  list.delete("trial");
  const back = runUrl(id, `/trials${list.size ? `?${list}` : ""}`);
  page.links(["Run", runUrl(id)], ["Trials", back]);
  const about = `?trial=${encodeURIComponent(key)}&${list}`;
  const block = packed(apiUrl(id, `/series${about}`), page.signal).catch((error) => error);
  const trial = await api(apiUrl(id, `/trial${about}`), page.signal);
  if (!page.live()) return;
  const stage = h("div", {});
  const plots = h("section", { id: "signals" });
  const near = trial.neighbours;
  const next = (where) => near[where] && page.go(trialUrl(id, near[where], list));
  replace(page.main, head(trial, near, id, list), facts(trial),
    h("div", { class: "two" }, stage, h("div", {}, score(trial), same(trial, id), metrics(trial))),
    plots, errors(trial), constants(), again(trial, id));
  const player = new Player(id, key, trial, page.signal);
  replace(stage, player.node);
  page.keys([
    ["n / j", "next trial of the list", () => next("after")], ["p / k", "previous trial", () => next("before")],
    ["Space", "play or pause", () => player.toggle()],
    ["ArrowRight", "a step on", (event) => player.move(event.shiftKey ? 10 : 1)], ["ArrowLeft", "a step back", (event) => player.move(event.shiftKey ? -10 : -1)],
    ["Home", "the beginning", () => player.set(1)], ["End", "the end", () => player.set(Infinity)],
    ["Escape", "back to the list", () => page.go(back)],
  ]);
  const answer = await block;
  if (!page.live() || (answer instanceof Error && answer.name === "AbortError")) return;
  if (answer instanceof Error) { replace(plots, h("h2", {}, "Signals"), problem(answer)); player.begin(null, answer.message); return; }
  const drawn = draw(answer, player, plots);
  page.signal.addEventListener("abort", () => { drawn.close(); player.close(); });
  page.main.querySelector("#constants")?.replaceWith(constants(answer.head));
}

function draw(answer, player, room) {
  const own = signals(answer);
  const plots = new Plots(answer.head, (step) => player.set(step));
  player.onstep = (step) => plots.set(step);
  const search = h("input", { type: "search", placeholder: "Which signals", "aria-label": "Which signals", oninput: () => {
    const words = search.value.toLowerCase();
    for (const plot of plots.plots) plot.hidden = !plot.dataset.signal.toLowerCase().includes(words);
  } });
  for (const signal of own) {
    if (signal.name === "success" && signal.values[0].every((value) => !value)) continue;
    plots.add(signal.name, lines(signal));
  }
  replace(room, h("h2", {}, "Signals"), h("div", { class: "filters" }, search, h("p", { class: "soft" }, `${own.length} recorded over ${answer.head.n.toLocaleString("en")} steps. Point at a plot to move the cursor of all, the film and the scene; drag to look closer, double-click to see all.`)),
    plots.node, answer.head.left_out.length ? h("p", { class: "soft" }, `Too wide to be drawn: ${answer.head.left_out.join(", ")}.`) : null);
  player.begin(answer.head);
  return plots;
}

function head(trial, near, id, list) {
  const link = (where, words, mark) => near[where] ? h("a", { class: "button", href: trialUrl(id, near[where], list), title: words }, mark) : h("span", { class: "button none", "aria-disabled": "true" }, mark);
  return h("div", { class: "head" }, h("h1", {}, trial.key, " ", outcome(trial.outcome)),
    h("span", { class: "actions" }, link("before", "previous trial (p)", "← previous"), h("span", { class: "soft" }, near.at < 0 ? "" : `${(near.at + 1).toLocaleString("en")} of ${near.found.toLocaleString("en")}`), link("after", "next trial (n)", "next →")));
}

function facts(trial) {
  const fact = (name, value, more) => (value === null || value === undefined || value === "" ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("span", { class: "sub" }, more) : null)));
  return h("dl", { class: "facts" },
    fact("Score", trial.score ? number(trial.score.total, 4) : null, trial.score ? trial.score.name : null),
    fact("Steps", trial.steps === null ? null : number(trial.steps), trial.max_steps ? `of at most ${number(trial.max_steps)}` : null),
    fact("Success", trial.success === null ? null : trial.success ? "yes" : "no", trial.steps_to_success ? `from step ${number(trial.steps_to_success)}` : trial.first_success ? `held first at step ${number(trial.first_success)}` : null),
    fact("Return", trial.reward === null ? null : number(trial.reward, 4)),
    fact("Seed", trial.seed), fact("Case", trial.case),
    fact("Simulated", trial.sim_time_s === null ? null : duration(trial.sim_time_s)), fact("Took", trial.wall_time_s === null ? null : duration(trial.wall_time_s)),
    fact("Attempts", trial.attempts > 1 ? trial.attempts : null), fact("Clipped actions", trial.clipped_steps ? `${trial.clipped_steps} steps` : null),
    fact("Counted", trial.after_stop ? "no" : null, "after the stop"));
}

function score(trial) {
  if (!trial.score || !trial.score.parts.length) return null;
  const parts = trial.score.parts;
  const most = Math.max(1e-12, ...parts.map((part) => Math.abs(part.contribution ?? 0)));
  const weighed = parts.some((part) => part.contribution !== undefined);
  if (parts.length === 1 && !weighed) return null;
  return h("section", {}, h("h2", {}, "What made the score"), trial.score.floor ? h("p", { class: "lead" }, "The policy broke this trial, so it has the floor of the scoring.") : null,
    wide(h("table", { class: "small" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Part"), h("th", { scope: "col", class: "num" }, "Value"), weighed ? [h("th", { scope: "col", class: "num" }, "Weight"), h("th", { scope: "col", class: "num" }, "Adds")] : null)),
      h("tbody", {}, parts.map((part) => h("tr", {}, h("th", { scope: "row" }, part.name, part.contribution !== undefined && part.contribution !== null ? h("span", { class: "share" }, h("span", { class: part.contribution < 0 ? "neg" : null, css: { width: `${(100 * Math.abs(part.contribution)) / most}%` } })) : null),
        h("td", { class: "num" }, number(part.value, 4)), weighed ? [h("td", { class: "num" }, part.weight === undefined ? "" : number(part.weight)), h("td", { class: "num" }, part.contribution === undefined ? "" : number(part.contribution, 4))] : null))))));
}

function same(trial, id) {
  if (!trial.counterparts.length) return null;
  const all = (keys) => runUrl(id, `/side?${keys.map((key) => `trial=${encodeURIComponent(key)}`).join("&")}`);
  return h("section", {}, h("h2", {}, "The same trial, other agents"), wide(h("table", { class: "small" }, h("tbody", {}, trial.counterparts.slice(0, 12).map((other) => h("tr", {},
    h("td", {}, outcome(other.outcome, true), " ", h("a", { href: trialUrl(id, other.key) }, other.agent)), h("td", { class: "num" }, number(other.score, 4)), h("td", { class: "num" }, other.steps === null ? "" : `${number(other.steps)} steps`),
    h("td", {}, h("a", { href: all([trial.key, other.key]) }, "side by side"))))))));
}

const ARROWS = { up: "higher is better", down: "lower is better" };

function metrics(trial) {
  if (!trial.metrics.length) return null;
  return h("section", {}, h("h2", {}, "Metrics"), wide(h("table", { class: "small metrics" }, h("tbody", {}, trial.metrics.map((metric) => h("tr", { title: [metric.about, ARROWS[metric.direction]].filter(Boolean).join(" ") || null },
    h("td", {}, metric.name), h("td", { class: "num" }, number(metric.value, 4), " ", h("span", { class: "none" }, metric.unit && metric.unit !== "1" && metric.unit !== "?" ? metric.unit : ""))))))));
}

function errors(trial) {
  const parts = [];
  if (trial.error) parts.push(h("h2", {}, "Error"), h("pre", { id: "error" }, trial.error));
  if (trial.faults.length) parts.push(h("h2", {}, "Attempts that broke before"), trial.faults.map((fault) => h("pre", {}, fault)));
  if (trial.log.length) parts.push(h("h2", {}, "Log"), h("pre", { id: "log" }, trial.log.join("\n")));
  return parts.length ? h("section", {}, parts) : null;
}

function constants(head) {
  const room = h("section", { id: "constants" });
  if (!head || !head.constants.length) return room;
  const shown = head.constants.filter((one) => !one.name.startsWith("scene.") && one.name !== "action_dt_s");
  return replace(room, h("h2", {}, "Constants"), wide(h("table", { class: "small" }, h("tbody", {}, shown.map((one) => h("tr", {}, h("td", {}, one.name), h("td", {}, one.text ? h("code", {}, one.text) : h("span", { class: "none" }, `${one.kind}, ${one.shape}`))))))));
}

function again(trial, id) {
  if (trial.imported) return h("section", {}, h("h2", {}, "Again, elsewhere"), h("p", { class: "soft" }, `Imported from ${trial.imported}: nothing is known here that could run it again.`));
  return h("section", {}, h("h2", {}, "Again, elsewhere"), h("table", { class: "small" }, h("tbody", {}, trial.commands.map((one) => h("tr", {}, h("td", {}, one.what), h("td", {}, copyable(one.command)))))),
    h("p", { class: "actions" }, trial.npz ? h("a", { class: "button", href: fileUrl(id, trial.npz), download: true }, "Download the arrays (npz)") : null, trial.video ? h("a", { class: "button", href: fileUrl(id, trial.video), download: true }, "Download the film") : null));
}
