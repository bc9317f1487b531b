// A run: verdict, agents, tasks, how it goes. Stays current by server-sent events.

import { api, apiUrl, bytes, count, duration, h, number, percent, problem, progress, replace, runUrl, state, titled, track, trialUrl, when, wide } from "./dom.js";
import { growth } from "./growth.js";

export async function show(page) {
  const id = page.name;
  page.links(["Run", runUrl(id)], ["Trials", runUrl(id, "/trials")], ["Report", `/report?run=${encodeURIComponent(id)}`], ["Leaderboard", `/leaderboard?run=${encodeURIComponent(id)}`]);
  page.keys([["t", "trials", () => page.go(runUrl(id, "/trials"))], ["f", "failures", () => page.go(failures(id))]]);
  const parts = Object.fromEntries(["head", "verdict", "facts", "agents", "tasks", "findings", "going", "faults"].map((name) => [name, h("section", { id: name })]));
  const chart = growth();
  replace(page.main, parts.head, parts.verdict, parts.facts, parts.agents, parts.tasks, parts.findings, parts.going, parts.faults);
  let run = await api(apiUrl(id), page.signal);
  if (!page.live()) return;
  let report = null;
  let asked = -1;
  titled(run.name);
  draw();
  judge();

  function draw() {
    replace(parts.head, h("div", { class: "head" }, h("h1", {}, run.name, " ", state(run)), h("p", { class: "path" }, run.path)), notice(run));
    replace(parts.facts, facts(run));
    replace(parts.agents, agents(id, run, report));
    replace(parts.tasks, cells(id, run));
    chart.add(run);
    replace(parts.going, going(run, chart), nodes(run));
    replace(parts.faults, faults(id, run));
  }

  // The verdict is asked for again when trials have been added, and not while one is being made.
  async function judge() {
    if (asked === run.done || !run.done) { if (!run.done) replace(parts.verdict, h("p", { class: "verdict soft" }, "No trial is finished yet.")); return; }
    const now = (asked = run.done);
    if (!report) replace(parts.verdict, h("p", { class: "verdict soft" }, "Testing differences …"));
    try {
      report = await api(apiUrl(id, "/report"), page.signal);
      if (!page.live()) return;
      const behind = report.trials && run.state === "running" && report.trials.finished < run.done;
      replace(parts.verdict, h("p", { class: "verdict" }, report.verdict), behind ? h("p", { class: "lead" }, `Of the first ${report.trials.finished.toLocaleString("en")} trials; it is made anew now and then.`) : null);
      replace(parts.findings, findings(report));
      replace(parts.agents, agents(id, run, report));
    } catch (error) {
      if (error.name !== "AbortError" && page.live()) replace(parts.verdict, problem(error));
    }
    if (page.live() && now !== run.done) setTimeout(judge, 5000);
  }

  const events = new EventSource(apiUrl(id, "/events"));
  page.signal.addEventListener("abort", () => events.close());
  events.addEventListener("run", (event) => {
    run = JSON.parse(event.data);
    page.main.dataset.done = run.done;
    draw();
    judge();
  });
  events.addEventListener("pulse", (event) => {
    const pulse = JSON.parse(event.data);
    run = { ...run, pulse, done: Math.max(run.done, pulse.done || 0) };
    page.main.dataset.done = run.done;
    replace(parts.facts, facts(run));
    chart.add(run);
    replace(parts.going, going(run, chart), nodes(run));
  });
  events.addEventListener("gone", (event) => {
    events.close();
    run = { ...run, state: "gone", why: JSON.parse(event.data).error };
    replace(parts.head, h("div", { class: "head" }, h("h1", {}, run.name, " ", state(run)), h("p", { class: "path" }, run.path)), problem(new Error(`${run.why.replace(/[.\s]*$/, ".")} What is below was read before.`)));
  });
}

export const failures = (id) => runUrl(id, "/trials?outcome=failure&outcome=truncated&outcome=policy_error&outcome=invalid_action");

function notice(run) {
  if (!run.why) return null;
  return h("p", { class: "problem" }, run.why, " ", run.resume ? h("code", {}, run.resume) : null);
}

function fact(name, value, more) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("span", { class: "sub" }, more) : null));
}

function facts(run) {
  const pulse = run.state === "running" ? run.pulse : null;
  const news = pulse ? pulse.done - pulse.done_before : 0;
  const rate = pulse && pulse.seconds > 0 ? news / pulse.seconds : null;
  const left = rate ? (run.planned - run.done) / rate : null;
  return h("dl", { class: "facts" },
    fact("Trials done", `${run.done.toLocaleString("en")} of ${run.planned.toLocaleString("en")}`, progress(run.done, run.planned)),
    run.unscored ? fact("Unscored", run.unscored.toLocaleString("en"), "broken by the infrastructure") : null,
    pulse ? fact("Rate", rate ? `${number(60 * rate, 3)} / min` : "–", left && run.done < run.planned ? `about ${duration(left)} left` : pulse.phase) : null,
    pulse ? fact("At once", `${pulse.running} of ${run.num_parallel}`, pulse.retried ? `${pulse.retried} retried` : "trials") : null,
    pulse ? fact("Workers", String(pulse.workers.length), workers(pulse)) : null,
    pulse ? fact("Memory", bytes(pulse.memory_bytes), Object.keys(pulse.nodes || {}).length ? "resident, of the driver alone" : "resident, workers included") : null,
    fact("Begun", when(run.made_at), run.seconds ? `took ${duration(run.seconds)}` : pulse ? `${duration(pulse.seconds)} so far` : null),
    fact("Scoring", run.scoring, run.scored ? null : "code of the run, not imported"),
    fact("Recorded", run.record.level, [run.filmed ? count(run.filmed, "film") : null, run.record.states ? "states" : null, run.record.observations ? "observations" : null].filter(Boolean).join(", ") || null));
}

function workers(pulse) {
  const dead = pulse.workers.reduce((sum, worker) => sum + worker.deaths, 0);
  const busy = pulse.workers.reduce((sum, worker) => sum + worker.busy, 0);
  return dead ? `${count(dead, "death")} without a trial since` : `${busy} slots busy`;
}

function spread(estimate) {
  if (!estimate) return h("span", { class: "none" }, "–");
  return h("span", {}, estimate.text, h("span", { class: "sub" }, estimate.range === "–" ? "no interval" : estimate.range));
}

function agents(id, run, report) {
  if (!run.done) return [];
  const rank = new Map((report ? report.agents : []).map((agent, place) => [agent.agent, { place, rank: agent.rank }]));
  const letters = new Map((report && report.comparison ? report.comparison.agents : []).map((agent) => [agent.agent, agent.letters[report.comparison.ranked_by] || ""]));
  const order = [...run.by_agent].sort((a, b) => (rank.get(a.agent)?.place ?? 0) - (rank.get(b.agent)?.place ?? 0));
  const scores = order.map((agent) => agent.score).filter(Boolean).flatMap((score) => [score.value, ...(score.interval || [])]);
  const [low, high] = [Math.min(0, ...scores), Math.max(...scores, 0)];
  const success = order.some((agent) => agent.success);
  const score = run.scored && run.scoring !== "success" || !success;
  const tested = letters.size ? " Agents that share a letter are not significantly different." : "";
  return [h("h2", {}, "Agents"), h("p", { class: "lead" }, `Means over tasks with ${percent(run.level)} intervals; n counts scored trials.${tested}`),
    wide(h("table", { class: "agents" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Agent"), h("th", { scope: "col", class: "num" }, "n"),
        success ? [h("th", { scope: "col", class: "num" }, "Success"), h("th", { class: "wide" }, h("span", { class: "sr" }, "success, drawn"))] : null,
        score ? [h("th", { scope: "col", class: "num" }, "Score"), h("th", { class: "wide" }, h("span", { class: "sr" }, "score, drawn"))] : null,
        letters.size ? h("th", { scope: "col" }, "") : null, h("th", { scope: "col", class: "num" }, "Unscored"))),
      h("tbody", {}, order.map((agent) => h("tr", {},
        h("th", { scope: "row" }, h("span", { class: "rank" }, rank.get(agent.agent)?.rank ?? ""), h("a", { href: runUrl(id, `/trials?agent=${encodeURIComponent(agent.agent)}`) }, agent.agent)),
        h("td", { class: "num" }, agent.n.toLocaleString("en")),
        success ? [h("td", { class: "num" }, spread(agent.success)), h("td", { class: "wide" }, track(agent.success, 0, 1, `success of ${agent.agent}`))] : null,
        score ? [h("td", { class: "num" }, spread(agent.score)), h("td", { class: "wide" }, track(agent.score, low, high, `score of ${agent.agent}`))] : null,
        letters.size ? h("td", { class: "letters" }, letters.get(agent.agent) || "") : null,
        h("td", { class: "num" }, agent.unscored || ""))))))];
}

function cells(id, run) {
  if (run.about_tasks.length < 2 && run.done >= run.planned) return [];
  const find = new Map(run.by_cell.map((cell) => [`${cell.agent}\n${cell.task}`, cell]));
  const scores = run.by_cell.map((cell) => cell.score?.value).filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...scores, 0), Math.max(...scores, 1e-9)];
  const one = (agent, task) => {
    const cell = find.get(`${agent}\n${task}`);
    if (!cell) return h("td", {});
    const rate = cell.success ? cell.success.value : null;
    const share = rate ?? (cell.score ? (cell.score.value - low) / (high - low || 1) : null);
    const words = (rate !== null ? cell.success.text : cell.score?.text) ?? "–";
    return h("td", { class: share === null ? "cell" : `cell h${Math.round(10 * Math.min(1, Math.max(0, share)))}` },
      h("a", { href: runUrl(id, `/trials?agent=${encodeURIComponent(agent)}&task=${encodeURIComponent(task)}`) }, h("strong", {}, words),
        h("span", { class: "sub" }, cell.done < cell.planned ? `${cell.done} of ${cell.planned}` : `n ${cell.n}`)),
      cell.done < cell.planned ? progress(cell.done, cell.planned) : null);
  };
  return [h("h2", {}, "Agents and tasks"), h("p", { class: "lead" }, "Success rate where something says what success is, else the mean score; a cell opens its trials."),
    wide(h("table", { class: "heat" },
      h("thead", {}, h("tr", {}, h("th", {}), run.about_tasks.map((task) => h("th", { scope: "col" }, task.name, h("span", { class: "sub" }, task.suite))))),
      h("tbody", {}, run.about_agents.map((agent) => h("tr", {}, h("th", { scope: "row" }, agent.name), run.about_tasks.map((task) => one(agent.name, task.name)))))))];
}

function findings(report) {
  if (!report.findings.length) return [];
  const order = [...report.findings].sort((a, b) => (a.level === "caution" ? 0 : 1) - (b.level === "caution" ? 0 : 1));
  return [h("h2", {}, "Findings"), h("ul", { class: "findings" }, order.map((one) => h("li", { class: one.level }, h("span", { class: "tag" }, one.level), h("span", {}, one.text))))];
}

const PLACES = ["environment", "inference", "transfer", "waiting", "recording"];

function going(run, chart) {
  const time = run.time && Object.keys(run.time).length ? run.time : null;
  const batch = run.batch ? Object.entries(run.batch).flatMap(([agent, stages]) => Object.entries(stages).map(([stage, own]) => ({ agent, stage, ...own }))) : [];
  if (!time && !batch.length && !chart.shown()) return [];
  return [h("h2", {}, "How it goes"), h("div", { class: "pair" },
    chart.shown() ? chart.node : null,
    time ? h("figure", {}, h("figcaption", {}, "Where the time of the slots goes"),
      h("div", { class: "stack", role: "img", "aria-label": PLACES.map((place) => `${place} ${percent(time[place] || 0)}`).join(", ") }, PLACES.filter((place) => time[place] > 0).map((place) => h("span", { class: `p-${place}`, css: { "flex-grow": String(time[place]) } }))),
      h("ul", { class: "legend" }, PLACES.filter((place) => time[place] > 0).map((place) => h("li", {}, h("i", { class: `p-${place}` }), `${place} ${percent(time[place])}`)))) : null,
    batch.length ? h("figure", {}, h("figcaption", {}, "Forwards"), wide(h("table", { class: "small" },
      h("thead", {}, h("tr", {}, ["Agent", "Stage", "Forwards", "Rows each", "Seconds"].map((name, place) => h("th", { scope: "col", class: place > 1 ? "num" : null }, name)))),
      h("tbody", {}, batch.slice(0, 12).map((own) => h("tr", {}, h("td", {}, own.agent), h("td", {}, own.stage), h("td", { class: "num" }, number(own.forwards)), h("td", { class: "num" }, number(own.rows_per_forward)), h("td", { class: "num" }, number(own.seconds)))))))) : null)];
}

function nodes(run) {
  const known = Object.entries((run.state === "running" && run.pulse && run.pulse.nodes) || {});
  if (!known.length) return [];
  return [h("h2", {}, "Nodes"), wide(h("table", { class: "small" },
    h("thead", {}, h("tr", {}, ["Node", "Workers", "Trials", "Trials / s", "Busy", "Attempts lost"].map((name, place) => h("th", { scope: "col", class: place ? "num" : null }, name)))),
    h("tbody", {}, known.map(([name, own]) => h("tr", {}, h("th", { scope: "row" }, name),
      h("td", { class: "num" }, own.workers || "gone"), h("td", { class: "num" }, own.trials.toLocaleString("en")), h("td", { class: "num" }, number(own.trials_per_s, 3)),
      h("td", { class: "num" }, own.busy === null ? "–" : percent(own.busy)), h("td", { class: "num" }, own.lost || ""))))))];
}

function faults(id, run) {
  const open = run.faults.last;
  if (!open.length && !run.causes.length) return [];
  return [h("h2", {}, "What broke"),
    run.causes.length ? wide(h("table", { class: "small left" }, h("thead", {}, h("tr", {}, ["Agent", "Outcome", "Message", "Trials", "Example"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, run.causes.map((cause) => h("tr", {}, h("td", {}, cause.agent), h("td", {}, cause.outcome.replaceAll("_", " ")), h("td", { class: "message" }, cause.message), h("td", { class: "num" }, cause.count), h("td", {}, h("a", { href: trialUrl(id, cause.example) }, cause.example))))))) : null,
    open.length ? [h("p", { class: "lead" }, `${count(run.faults.n, "attempt")} broke and ${run.faults.n === 1 ? "was" : "were"} tried again; the last of some trials:`),
      h("ul", { class: "plain" }, open.map((one) => h("li", {}, one.done ? h("a", { href: trialUrl(id, one.key) }, one.key) : one.key, h("span", { class: "sub" }, one.text))))] : null];
}
