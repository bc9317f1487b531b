// The trials of a run: filters, sorting, keys, a grid of films.

import { api, apiUrl, count, fileUrl, h, number, outcome, problem, replace, runUrl, titled, trialUrl, wide } from "./dom.js";

const PAGE = 100;
const FAILED = ["failure", "truncated", "policy_error", "invalid_action"];
const NAMES = { steps: "Steps", reward: "Return", wall_time_s: "Wall time [s]", score: "Score", attempts: "Attempts" };

export async function show(page) {
  const id = page.name;
  const query = page.query;
  titled(`Trials of ${id}`);
  page.links(["Run", runUrl(id)], ["Trials", runUrl(id, "/trials")], ["Report", `/report?run=${encodeURIComponent(id)}`]);
  const about = h("p", { class: "soft", "aria-live": "polite" }, "Loading …");
  const body = h("div", { class: "results" });
  const bar = h("form", { class: "filters", onsubmit: (event) => event.preventDefault() });
  replace(page.main, h("div", { class: "head" }, h("h1", {}, "Trials"), h("p", { class: "path" }, id)), bar, about, body);
  const first = api(apiUrl(id, `/trials?${asked(0)}`), page.signal);
  let rows = [];
  let found = 0;
  let filmed = 0;
  let at = -1;
  const chosen = new Set();
  let turn = 0;

  function asked(offset) {
    const given = new URLSearchParams(query);
    given.delete("grid");
    given.set("offset", offset);
    given.set("limit", query.get("grid") ? 24 : PAGE);
    return given;
  }

  function change(edit) {
    edit(query);
    for (const name of [...query.keys()]) if (!query.get(name)) query.delete(name);
    const text = query.toString();
    history.replaceState(null, "", runUrl(id, `/trials${text ? `?${text}` : ""}`));
    load();
  }

  async function load() {
    const own = (turn += 1);
    try {
      const data = await api(apiUrl(id, `/trials?${asked(0)}`), page.signal);
      if (own === turn) take(data);
    } catch (error) {
      if (error.name !== "AbortError") replace(body, problem(error));
    }
  }

  function take(data) {
    rows = data.rows;
    found = data.found;
    filmed = data.filmed;
    const button = bar.querySelector("[data-films]");
    if (button) button.textContent = `Films (${filmed.toLocaleString("en")})`;
    at = Math.min(at, rows.length - 1);
    replace(about, `${count(data.found, "trial")} of ${data.total.toLocaleString("en")}`, query.get("grid") && data.found > rows.length ? `; the first ${rows.length} are shown` : "");
    about.dataset.found = data.found;
    draw();
  }

  async function more() {
    const data = await api(apiUrl(id, `/trials?${asked(rows.length)}`), page.signal);
    rows = [...rows, ...data.rows];
    draw();
  }

  function draw() {
    if (query.get("grid")) return replace(body, grid(id, rows, query));
    const shown = query.getAll("show");
    const cases = rows.some((row) => row.case);
    const tall = ["score", "steps", "reward", ...shown];
    replace(body, wide(h("table", { class: "trials" },
      h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "sr" }, "choose")), header("outcome", "Outcome"), header("agent", "Agent"), header("task", "Task"), header("index", "Trial", "num"), header("seed", "Seed", "num"),
        cases ? header("case", "Case") : null, tall.map((name) => header(name, NAMES[name] || name.replace("score/", ""), "num")), h("th", { scope: "col" }, "Film"))),
      h("tbody", {}, rows.map((row, place) => line(row, place, cases, tall))))),
    rows.length < found ? h("button", { type: "button", class: "button", onclick: more }, `More (${(found - rows.length).toLocaleString("en")} left)`) : null,
    chosen.size ? h("p", { class: "actions" }, count(chosen.size, "trial"), " chosen ", h("a", { class: "button", href: side() }, "Side by side")) : null);
    mark();
  }

  const side = () => runUrl(id, `/side?${[...chosen].map((key) => `trial=${encodeURIComponent(key)}`).join("&")}`);

  function header(key, words, cls) {
    const sort = query.get("sort") || "";
    const down = sort === `-${key}`;
    const on = down || sort === key;
    return h("th", { scope: "col", class: cls, "aria-sort": on ? (down ? "descending" : "ascending") : null },
      h("button", { type: "button", class: "sort", onclick: () => change((given) => given.set("sort", on && !down ? `-${key}` : on ? "" : key)) }, words, on ? (down ? " ↓" : " ↑") : ""));
  }

  function line(row, place, cases, tall) {
    return h("tr", { "data-key": row.key, "data-place": place },
      h("td", { class: "pick" }, h("input", { type: "checkbox", "aria-label": `choose ${row.key}`, checked: chosen.has(row.key), onchange: () => toggle(row.key) })),
      h("td", {}, outcome(row.outcome), row.error ? h("span", { class: "sub message" }, row.error) : null), h("td", { class: "names" }, row.agent), h("td", { class: "names" }, row.task),
      h("td", { class: "num" }, h("a", { href: trialUrl(id, row.key, query) }, String(row.index).padStart(4, "0"))),
      h("td", { class: "num" }, row.seed), cases ? h("td", { class: "names" }, row.case || "") : null,
      tall.map((name) => h("td", { class: "num" }, number(row[name], 4))),
      h("td", {}, row.video ? "film" : ""));
  }

  function toggle(key) {
    if (!chosen.delete(key)) chosen.add(key);
    draw();
  }

  function mark() {
    for (const row of body.querySelectorAll("tr[data-place]")) row.classList.toggle("at", Number(row.dataset.place) === at);
    body.querySelector("tr.at")?.scrollIntoView({ block: "nearest" });
  }

  const move = (by) => { if (rows.length) { at = Math.min(rows.length - 1, Math.max(0, at + by)); mark(); } };
  page.keys([
    ["j / ArrowDown", "next trial", () => move(1)], ["k / ArrowUp", "previous trial", () => move(-1)],
    ["Enter", "open the trial", () => rows[at] && page.go(trialUrl(id, rows[at].key, query))],
    ["x", "choose it", () => rows[at] && toggle(rows[at].key)], ["s", "chosen ones side by side", () => chosen.size && page.go(side())],
    ["f", "failures only", () => { fail(); }], ["v", "films as a grid", () => films()],
    ["/", "search", () => bar.querySelector("input[type=search]")?.focus()], ["Escape", "back to the run", () => page.go(runUrl(id))],
  ]);

  function fail() {
    change((given) => { const on = given.getAll("outcome").length; given.delete("outcome"); if (!on) for (const kind of FAILED) given.append("outcome", kind); });
    controls();
  }

  // A grid of what has a film, and back; the same for the button and the key.
  function films() {
    change((given) => { given.set("grid", given.get("grid") ? "" : "1"); given.set("filmed", given.get("grid") ? "1" : ""); });
    controls();
  }

  let columns = null;
  function controls() {
    if (!columns) return;
    const select = (name, words, values) => h("label", {}, words, h("select", { name, onchange: (event) => change((given) => given.set(name, event.target.value)) },
      h("option", { value: "" }, "all"), values.map(([value, text]) => h("option", { value, selected: query.getAll(name).length === 1 && query.get(name) === value }, text))));
    const metrics = [...columns.numbers.filter((name) => name !== "attempts"), ...columns.components, ...columns.metrics.map((metric) => metric.name)];
    const [ranged, low, high] = (query.get("range") || "::").split(":");
    const numberOf = h("select", { "aria-label": "number" }, h("option", { value: "" }, "a number …"), metrics.map((name) => h("option", { value: name, selected: name === ranged }, label(name))));
    const least = h("input", { type: "text", inputmode: "decimal", size: 6, placeholder: "least", "aria-label": "least", value: low });
    const most = h("input", { type: "text", inputmode: "decimal", size: 6, placeholder: "largest", "aria-label": "largest", value: high });
    const apply = () => change((given) => given.set("range", numberOf.value && (least.value || most.value) ? `${numberOf.value}:${least.value}:${most.value}` : ""));
    for (const one of [numberOf, least, most]) one.addEventListener("change", apply);
    let wait = 0;
    const failing = FAILED.every((kind) => query.getAll("outcome").includes(kind));
    replace(bar,
      h("input", { type: "search", placeholder: "Search key, case, error", "aria-label": "Search trials", value: query.get("text") || "", oninput: (event) => { clearTimeout(wait); wait = setTimeout(() => change((given) => given.set("text", event.target.value)), 120); } }),
      columns.agents.length > 1 ? select("agent", "Agent", columns.agents.map((name) => [name, name])) : null,
      columns.tasks.length > 1 ? select("task", "Task", columns.tasks.map((name) => [name, name])) : null,
      select("outcome", "Outcome", Object.entries(columns.outcomes).map(([name, n]) => [name, `${name.replaceAll("_", " ")} (${n.toLocaleString("en")})`])),
      columns.cases.length ? select("case", "Case", columns.cases.map((name) => [name, name])) : null,
      h("label", {}, "Seed", h("input", { type: "text", inputmode: "numeric", size: 8, value: query.get("seed") || "", onchange: (event) => change((given) => given.set("seed", event.target.value.trim())) })),
      h("label", { class: "range" }, "Range", numberOf, least, most),
      h("label", {}, "Column", h("select", { onchange: (event) => { if (event.target.value) change((given) => given.append("show", event.target.value)); event.target.value = ""; } }, h("option", { value: "" }, "add …"), [...columns.components, ...columns.metrics.map((metric) => metric.name)].map((name) => h("option", { value: name }, label(name))))),
      h("button", { type: "button", class: failing ? "button on" : "button", "aria-pressed": String(failing), onclick: fail }, "Failures"),
      columns.filmed ? h("button", { type: "button", class: query.get("grid") ? "button on" : "button", "aria-pressed": String(!!query.get("grid")), onclick: films, "data-films": "" }, `Films (${filmed.toLocaleString("en")})`) : null,
      h("button", { type: "button", class: "quiet", onclick: () => { change((given) => { for (const name of [...given.keys()]) given.delete(name); }); controls(); } }, "Reset"));
  }

  function label(name) {
    const unit = columns.metrics.find((metric) => metric.name === name)?.unit;
    return (NAMES[name] || name.replace("score/", "score: ")) + (unit && unit !== "1" && unit !== "?" ? ` [${unit}]` : "");
  }

  take(await first);
  columns = await api(apiUrl(id, "/columns"), page.signal);
  if (page.live()) controls();
}

function grid(id, rows, query) {
  const films = rows.filter((row) => row.video);
  if (!films.length) return h("p", { class: "soft" }, "None of these trials has a film. Record some: record: {level: video, video: {trials: failures}}; or film one: proctor replay RUN TRIAL --video FILE.mp4");
  const videos = films.map((row) => h("video", { src: fileUrl(id, row.video), muted: true, loop: true, playsinline: true, preload: "metadata", controls: false, "aria-label": `film of ${row.key}` }));
  for (const video of videos) video.muted = true;
  let playing = false;
  const button = h("button", { type: "button", class: "button", onclick: () => {
    playing = !playing;
    for (const video of videos) { if (playing) { video.currentTime = 0; video.play().catch(() => null); } else video.pause(); }
    button.textContent = playing ? "Pause" : "Play all together";
  } }, "Play all together");
  return [h("p", {}, button), h("div", { class: "grid" }, films.map((row, place) => h("figure", {}, videos[place],
    h("figcaption", {}, outcome(row.outcome, true), " ", h("a", { href: trialUrl(id, row.key, query) }, `${row.agent} · ${row.task} · ${row.index}`)))))];
}
