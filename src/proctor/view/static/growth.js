// Trials over the time that the page has been open.

import { h, number, replace, s } from "./dom.js";

const WIDTH = 360, HEIGHT = 90, MOST = 600;

/** A small chart that grows by `add`; `shown` says whether there is something to see. */
export function growth() {
  const points = [];
  const node = h("figure", { class: "growth" });

  function draw() {
    const [first, last] = [points[0], points[points.length - 1]];
    const span = last.at - first.at, most = last.done - first.done;
    const path = points.map((point, i) => `${i ? "L" : "M"}${((WIDTH * (point.at - first.at)) / span).toFixed(1)} ${(HEIGHT - 4 - ((HEIGHT - 8) * (point.done - first.done)) / most).toFixed(1)}`).join("");
    replace(node, h("figcaption", {}, `Trials finished since this page was opened: ${most} in ${number(span, 2)} s`),
      s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${most} trials in ${number(span, 2)} seconds` },
        s("line", { class: "rail", x1: 0, x2: WIDTH, y1: HEIGHT - 4, y2: HEIGHT - 4 }), s("path", { class: "line", d: path })));
  }

  return {
    node,
    shown: () => points.length > 1 && points[points.length - 1].done > points[0].done,
    add(run) {
      points.push({ at: performance.now() / 1000, done: run.done });
      if (points.length > MOST) points.splice(1, 1);
      if (this.shown()) draw();
    },
  };
}
