// Pages that other verbs make: a comparison, a leaderboard, a report, goals. Nothing runs in them.

import { fileUrl, h, problem, replace, runUrl, titled } from "./dom.js";

const TITLES = { compare: "Comparison", leaderboard: "Leaderboard", report: "Report", file: "Page" };

export async function show(page) {
  const kind = page.name;
  titled(TITLES[kind]);
  const runs = page.query.getAll("run");
  page.links(...runs.slice(0, 4).map((run) => [run, runUrl(run)]));
  const across = page.query.get("across") === "1";
  const source = kind === "report" ? fileUrl(runs[0] || "", "report.html") : `/pages/${kind}${location.search}`;
  const note = h("p", { class: "soft", "aria-live": "polite" }, "Computing: the same tests as on the command line …");
  replace(page.main, h("div", { class: "head" }, h("h1", {}, TITLES[kind])), note);
  const answer = await fetch(source, { signal: page.signal });
  if (!answer.ok) {
    const data = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
    const query = new URLSearchParams(page.query);
    query.set("across", "1");
    replace(note, problem(new Error(data.error)),
      kind === "compare" && !across && data.error.includes("--across-protocols") ? h("a", { class: "button", href: `/compare?${query}` }, "Compare across protocols, without pairs") : null);
    return;
  }
  replace(page.main, h("h1", { class: "sr" }, TITLES[kind]), h("iframe", { class: "page", title: TITLES[kind], src: source }));
}
