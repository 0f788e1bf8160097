"use strict";
// Settings that were tried on the past: for each value a bar of the outages that it finds, false alarms at the end.

const Tried = {
  view() {
    const { tried } = muster.data.fleet;
    muster.show("Settings tried on the past", ...(tried || []).map((one) => Tried.setting(one)));
  },

  setting({ set, rows }) {
    const most = Math.max(1, ...rows.map(([, found]) => found));
    return muster.make("section", {}, muster.make("h3", {}, muster.make("code", {}, set)),
      muster.table(["value", "outages found", "outages", "earlier", "false alarms", "moves", "effects held"],
        rows.map(([value, found, alarms, moves, held, seconds]) => [
          value === "" ? "as it was" : value, this.bar(found, alarms, most), `${found}`, this.lead(seconds), `${alarms}`, `${moves}`, `${held}`])),
      muster.make("p", { className: "soft" }, "Green: outages that lasted. Red: false alarms, which news ended soon."));
  },

  /** Outages on one scale for all values. */
  bar(found, alarms, most) {
    const drawing = muster.draw("svg", { viewBox: `0 0 ${most} 1`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${found} outages, ${alarms} of them false alarms` });
    drawing.append(muster.draw("rect", { x: 0, y: 0, width: found - alarms, height: 1, class: "good" }),
      muster.draw("rect", { x: found - alarms, y: 0, width: alarms, height: 1, class: "bad" }));
    return muster.make("div", { className: "bar" }, drawing);
  },

  lead(seconds) {
    if (seconds === null) return "-";
    const minutes = Math.round(Math.abs(seconds) / 6) / 10;
    return seconds < 0 ? `${minutes} min later` : `${minutes} min`;
  },
};
