// Trials side by side: films that play together, and their signals in the same plots.

import { api, apiUrl, fileUrl, h, number, outcome, packed, problem, replace, runUrl, titled, trialUrl, wide } from "./dom.js";
import { Plots, signals } from "./plots.js";

const MOST = 6, WIDE = 8;

export async function show(page) {
  const id = page.name;
  const keys = page.query.getAll("trial").slice(0, MOST);
  titled("Side by side");
  page.links(["Run", runUrl(id)], ["Trials", runUrl(id, "/trials")]);
  if (keys.length < 2) throw new Error("Choose two trials or more in the table of trials (x), then s.");
  const about = (key) => `?trial=${encodeURIComponent(key)}`;
  const trials = await Promise.all(keys.map((key) => api(apiUrl(id, `/trial${about(key)}`), page.signal)));
  const blocks = await Promise.all(keys.map((key) => packed(apiUrl(id, `/series${about(key)}`), page.signal).catch((error) => error)));
  if (!page.live()) return;
  const videos = trials.map((trial) => (trial.video ? h("video", { src: fileUrl(id, trial.video), muted: true, playsinline: true, preload: "auto", "aria-label": `film of ${trial.key}` }) : null));
  const agents = new Set(trials.map((trial) => trial.agent));
  for (const trial of trials) trial.name = agents.size === trials.length ? trial.agent : trial.key; // what tells them apart
  const drawn = overlaid(trials, blocks, videos);
  let playing = false;
  const play = () => {
    playing = !playing;
    for (const video of videos) if (video) { video.muted = true; if (playing) { if (video.ended) video.currentTime = 0; video.play().catch(() => null); } else video.pause(); }
    button.textContent = playing ? "Pause" : "Play together";
  };
  const button = h("button", { type: "button", class: "button", onclick: play }, "Play together");
  page.keys([["Space", "play or pause", play], ["Escape", "back to the trials", () => page.go(runUrl(id, "/trials"))]]);
  replace(page.main, h("div", { class: "head" }, h("h1", {}, "Side by side"), videos.some(Boolean) ? button : null),
    h("div", { class: "sides" }, trials.map((trial, place) => h("article", { class: "side" },
      h("h2", {}, h("a", { href: trialUrl(id, trial.key) }, trial.key)), h("p", {}, outcome(trial.outcome), " ", trial.score ? `score ${number(trial.score.total, 4)}, ` : "", trial.steps === null ? "" : `${number(trial.steps)} steps, `, `seed ${trial.seed}`),
      videos[place] || h("p", { class: "soft" }, "No film of this trial.")))),
    metrics(trials), drawn.node);
  page.signal.addEventListener("abort", () => drawn.close());
}

function metrics(trials) {
  const names = [...new Set(trials.flatMap((trial) => trial.metrics.map((metric) => metric.name)))];
  const of = (trial, name) => trial.metrics.find((metric) => metric.name === name);
  return h("details", { open: true }, h("summary", {}, "Metrics"), wide(h("table", { class: "small" },
    h("thead", {}, h("tr", {}, h("th", {}), trials.map((trial) => h("th", { scope: "col", class: "num" }, trial.name)))),
    h("tbody", {}, names.map((name) => h("tr", {}, h("td", {}, name, " ", h("span", { class: "none" }, (trials.map((trial) => of(trial, name)).find(Boolean) || {}).unit || "")), trials.map((trial) => h("td", { class: "num" }, number(of(trial, name)?.value, 4)))))))));
}

function overlaid(trials, blocks, videos) {
  const good = blocks.map((block) => (block instanceof Error ? null : block));
  const failed = blocks.map((block, place) => (block instanceof Error ? h("div", {}, h("h3", {}, trials[place].key), problem(block)) : null));
  const known = good.filter(Boolean);
  if (!known.length) return { node: h("section", {}, failed), close() {} };
  const head = known.reduce((a, b) => (a.head.n >= b.head.n ? a : b)).head;
  const plots = new Plots(head, (step) => {
    plots.set(step);
    videos.forEach((video, place) => { const own = good[place]; if (video && own && video.duration) video.currentTime = Math.min(video.duration, (video.duration * (step - 0.5)) / own.head.n); });
  });
  const all = good.map((block) => (block ? signals(block) : []));
  const names = [...new Set(all.flat().map((signal) => signal.name))];
  for (const name of names) {
    const width = Math.max(...all.map((own) => own.find((signal) => signal.name === name)?.columns || 0));
    for (let column = 0; column < Math.min(width, WIDE); column += 1) {
      const lines = all.flatMap((own, place) => {
        const signal = own.find((one) => one.name === name);
        return signal && signal.values[column] ? [{ name: trials[place].name, values: longer(signal.values[column], head.n), tone: place }] : [];
      });
      const label = all.flat().find((signal) => signal.name === name && signal.names)?.names[column] ?? column;
      plots.add(width > 1 ? `${name} [${label}]` : name, lines);
    }
  }
  return { node: h("section", {}, h("h2", {}, "Signals"), failed, plots.node), close: () => plots.close() };
}

// Shorter trials end where they ended.
function longer(values, n) {
  return values.length === n ? values : Array.from({ length: n }, (_, i) => (i < values.length ? values[i] : null));
}
