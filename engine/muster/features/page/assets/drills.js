"use strict";
// Drills: for each domain that is lost, and each object, whether a forbidden state came about in the rehearsal.

/** Of a larger matrix only the rows and columns are shown in which anything happens. */
const DRILL_ROWS = 40;
const DRILL_COLUMNS = 10;

const Drills = {
  view() {
    if (!muster.data.drills) {
      muster.show("Drills", muster.make("p", {}, "Reading …"));
      return muster.load("data/drills.js", "drills", () => muster.route(true));
    }
    return muster.show("Drills", ...muster.data.drills.map((one) => Drills.section(one)));
  },

  section(one) {
    const facts = [["lost", muster.make("code", {}, one.lose)], ["agents stop", muster.make("span", {}, muster.time(one.start), ` for ${one.for}`)],
      ["never", muster.make("span", {}, ...one.never.flatMap(([name, expression], i) => [i ? muster.make("br") : "", `${name}: `, muster.make("code", {}, expression)]))]];
    const broken = one.rows.flatMap(([, , cells]) => cells).filter((cell) => cell && cell[0].length).length;
    return muster.make("section", {}, muster.make("h3", {}, one.name, " ",
      broken ? muster.make("span", { className: "bad" }, `fails in ${plural(broken, "cell")}`) : muster.make("span", { className: "good" }, one.empty ? "" : "holds")),
    muster.make("dl", { className: "facts" }, ...facts.flatMap(([title, fact]) => [muster.make("dt", {}, title), muster.make("dd", {}, fact)])),
    one.empty ? muster.make("p", { className: "bad" }, one.empty) : this.matrix(one));
  },

  matrix({ name, columns, rows }) {
    const shown = columns.map((_, i) => i).filter((i) => columns.length <= DRILL_COLUMNS || rows.some(([, , cells]) => cells[i]));
    const busy = rows.filter(([, , cells]) => rows.length <= DRILL_ROWS || cells.some(Boolean));
    const left = [[rows.length - busy.length, "other domain"], [columns.length - shown.length, "other object"]].filter(([count]) => count);
    const head = muster.make("tr", {}, muster.make("th", { scope: "col" }, "lost"), ...shown.map((i) => muster.make("th", { scope: "col" }, this.object(columns[i]))));
    const body = busy.map(([domain, clusters, cells]) => muster.make("tr", {},
      muster.make("th", { scope: "row" }, domain, clusters > 1 ? muster.make("span", { className: "soft" }, ` ${clusters} clusters`) : ""),
      ...shown.map((i) => this.cell(cells[i]))));
    const box = muster.make("div", { className: "matrix", tabIndex: 0, role: "region" }, muster.make("table", {}, muster.make("thead", {}, head), muster.make("tbody", {}, ...body)));
    box.setAttribute("aria-label", `Drill ${name}`);
    return muster.make("div", {}, busy.length && shown.length ? box : null,
      left.length ? muster.make("p", { className: "soft" }, `ok: ${left.map(([count, noun]) => plural(count, noun)).join(", ")}`) : null);
  },

  cell(cell) {
    if (!cell) return muster.make("td", { className: "soft" }, "ok");
    const [broken, held] = cell;
    return muster.make("td", { className: broken.length ? "broken" : "" },
      ...broken.map((text) => muster.make("p", {}, muster.make("strong", { className: "bad" }, "✗"), ` ${text}`)),
      ...held.map((text) => muster.make("p", { className: "soft" }, text)));
  },

  object([kind, namespace, name]) {
    if (kind === "Placement") return placementLink({ namespace, name });
    if (kind === "Rollout") return rolloutLink(`${namespace}/${name}`);
    return muster.make("a", { href: kind === "ClusterPool" ? "#/pools" : "#/remedies" }, `${namespace}/${name}`);
  },
};
