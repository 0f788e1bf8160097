"use strict";
// How many clusters were available over time: a chart for each group and window, all on one scale, and the same in words.

const Past = {
  FLOORS: [0.99, 0.95, 0.9, 0.75, 0.5, 0],
  TITLES: { "24h": "last 24 hours", "7d": "last 7 days", "30d": "last 30 days", "90d": "last 90 days", "1y": "last year", all: "since history begins" },
  /** However little is lost, so much of a chart's height says it. */
  NOTCH: 0.09,

  share: ([available, unknown, not]) => (available + unknown + not ? available / (available + unknown + not) : null),

  /** Never rounded up: what is not all is not called 100 %. */
  percent(share) {
    if (share === null) return "-";
    const digits = share >= 0.99 ? 100 : 10;
    return `${Math.floor(share * 100 * digits + 1e-9) / digits} %`;
  },

  /** An instant of a window, in UTC: the time of day where the window is a day, else with its date. */
  instant(all, window, seconds, day = false) {
    const date = new Date(Date.parse(all.until) - (window.seconds - seconds) * 1000).toISOString();
    const short = window.seconds <= 86400 ? date.slice(11, 16) : day ? date.slice(5, 10) : `${date.slice(5, 10)} ${date.slice(11, 16)}`;
    return muster.make("time", { dateTime: `${date.slice(0, 19)}Z`, title: `${date.slice(0, 19)}Z` }, short);
  },

  commit(all, number, text) {
    const [id, subject] = all.commits[number] || ["", ""];
    if (!id) return number < 0 ? null : "";
    const found = muster.commit(id);
    found.title = subject;
    if (text) found.replaceChildren(text);
    return found;
  },

  /** The lowest level in each column, null where nothing is known; a column without a step is as the one before it. */
  levels(window, found) {
    const levels = [];
    const known = Math.floor(window.known / window.seconds * window.columns);
    let [level, next] = [found.start, 0];
    for (let column = 0; column < window.columns; column += 1) {
      let [low, step] = [level, null];
      if (next < found.steps.length && found.steps[next][0] === column) {
        step = found.steps[next];
        next += 1;
        const [, a, b, c, ...last] = step;
        const [before, lowest] = [this.share(level), this.share([a, b, c])];
        if (column === known || before === null || (lowest !== null && lowest < before)) low = [a, b, c];
        level = last.slice(0, 3);
      }
      levels.push(column < known || this.share(low) === null ? null : { low, step });
    }
    return levels;
  },

  floor(all) {
    let lowest = 1;
    for (const group of all.groups) {
      group.windows.forEach((found, number) => {
        for (const one of this.levels(all.windows[number], found)) if (one) lowest = Math.min(lowest, this.share(one.low));
      });
    }
    return this.FLOORS.find((floor) => lowest >= floor + (1 - floor) * 0.1) ?? 0;
  },

  /** Available from below, and what is lacking on top of it: Unknown hatched, not available full. */
  chart(all, group, number, floor) {
    const window = all.windows[number];
    const levels = this.levels(window, group.windows[number]);
    const available = (level) => {
      const share = this.share(level);
      return share === 1 ? 1 : Math.min(1 - this.NOTCH, Math.max(0, (share - floor) / (1 - floor)));
    };
    const doubtful = ([, unknown, not]) => (unknown + not ? unknown / (unknown + not) : 0);
    const until = (level) => available(level) + (1 - available(level)) * doubtful(level);
    const area = (from, to) => levels.reduce((path, one, x) => {
      const [low, high] = one ? [from(one.low), to(one.low)] : [0, 0];
      return high > low ? `${path}M${x} ${1 - low}V${1 - high}h1V${1 - low}z` : path;
    }, "");
    const known = window.known / window.seconds * window.columns;
    const drawing = muster.draw("svg", { viewBox: `0 0 ${window.columns} 1`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${group.name || (group.by ? `no ${group.by}` : "the fleet")}, ${this.TITLES[window.key]}: ${this.words(all, group, number).textContent}` },
    known ? muster.draw("rect", { class: "before", x: 0, y: 0, width: known, height: 1 }) : "",
    muster.draw("path", { class: "True", d: area(() => 0, available) }),
    muster.draw("path", { class: "gap", d: area(available, until) }),
    muster.draw("path", { fill: "url(#hatched)", d: area(available, until) }),
    muster.draw("path", { class: "False", d: area(until, () => 1) }));
    const cursor = muster.make("i", { className: "cursor" });
    const frame = muster.make("div", { className: "chart" }, drawing, cursor);
    frame.dataset.window = window.key;
    frame.addEventListener("pointermove", (event) => this.point(event, frame, all, group, number, levels));
    frame.addEventListener("pointerleave", () => this.leave());
    return frame;
  },

  /** What is under the pointer, and where that instant is in the charts of the same window. */
  point(event, frame, all, group, number, levels) {
    const window = all.windows[number];
    const { left, width } = frame.getBoundingClientRect();
    const column = Math.max(0, Math.min(window.columns - 1, Math.floor((event.clientX - left) / width * window.columns)));
    for (const one of document.querySelectorAll(".chart")) {
      one.classList.toggle("pointed", one.dataset.window === window.key);
      one.querySelector(".cursor").style.left = `${(column + 0.5) / window.columns * 100}%`;
    }
    const seconds = (at) => at / window.columns * window.seconds;
    const one = levels[column];
    muster.tip(event, muster.make("strong", {}, group.name || (group.by ? "-" : "the fleet")), " ",
      this.instant(all, window, seconds(column)), "–", this.instant(all, window, seconds(column + 1)), muster.make("br"),
      one ? `${this.percent(this.share(one.low))}: ${this.count(one.low)}` : "nothing is known",
      ...(one && one.step && all.commits[one.step[8]] ? [muster.make("br"), all.commits[one.step[8]][1]] : []));
  },

  leave() {
    for (const one of document.querySelectorAll(".chart.pointed")) one.classList.remove("pointed");
    muster.tip();
  },

  count: ([available, unknown, not]) => [`${available} of ${available + unknown + not}`, unknown ? `${unknown} unknown` : "",
    not ? `${not} not` : ""].filter(Boolean).join(", "),

  /** What a chart shows, in a line: how much of the time, and when it was worst. */
  words(all, group, number) {
    const window = all.windows[number];
    const { mean, worst } = group.windows[number];
    if (mean === null) return muster.make("span", {}, "nothing was decided");
    if (!worst) return muster.make("span", {}, `${this.percent(mean)} throughout`);
    const [a, b, c, from, to, commit] = worst;
    const now = to >= window.seconds;
    return muster.make("span", {}, `${this.percent(mean)} on average; lowest `,
      muster.make("strong", { className: "doubt" }, this.percent(this.share([a, b, c]))), ` (${this.count([a, b, c])}) `,
      from <= window.known ? "from before " : now ? "since " : "at ", this.instant(all, window, from),
      now ? "" : ` for ${lasted(to - from)}`,
      ...(this.commit(all, commit) ? [", ", this.commit(all, commit)] : []));
  },

  cell(all, group, number, floor) {
    const title = this.TITLES[all.windows[number].key];
    const cell = muster.make("td", {}, this.chart(all, group, number, floor), muster.make("p", {}, this.words(all, group, number)));
    cell.dataset.title = title;
    return cell;
  },

  /** The fleet as a whole, larger, with axes. */
  fleet(all, group, floor, number) {
    const window = all.windows[number];
    const ticks = [0, 1, 2, 3, 4].map((quarter) => (quarter === 4 ? muster.make("span", {}, "now") : this.instant(all, window, window.seconds * quarter / 4, true)));
    return muster.make("figure", {}, muster.make("figcaption", {}, `The fleet, ${this.TITLES[window.key]}: `, this.words(all, group, number)),
      muster.make("div", { className: "axes" },
        muster.make("div", { className: "scale" }, muster.make("span", {}, "100 %"), muster.make("span", {}, `${Math.round(floor * 100)} %`)),
        this.chart(all, group, number, floor), muster.make("div", { className: "ticks" }, ...ticks)));
  },

  /** The ranges that history fills. */
  ranges(all, number, query) {
    return muster.make("p", { className: "switch" }, ...all.windows.map((window, i) => {
      const button = muster.make("button", { type: "button" }, window.key === "all" ? `all, ${lasted(window.seconds)}` : window.key);
      button.setAttribute("aria-pressed", i === number);
      button.addEventListener("click", () => {
        query.set("range", window.key);
        history.replaceState(null, "", `#/?${query}`);
        document.getElementById("over").replaceChildren(this.show(all, query));
        document.querySelectorAll("#over .switch button")[i].focus();
      });
      return button;
    }));
  },

  /** The groups of one sort: where there are many, those that were worst come first. */
  groups(all, by, floor, number) {
    const found = all.groups.filter((group) => group.by === by);
    const lowest = ({ windows: { [number]: { worst, mean } } }) => (worst ? this.share(worst.slice(0, 3)) : mean ?? 2);
    const many = found.length > 24;
    if (many) found.sort((a, b) => lowest(a) - lowest(b));
    const row = (group) => {
      const name = muster.make("th", { scope: "row" }, group.name
        ? muster.make("a", { href: `#/clusters?${new URLSearchParams([[by, group.name]])}` }, group.name) : "-");
      const [available, unknown, not] = group.now;
      const now = muster.make("td", { className: "now" }, muster.make("strong", {}, this.percent(this.share(group.now))),
        muster.make("p", {}, this.share(group.now) === null ? "nothing decided"
          : `${available} available${unknown ? `, ${unknown} unknown` : ""}${not ? `, ${not} not` : ""}`));
      return muster.make("tr", {}, name, now, this.cell(all, group, number, floor));
    };
    // Where there is little room its rows are drawn as blocks, and are no rows to a browser, unless they say so.
    const said = (table) => {
      const roles = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell", "thead th": "columnheader", "tbody th": "rowheader" };
      table.setAttribute("role", "table");
      for (const [selector, role] of Object.entries(roles)) for (const one of table.querySelectorAll(selector)) one.setAttribute("role", role);
      return table;
    };
    const table = (rows) => said(muster.make("table", { className: "over" },
      muster.make("thead", {}, muster.make("tr", {}, ...[by, "now", this.TITLES[all.windows[number].key]].map((title) =>
        muster.make("th", { scope: "col" }, title)))), muster.make("tbody", {}, ...rows)));
    const rest = found.slice(24);
    return muster.make("section", {}, muster.make("h3", {}, `By ${by}`), table(found.slice(0, 24).map(row)),
      many ? this.later(`${rest.length} more, which were never lower`, () => table(rest.map(row))) : null);
  },

  /** What is drawn when somebody opens it. */
  later(title, make) {
    const box = muster.make("details", {}, muster.make("summary", {}, title));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(make()); });
    return box;
  },

  changes(all) {
    const parts = ([number, a, b, c, ...after]) => {
      const group = all.groups[number];
      const name = group.by ? `${group.by} ${group.name || "-"}` : "fleet";
      return muster.make("span", { className: "tag" }, `${name}: ${a} → ${this.count(after)}`);
    };
    const rows = all.changes.map(([at, commit, groups]) => [
      muster.make("time", { dateTime: at }, at),
      muster.make("span", {}, commit < 0 ? "not committed yet" : `${all.commits[commit][1]} `, this.commit(all, commit)),
      muster.make("span", {}, ...groups.slice(0, 8).map(parts), groups.length > 8 ? `and ${groups.length - 8} more` : ""),
    ]);
    return this.later(`The latest ${rows.length} changes of availability, with their commits`,
      () => muster.table(["when", "what", "how many were available, and are"], rows));
  },

  begins(all) {
    if (!all.begins) return null;
    const why = { none: "there are no commits", clone: "this clone has no history from before it: fetch more of it to see more",
      first: "nothing was decided before", length: "muster reads no more of a history as long as this one" }[all.reason];
    return muster.make("p", { className: "soft" }, `History begins at ${all.begins}: ${why}.`);
  },

  /** One range at a time; nothing where there was nothing. */
  show(all, query) {
    const asked = all.windows.findIndex((window) => window.key === query.get("range"));
    const number = asked < 0 ? Math.max(0, all.windows.findIndex((window) => window.key === "24h")) : asked;
    if (!all.windows.length || all.groups[0].windows.every(({ mean }) => mean === null)) {
      const why = all.windows.length ? "Nothing was decided about any cluster yet" : `History begins at ${all.begins}`;
      return muster.make("p", { className: "soft" }, `${why}: availability over time is drawn later.`);
    }
    const floor = this.floor(all);
    const pattern = muster.draw("pattern", { id: "hatched", width: 2, height: 1, patternUnits: "userSpaceOnUse" }, // of columns
      muster.draw("rect", { width: 1, height: 1 }));
    const many = (by) => all.groups.filter((group) => group.by === by).length > 1;
    return muster.make("section", {}, muster.make("h3", {}, "Availability"), this.ranges(all, number, query),
      muster.draw("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": "true" }, muster.draw("defs", {}, pattern)),
      this.fleet(all, all.groups[0], floor, number),
      muster.make("p", { className: "soft key" }, `${Math.round(floor * 100)} to 100 % of the clusters about which anything is decided; times are UTC. `,
        ...[["True", "available"], ["gap", "unknown"], ["False", "not available"]].flatMap(([name, text]) => [muster.make("i", { className: name }), `${text} `])),
      all.windows[number].key === "all" ? this.begins(all) : null, this.changes(all), ...["region", "set"].filter(many).map((by) => this.groups(all, by, floor, number)));
  },
};
