// The film or the scene of a trial, and the one time that they and the plots share.

import { fileUrl, h, number, packed, apiUrl, replace } from "./dom.js";

export class Player {
  /** `onstep(step)` is told whenever the time changes; steps count from 1. */
  constructor(run, key, trial, signal) {
    this.run = run;
    this.key = key;
    this.trial = trial;
    this.signal = signal;
    this.n = trial.steps || 0;
    this.step = 1;
    this.dt = null;
    this.playing = false;
    this.onstep = null;
    this.room = h("div", { class: "stage" });
    this.button = h("button", { type: "button", class: "button", "aria-label": "play or pause", onclick: () => this.toggle() }, "Play");
    this.slider = h("input", { type: "range", min: 1, max: Math.max(1, this.n), value: 1, "aria-label": "step", oninput: () => this.set(Number(this.slider.value)) });
    this.clock = h("output", {});
    this.moments = h("ul", { class: "moments", "aria-label": "moments" });
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "film or scene" });
    this.scrub = h("div", { class: "scrub", hidden: true }, this.button, this.slider, this.clock);
    this.node = h("div", {}, this.tabs, this.room, this.scrub, this.moments);
    this.video = trial.video ? h("video", { src: fileUrl(run, trial.video), muted: true, playsinline: true, preload: "auto", "aria-label": `film of ${key}` }) : null;
    this.scene = null;
    if (this.video) {
      this.video.muted = true;
      this.video.addEventListener("ended", () => this.pause());
    }
    this.spatial = false;
    if (this.video) this.choose("film");
    else replace(this.room, h("p", { class: "empty" }, "Loading …"));
  }

  choose(kind) {
    this.kind = kind;
    const tab = (name, words) => h("button", { type: "button", class: "button", role: "tab", "aria-selected": String(kind === name), onclick: () => this.choose(name) }, words);
    replace(this.tabs, this.spatial ? [this.video ? tab("film", "Film") : null, tab("scene", "In space")] : null);
    if (kind === "film") replace(this.room, this.video);
    else this.space();
    this.seek();
  }

  async space() {
    if (this.scene) { replace(this.room, this.scene.node); this.scene.set(this.step - 1); return; }
    if (this.refused) { replace(this.room, this.refused); return; }
    replace(this.room, h("p", { class: "empty" }, "Loading the scene …"));
    try {
      const answer = await packed(apiUrl(this.run, `/scene?trial=${encodeURIComponent(this.key)}`), this.signal);
      const { Scene } = await import("./scene.js");
      this.scene = new Scene(answer, this.room);
      this.room.dataset.kind = answer.head.kind;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.refused = h("div", { class: "empty" }, h("p", {}, error.message));
    }
    if (this.kind === "scene") this.space();
  }

  /** The record has come, or there is none, and `why` says so. The scene is offered where there is one. */
  begin(head, why = "") {
    this.spatial = !!head && !head.no_space;
    this.scrub.hidden = !(this.n && (head || this.video));
    if (this.video) this.choose(this.kind);
    else if (this.spatial) this.choose("scene");
    else this.nothing(head ? head.no_space : why);
    if (head) {
      this.n = head.n;
      this.dt = head.dt_s;
      this.slider.max = Math.max(1, head.n);
      replace(this.moments, head.moments.slice(0, 14).map((moment) => h("li", {}, h("button", { type: "button", class: "moment", onclick: () => this.set(moment.step) }, h("b", {}, this.words(moment.step)), moment.text))));
    }
    this.set(this.n || 1);
  }

  nothing(why) {
    const again = this.trial.commands.find((one) => one.command.includes("--video"));
    replace(this.room, h("div", { class: "empty" }, h("p", {}, why), again ? h("p", {}, "There is no film of this trial either. Film it: ", h("code", {}, again.command)) : null));
  }

  words(step) {
    return this.dt ? `${number(step * this.dt, 4)} s` : `step ${number(step)}`;
  }

  set(step) {
    this.step = Math.min(Math.max(1, this.n), Math.max(1, step));
    this.slider.value = this.step;
    replace(this.clock, `step ${number(this.step)} of ${number(this.n)}${this.dt ? `, ${number(this.step * this.dt, 4)} s` : ""}`);
    if (this.scene && this.kind === "scene") this.scene.set(this.step - 1);
    if (this.onstep) this.onstep(this.step);
    if (!this.playing) this.seek();
  }

  move(by) {
    this.pause();
    this.set(this.step + by);
  }

  // The film covers all steps, whatever its rate.
  seek() {
    if (this.video && this.kind === "film" && this.video.duration) {
      const at = (this.video.duration * (this.step - 0.5)) / Math.max(1, this.n);
      if (Math.abs(this.video.currentTime - at) > 0.02) this.video.currentTime = at;
    } else if (this.video && this.kind === "film") this.video.addEventListener("loadedmetadata", () => this.seek(), { once: true });
  }

  toggle() {
    if (this.scrub.hidden) return;
    if (this.playing) this.pause();
    else this.play();
  }

  pause() {
    this.playing = false;
    this.video?.pause();
    this.button.textContent = "Play";
  }

  play() {
    if (this.step >= this.n) this.set(1);
    this.playing = true;
    this.button.textContent = "Pause";
    const film = this.video && this.kind === "film";
    if (film) { this.seek(); this.video.play().catch(() => this.pause()); }
    const began = performance.now(), from = this.step, rate = this.dt ? 1 / this.dt : 30;
    const tick = (now) => {
      if (!this.playing) return;
      const step = film && this.video.duration ? Math.ceil((this.n * this.video.currentTime) / this.video.duration) : from + Math.floor(((now - began) / 1000) * rate);
      this.set(step || 1);
      if (!film && step >= this.n) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  close() {
    this.pause();
    this.scene?.close();
  }
}

