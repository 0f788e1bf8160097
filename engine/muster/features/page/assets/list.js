"use strict";
// The list of clusters: worst first, narrowed by facets, as a table or as a map. What is chosen is kept in the address.

const List = {
  /** How bad each state is: the worst first. */
  STATES: ["False", "Unknown", "", "Waiting", "NotJoined", "True", "Denied"],
  MOST: 8,
  SHOWN: ["Status", "Since", "Reason", "Region", "Set", "Version", "Taints", "Held"],

  view(query) {
    const fleet = muster.data.fleet;
    this.query = query;
    this.facets = this.makeFacets();
    const column = (title, number, more = {}) => ({ title, text: (row) => row[number], cell: (row) => row[number] || "-", kind: title.toLowerCase(), ...more });
    const all = [
      column("Name", NAME, { cell: (row) => muster.cluster(row[NAME]) }),
      column("Status", STATUS, { text: (row) => `${row[STATUS]} ${STATES[stateOf(row)]}`, sort: (row) => this.STATES.indexOf(stateOf(row)),
        cell: (row) => muster.make("span", { className: stateOf(row) }, STATES[stateOf(row)]) }),
      column("Since", SINCE, { cell: (row) => (row[SINCE] ? age(row[SINCE]) : "-") }), column("Reason", REASON), column("Region", REGION),
      column("Set", SET), column("Version", VERSION), column("Taints", TAINTS), column("Held", HELD), column("Accepted", ACCEPTED), column("Kind", KIND),
    ];
    const labels = (query.get("columns") || "").split(",").filter((name) => name.startsWith("label:"))
      .map((name) => ({ title: name.slice(6), name, text: (row) => this.label(row, name.slice(6)), cell: (row) => this.label(row, name.slice(6)) || "-", kind: "label" }));
    this.titles = all.slice(1).map((one) => one.title);
    const chosen = query.has("columns") ? query.get("columns").split(",") : this.SHOWN;
    const columns = [all[0], ...all.slice(1).filter((one) => chosen.includes(one.title)), ...labels];
    const everything = { title: "label", text: (row) => this.labels(row).map(([key, text]) => `${key}=${text}`).join(" ") };
    const order = query.get("sort") || "Status";
    const number = columns.findIndex((one) => one.title === order.replace(/^-/, ""));
    Rows.orders.clusters = { column: Math.max(0, number), down: order.startsWith("-") };
    const rows = new Rows(columns, fleet.clusters, "clusters", (text) => this.put("q", [text]), [...all, everything]);
    this.rows = rows;
    rows.sorted = () => this.put("sort", [`${rows.order.down ? "-" : ""}${columns[rows.order.column].title}`]);
    rows.narrowed = (row) => this.facets.every((facet) => !facet.chosen.size || this.passes(facet, row));
    if (query.has("columns")) rows.box.classList.add("chosen");
    const arrange = rows.arrange.bind(rows);
    rows.arrange = () => { arrange(); this.count(); };
    this.side = muster.make("details", { className: "facets", open: matchMedia("(min-width: 61rem)").matches });
    this.map = muster.make("div", { className: "map" });
    const isMap = query.get("view") === "map";
    rows.bar.append(this.switch(isMap), isMap ? "" : this.menu(chosen));
    if (isMap) rows.box.replaceWith(this.map);
    muster.show("Clusters", muster.make("div", { className: "list" }, this.side, rows.element));
    rows.filter(query.get("q") || "", true);
  },

  labels(row) {
    const { words } = muster.data.fleet;
    const found = [];
    for (let i = 0; i < row[LABELS].length; i += 2) found.push([words[row[LABELS][i]], words[row[LABELS][i + 1]]]);
    return found;
  },

  label(row, key) {
    const { words } = muster.data.fleet;
    for (let i = 0; i < row[LABELS].length; i += 2) if (words[row[LABELS][i]] === key) return words[row[LABELS][i + 1]];
    return "";
  },

  /** What clusters can be narrowed by: name, the values of a row, and those that are chosen. */
  makeFacets() {
    const facet = (name, values) => ({ name, values, chosen: new Set(this.query.getAll(name)) });
    const labels = this.query.getAll("by").map((key) => facet(`label:${key}`, (row) => [this.label(row, key)]));
    return [facet("state", (row) => [stateOf(row)]), facet("region", (row) => [row[REGION]]), facet("set", (row) => [row[SET]]),
      facet("version", (row) => [row[VERSION]]), facet("taint", (row) => (row[TAINTS] ? row[TAINTS].split(", ") : [""])), ...labels];
  },

  passes: (facet, row) => facet.values(row).some((text) => facet.chosen.has(text)),

  /** Keep a choice in the address; a single empty text is none. */
  put(name, values, one = true) {
    this.query.delete(name);
    for (const text of values) if (text || !one) this.query.append(name, text);
    history.replaceState(null, "", `#/clusters${this.query.size ? "?" : ""}${this.query}`);
  },

  /** Count each value of each facet among the clusters that all other facets leave. */
  count() {
    const counts = this.facets.map(() => new Map());
    const chosen = this.facets.filter((facet) => facet.chosen.size);
    for (const { row } of this.rows.found) {
      const failed = chosen.filter((facet) => !this.passes(facet, row));
      if (failed.length > 1) continue;
      this.facets.forEach((facet, i) => {
        if (failed.length && failed[0] !== facet) return;
        for (const text of facet.values(row)) counts[i].set(text, (counts[i].get(text) || 0) + 1);
      });
    }
    this.drawFacets(counts);
    if (this.map.isConnected) this.drawMap();
  },

  drawFacets(counts) {
    const focused = this.side.contains(document.activeElement) ? document.activeElement.id : "";
    const open = new Set([...this.side.querySelectorAll("details[open]")].map((one) => one.dataset.facet));
    const chosen = this.facets.reduce((sum, facet) => sum + facet.chosen.size, 0);
    const parts = this.facets.map((facet, i) => this.drawFacet(facet, counts[i], open));
    this.side.replaceChildren(muster.make("summary", {}, chosen ? `Narrowed by ${chosen}` : "Narrow by"),
      chosen ? muster.make("a", { href: "#/clusters" }, "Show all") : "", ...parts.filter(Boolean), this.anyLabel());
    if (focused) document.getElementById(focused)?.focus();
  },

  drawFacet(facet, counts, open) {
    for (const text of facet.chosen) if (!counts.has(text)) counts.set(text, 0);
    const asked = facet.name === "state" || facet.name.startsWith("label:") || facet.chosen.size;
    if (counts.size < 2 && !asked) return null;
    const rank = facet.name === "state" ? ([text]) => this.STATES.indexOf(text) : ([text, count]) => (facet.chosen.has(text) ? -Infinity : -count);
    const values = [...counts].sort((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1));
    const line = ([text, count]) => {
      const id = `${facet.name}=${text}`;
      const box = muster.make("input", { type: "checkbox", id, checked: facet.chosen.has(text) });
      box.addEventListener("change", () => {
        if (box.checked) facet.chosen.add(text); else facet.chosen.delete(text);
        this.put(facet.name, facet.chosen, false);
        this.rows.narrow();
      });
      const words = facet.name === "state" ? STATES[text] : text || "none";
      return muster.make("label", {}, box, muster.make("span", { className: facet.name === "state" ? text : "", title: words }, words),
        muster.make("span", { className: "count" }, String(count)));
    };
    const rest = values.slice(this.MOST, 200);
    const more = rest.length ? muster.make("details", { open: open.has(facet.name) }, muster.make("summary", {}, `${values.length - this.MOST} more`), ...rest.map(line)) : "";
    if (more) more.dataset.facet = facet.name;
    return muster.make("fieldset", {}, muster.make("legend", {}, facet.name.replace("label:", "")), ...values.slice(0, this.MOST).map(line), more);
  },

  /** All keys of labels, to narrow by another one. */
  anyLabel() {
    const known = new Set(this.query.getAll("by"));
    const keys = this.keys().filter((key) => !known.has(key));
    if (!keys.length) return "";
    const select = muster.make("select", { id: "by" }, muster.make("option", { value: "" }, "by a label …"), ...keys.map((key) => muster.make("option", { value: key }, key)));
    select.setAttribute("aria-label", "Narrow by a label");
    select.addEventListener("change", () => {
      this.put("by", [...known, select.value]);
      this.facets = this.makeFacets();
      this.rows.narrow();
    });
    return select;
  },

  keys() {
    const { fleet } = muster.data;
    if (!fleet.keys) {
      const found = new Set();
      for (const row of fleet.clusters) for (let i = 0; i < row[LABELS].length; i += 2) found.add(row[LABELS][i]);
      fleet.keys = [...found].map((number) => fleet.words[number]).sort();
    }
    return fleet.keys;
  },

  /** As a table, or as a map. */
  switch(isMap) {
    const button = (text, view, pressed) => {
      const made = muster.make("button", { type: "button" }, text);
      made.setAttribute("aria-pressed", pressed);
      made.addEventListener("click", () => { this.put("view", [view]); this.view(this.query); });
      return made;
    };
    return muster.make("span", { className: "switch" }, button("Table", "", !isMap), button("Map", "map", isMap));
  },

  /** Which columns there are. */
  menu(chosen) {
    const names = [...this.titles, ...new Set([...chosen.filter((name) => name.startsWith("label:")), ...this.keys().map((key) => `label:${key}`)])];
    const line = (name) => {
      const box = muster.make("input", { type: "checkbox", checked: chosen.includes(name) });
      box.addEventListener("change", () => {
        const now = names.filter((one) => (one === name ? box.checked : chosen.includes(one)));
        this.put("columns", [now.join(",") || "-"]);
        this.view(this.query);
        document.querySelector(".menu").open = true;
      });
      return muster.make("label", {}, box, muster.make("span", {}, name.replace("label:", "")));
    };
    return muster.make("details", { className: "menu" }, muster.make("summary", {}, "Columns"), muster.make("div", {}, ...names.slice(0, 60).map(line)));
  },

  /** A square for each cluster, by region, the worst first. */
  drawMap() {
    const [size, step] = [13, 16];
    const groups = new Map();
    for (const { row } of this.rows.shown) {
      if (!groups.has(row[REGION])) groups.set(row[REGION], []);
      groups.get(row[REGION]).push(row);
    }
    const width = Math.max(10, Math.floor((this.map.clientWidth || 600) / step));
    const parts = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([region, rows]) => {
      const sorted = rows.sort((a, b) => this.STATES.indexOf(stateOf(a)) - this.STATES.indexOf(stateOf(b)));
      const paths = new Map();
      sorted.forEach((row, i) => {
        const state = stateOf(row);
        paths.set(state, `${paths.get(state) || ""}M${i % width * step} ${Math.floor(i / width) * step}h${size}v${size}h-${size}z`);
      });
      const words = this.STATES.map((state) => [state, sorted.filter((row) => stateOf(row) === state).length]).filter(([, count]) => count)
        .map(([state, count]) => `${count} ${(STATES[state]).toLowerCase()}`).join(", ");
      const [across, down] = [Math.min(sorted.length, width) * step, Math.ceil(sorted.length / width) * step];
      const drawing = muster.draw("svg", { width: across, height: down, viewBox: `0 0 ${across} ${down}`, role: "img", "aria-label": `${region || "no region"}: ${words}` },
        ...[...paths].map(([state, d]) => muster.draw("path", { d, class: state || "none" })));
      const under = (event) => {
        const { left, top } = drawing.getBoundingClientRect();
        return sorted[Math.floor((event.clientY - top) / step) * width + Math.floor((event.clientX - left) / step)];
      };
      drawing.addEventListener("pointermove", (event) => {
        const row = under(event);
        if (row) muster.tip(event, muster.make("strong", {}, row[NAME]), ` ${STATES[stateOf(row)]}${row[SINCE] ? ` for ${age(row[SINCE])}` : ""}`);
        else muster.tip();
      });
      drawing.addEventListener("pointerleave", () => muster.tip());
      drawing.addEventListener("click", (event) => { const row = under(event); muster.tip(); if (row) location.hash = `#/cluster/${encodeURIComponent(row[NAME])}`; });
      return muster.make("section", {}, muster.make("h3", {}, region || "no region", muster.make("span", { className: "soft" }, ` ${words}`)), drawing);
    });
    this.map.replaceChildren(...parts);
  },
};
