// Signals over time: one plot each, one time axis, one cursor for all.

import uPlot from "./vendor/uPlot.js";
import { h, number, replace } from "./dom.js";

const HEIGHT = 128, LISTED = 6;
const PALETTE = ["--p1", "--p2", "--p3", "--p4", "--p5", "--p6", "--p7", "--p8"];

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Signals of a packed answer: name, columns (Float32Array each), reference columns or null. */
export function signals({ head, numbers }) {
  let at = 0;
  const take = (count) => Array.from({ length: count }, () => { const part = numbers.subarray(at, at + head.n); at += head.n; return part; });
  return head.signals.map((one) => ({ ...one, values: take(one.columns), reference: one.reference ? take(one.columns) : null, names: head.names[one.name] || null }));
}

/** The time axis: seconds where there is a clock, else steps. */
export function axis(head) {
  const times = new Float64Array(head.n);
  for (let i = 0; i < head.n; i += 1) times[i] = (i + 1) * (head.dt_s || 1);
  return { times, unit: head.dt_s ? "s" : "step" };
}

/** Plots of several signals with a common cursor. `onstep` is told when the reader points somewhere. */
export class Plots {
  constructor(head, onstep) {
    this.head = head;
    this.onstep = onstep;
    this.time = axis(head);
    this.step = head.n;
    this.plots = [];
    this.node = h("div", { class: "plots" });
    this.seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) { this.seen.unobserve(entry.target); entry.target.draw(); }
    }, { rootMargin: "300px" });
    this.sized = new ResizeObserver((entries) => {
      for (const entry of entries) if (entry.target.chart) entry.target.chart.setSize({ width: Math.max(160, entry.contentRect.width), height: HEIGHT });
    });
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => { for (const plot of this.plots) if (plot.chart) { plot.chart.destroy(); plot.chart = null; plot.draw(); } };
    this.dark.addEventListener("change", this.redraw);
  }

  close() {
    this.seen.disconnect();
    this.sized.disconnect();
    this.dark.removeEventListener("change", this.redraw);
    for (const plot of this.plots) plot.chart?.destroy();
  }

  /** Add a plot of a signal; further ones (of other trials) are drawn into it as further lines. */
  add(name, lines) {
    const values = h("div", { class: "values" });
    const room = h("div", {});
    const size = lines.length > LISTED ? `${lines.length} columns` : "";
    const plot = h("div", { class: "plot", "data-signal": name }, h("h3", {}, name, h("span", { class: "sub" }, size)), room, values);
    plot.values = values;
    plot.lines = lines;
    plot.draw = () => this.draw(plot, room);
    this.plots.push(plot);
    this.node.append(plot);
    this.seen.observe(plot);
  }

  draw(plot, room) {
    const tone = (line, place) => colour(PALETTE[(line.tone ?? place) % PALETTE.length]);
    const data = [this.time.times, ...plot.lines.map((line) => line.values)];
    const marks = { stroke: colour("--faint"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
    plot.chart = new uPlot({
      width: Math.max(160, room.clientWidth || 400), height: HEIGHT, legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 5 }, y: false },
      scales: { x: { time: false } },
      axes: [{ ...marks, size: 24, gap: 3, values: (chart, splits) => splits.map((value) => number(value, 4) + (value === splits[splits.length - 1] ? ` ${this.time.unit}` : "")) }, { ...marks, size: 52, gap: 4, values: (chart, splits) => splits.map((value) => number(value, 4)) }],
      series: [{}, ...plot.lines.map((line, place) => ({ stroke: tone(line, place), width: line.reference ? 1 : plot.lines.length > 12 ? 1 : 1.5, dash: line.reference ? [4, 4] : undefined, points: { show: this.head.n === 1 } }))],
      hooks: {
        setCursor: [(chart) => { if (chart.cursor.event && chart.cursor.idx !== null && chart.cursor.idx !== undefined) this.point(chart.cursor.idx + 1); }],
        draw: [(chart) => this.line(chart)],
      },
    }, data, room);
    room.chart = plot.chart;
    this.sized.observe(room);
    this.tell(plot);
  }

  // The common cursor: where the film and the scene are.
  line(chart) {
    const x = Math.round(chart.valToPos(this.time.times[this.step - 1] ?? 0, "x", true));
    chart.ctx.save();
    chart.ctx.strokeStyle = colour("--accent");
    chart.ctx.lineWidth = devicePixelRatio;
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, chart.bbox.top);
    chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
    chart.ctx.stroke();
    chart.ctx.restore();
  }

  point(step) {
    if (step !== this.step) this.onstep(step);
  }

  /** Put the cursor at a step, from 1. */
  set(step) {
    this.step = step;
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      for (const plot of this.plots) if (plot.chart) { plot.chart.redraw(false, false); this.tell(plot); }
    });
  }

  tell(plot) {
    const shown = plot.lines.slice(0, LISTED);
    replace(plot.values, shown.map((line, place) => {
      const name = h("span", {}, line.name ? `${line.name} ` : "", h("b", {}, number(line.values[this.step - 1], 4)));
      name.style.color = colour(PALETTE[(line.tone ?? place) % PALETTE.length]);
      return name;
    }), plot.lines.length > LISTED ? h("span", {}, "…") : null);
  }
}

/** The lines of a signal: a column each, then the reference's. */
export function lines(signal) {
  const name = (i) => (signal.names ? signal.names[i] : signal.columns === 1 ? "" : String(i));
  const own = signal.values.map((values, i) => ({ name: name(i), values, tone: i }));
  const reference = (signal.reference || []).map((values, i) => ({ name: "reference", values, tone: i, reference: true }));
  return [...own, ...reference];
}
