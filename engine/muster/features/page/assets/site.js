"use strict";
// Builds every page out of data that scripts beside this one hand over. Texts of anybody's become text, never markup.

const muster = {
  data: {},
  waiting: {},
  read: {},

  put(name, value) {
    if (name === "details") Object.assign(this.read, value);
    else this.data[name] = value;
    (this.waiting[name] || []).splice(0).forEach((go) => go());
    if (name === "fleet") this.begun ? this.renew() : this.begin();
  },

  /** An element with properties and children: texts are texts. */
  make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    Object.assign(element, properties);
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  },

  draw(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  },

  load(path, name, then) {
    (this.waiting[name] ||= []).push(then);
    const { live, commit } = this.data.fleet;
    this.fetch(live ? `${path}?at=${commit}` : path, () => {
      if (!live) return this.show("Missing", this.make("p", {}, `${path} is not beside this page.`));
      delete this.waiting[name];
      return this.ask(); // there is another commit by now
    });
  },

  fetch(src, failed) {
    const script = this.make("script", { src });
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => { script.remove(); failed(); });
    document.head.append(script);
  },

  /** Where somebody serves the page: what it shows is read again when there is another commit. */
  follow() {
    const state = document.getElementById("live");
    const events = new EventSource("events");
    const say = (text) => { if (state.textContent !== text) state.textContent = text; };
    events.addEventListener("open", () => say("live"));
    events.addEventListener("error", () => say("not connected"));
    events.addEventListener("revision", ({ data }) => { if (data !== this.data.fleet.commit) this.ask(); });
  },

  ask() {
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.fetch("data/fleet.js", () => {}), 200);
  },

  /** Show the same of another commit, where the reader was. */
  renew() {
    const rows = document.querySelector(".rows");
    const [y, top, typing] = [scrollY, rows ? rows.scrollTop : 0, document.activeElement && document.activeElement.id === "filter"];
    this.read = {};
    delete this.data.placements;
    delete this.data.rollouts;
    delete this.data.drills;
    this.date();
    this.route(true);
    const filter = document.getElementById("filter");
    if (typing && filter) filter.focus();
    const again = document.querySelector(".rows");
    if (again) again.scrollTop = top;
    scrollTo(0, y);
  },

  date() {
    const { now, commit } = this.data.fleet;
    for (const link of document.querySelectorAll("#pages a")) link.hidden = { "#/rollouts": !this.data.fleet.rollouts.length, "#/drills": !this.data.fleet.drills, "#/tried": !this.data.fleet.tried }[link.hash] || false;
    const date = ["as of ", this.make("time", { dateTime: now }, now)];
    if (commit) date.push(", commit ", this.commit(commit));
    document.getElementById("date").replaceChildren(...date);
  },

  begin() {
    this.begun = true;
    const fleet = this.data.fleet;
    document.getElementById("title").textContent = fleet.title;
    const pages = document.getElementById("pages");
    for (const [path, title] of PAGES) pages.append(this.make("a", { href: `#/${path}` }, title), " ");
    this.date();
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => Rows.print(true));
    addEventListener("afterprint", () => Rows.print(false));
    const help = this.make("button", { type: "button", title: "Keys" }, "?");
    help.setAttribute("aria-label", "Keys");
    help.addEventListener("click", () => this.help());
    document.getElementById("asof").append(" ", help);
    this.route(true);
    if (fleet.live && "EventSource" in window) this.follow();
  },

  key(event) {
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape") || document.querySelector("dialog[open]")) return;
    const rows = Rows.current && Rows.current.box.isConnected ? Rows.current : null;
    if (event.key === "Escape" && typing) typing.blur();
    else if (event.key === "/" && !document.getElementById("filter")) location.hash = "#/clusters";
    else if (event.key === "/") document.getElementById("filter").focus();
    else if ((event.key === "j" || event.key === "k") && rows) rows.move(event.key === "j" ? 1 : -1);
    else if (event.key === "?") this.help();
    else return;
    event.preventDefault();
  },

  help() {
    const keys = [["/", "the list of clusters, and its filter"], ["j, k", "the next row, the one before"], ["Enter", "open it"],
      ["Esc", "leave the filter"], ["?", "this help"]];
    const close = this.make("button", { type: "button", autofocus: true }, "Close");
    const box = this.make("dialog", {}, this.make("h2", {}, "Keys"), this.make("dl", {}, ...keys.flatMap(([key, text]) => [
      this.make("dt", {}, this.make("kbd", {}, key)), this.make("dd", {}, text)])), close);
    box.setAttribute("aria-label", "Keys");
    close.addEventListener("click", () => box.close());
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
  },

  /** What is under the pointer, in words; without words, nothing. */
  tip(event, ...children) {
    let tip = document.getElementById("tip");
    if (!children.length) return tip && tip.remove();
    if (!tip) {
      tip = this.make("div", { id: "tip" });
      tip.setAttribute("aria-hidden", "true");
      document.body.append(tip);
    }
    tip.replaceChildren(...children);
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18}px`;
    return tip;
  },

  route(first = false) {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const [page = "", ...rest] = path.split("/").map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
    for (const link of document.querySelectorAll("#pages a")) {
      const own = link.getAttribute("href") === `#/${page}` || (page === "cluster" && link.hash === "#/clusters")
        || (page === "placement" && link.hash === "#/placements")
        || (page === "rollout" && link.hash === "#/rollouts");
      if (own) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.tip();
    (VIEWS[page] || VIEWS[""])(rest, new URLSearchParams(query));
    if (!first) document.getElementById("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  },

  show(title, ...children) {
    document.title = `${title} · ${this.data.fleet.title}`;
    document.getElementById("main").replaceChildren(this.make("h2", {}, title), ...children.filter(Boolean));
  },

  time: (instant) => muster.make("time", { dateTime: instant }, instant),
  status: (text) => muster.make("span", { className: text }, text || "-"),
  commit: (id) => muster.linked(muster.data.fleet.links && muster.data.fleet.links.commit, { commit: id }, id.slice(0, 12)),
  cluster: (name) => muster.make("a", { href: `#/cluster/${encodeURIComponent(name)}` }, name),

  file(file) {
    const { links, commit } = muster.data.fleet;
    const shown = file.ref ? `${file.ref}: ${file.path}` : file.path;
    return muster.linked(!file.ref && commit && links && links.file, { commit, path: file.path }, shown);
  },

  /** A link by a template, where there is one; else the text alone. */
  linked(template, values, text) {
    const code = muster.make("code", {}, text);
    if (!template) return code;
    const href = template.replace(/\{(\w+)\}/g, (_, name) => values[name].split("/").map(encodeURIComponent).join("/"));
    return muster.make("a", { href, rel: "noreferrer" }, code);
  },

  /** A table. A column, but the first, without anything in its cells is left out. */
  table(all, rows) {
    const columns = all.map((_, i) => i).filter((i) => !i || !rows.length || rows.some((row) => row[i] && row[i] !== "-"));
    const titles = columns.map((i) => all[i]);
    const head = muster.make("thead", {}, muster.make("tr", {}, ...titles.map((t) => muster.make("th", { scope: "col" }, t))));
    const cells = (row) => columns.map((column) => row[column] || "-").map((cell, i) => {
      const made = muster.make("td", { className: cell === "-" ? "none" : "" }, cell);
      made.dataset.title = titles[i];
      return made;
    });
    return muster.make("table", { className: "plain" }, head,
      muster.make("tbody", {}, ...rows.map((row) => muster.make("tr", {}, ...cells(row)))));
  },

  tiles(entries) {
    return muster.make("ul", { className: "tiles" }, ...entries.map(([number, words, href, sort]) => {
      const inner = [muster.make("strong", { className: sort || "" }, String(number)), words];
      return muster.make("li", {}, href ? muster.make("a", { href }, ...inner) : muster.make("div", {}, ...inner));
    }));
  },

  /** How many are True, False, Unknown and none of these, as a bar and in words. */
  bar(counts) {
    const total = STATUSES.reduce((sum, status) => sum + (counts[status] || 0), 0) || 1;
    const drawing = this.draw("svg", { viewBox: `0 0 ${total} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
    let x = 0;
    for (const status of STATUSES) {
      drawing.append(this.draw("rect", { x, y: 0, width: counts[status] || 0, height: 1, class: status || "none" }));
      x += counts[status] || 0;
    }
    return muster.make("div", { className: "bar" }, drawing);
  },
};

const STATUSES = ["True", "Unknown", "False", "Denied", "NotJoined", ""];
const PAGES = [["", "Overview"], ["clusters", "Clusters"], ["placements", "Placements"], ["rollouts", "Rollouts"], ["pools", "Pools"],
  ["remedies", "Remedies and traffic"], ["adapters", "Adapters"], ["findings", "Findings"], ["drills", "Drills"], ["tried", "Tried settings"]];
const [NAME, KIND, ACCEPTED, STATUS, REASON, SINCE, REGION, SET, TAINTS, HELD, VERSION, LABELS] = Array.from({ length: 12 }, (_, i) => i);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const lasted = (seconds) => {
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0s";
  const [size, unit] = units[first];
  const [less, small] = units[first + 1] || [1, ""];
  const rest = Math.floor((seconds % size) / less);
  return `${Math.floor(seconds / size)}${unit}${rest && small ? rest + small : ""}`;
};
const age = (instant) => {
  const seconds = Math.round((Date.parse(muster.data.fleet.now) - Date.parse(instant)) / 1000);
  return Number.isNaN(seconds) ? "-" : lasted(seconds);
};

/** How much of each may still be disrupted; what is beyond it is red. */
function budgets(used) {
  const rows = used.map(({ budget, disrupted, allowed }) => [
    budget,
    muster.bar({ Unknown: Math.min(disrupted, allowed), False: Math.max(0, disrupted - allowed), "": Math.max(0, allowed - disrupted) }),
    `${disrupted} disrupted, ${allowed} allowed`,
  ]);
  return muster.make("section", {}, muster.make("h3", {}, "Budgets"), muster.table(["budget", "used", "clusters"], rows));
}

const VIEWS = {
  ""(_, query) {
    const fleet = muster.data.fleet;
    const rows = fleet.clusters;
    if (!rows.length) return muster.show("Overview", todo(fleet), empty());
    const of = (state) => rows.filter((row) => stateOf(row) === state).length;
    const tile = (state, words, sort, always) => (always || of(state) ? [[of(state), words, `#/clusters?state=${state}`, sort]] : []);
    muster.show("Overview", todo(fleet),
      muster.tiles([[rows.length, "clusters", "#/clusters"], ...tile("True", "available", "good", true), ...tile("Unknown", "unknown", "doubt", true),
        ...tile("False", "not available", "bad", true), ...tile("Denied", "denied", "apart"), ...tile("NotJoined", "not joined", "apart"),
        ...tile("Waiting", "waiting to be let in", "apart"), ...tile("", "nothing decided", "apart")]),
      fleet.rollouts.length ? muster.make("section", {}, muster.make("h3", {}, "Rollouts"), ...fleet.rollouts.slice(0, 5).map((one) => Rollouts.small(one)),
        fleet.rollouts.length > 5 ? muster.make("a", { href: "#/rollouts" }, `All ${fleet.rollouts.length} Rollouts`) : "") : null,
      next(fleet),
      muster.make("div", { id: "over" }),
      fleet.held.length ? held(fleet.held) : null,
      fleet.budgets.length ? budgets(fleet.budgets) : null);
    over(document.getElementById("over"), query);
    return undefined;
  },

  clusters: (_, query) => List.view(query),

  cluster: (rest) => Cluster.view(rest),

  rollouts: () => Rollouts.list(),
  tried: () => Tried.view(),
  drills: () => Drills.view(),
  rollout: (rest) => Rollouts.view(rest),

  placements: needsPlacements((all) => muster.show("Placements",
    all.length ? muster.table(["placement", "wanted", "chosen", "satisfied", "reason"], all.map((one) => [
      placementLink(one), String(one.wanted ?? "all"), String(one.chosen.length), muster.status(one.satisfied), one.reason,
    ])) : muster.make("p", {}, "There are no Placements."))),

  placement: needsPlacements((all, [namespace, name]) => {
    const one = all.find((p) => p.namespace === namespace && p.name === name);
    if (!one) return muster.show("No such Placement");
    const lines = (choices) => choices.map((c) => [muster.cluster(c.cluster), c.why, c.rank ? String(c.rank) : "-",
      c.score === null ? "-" : String(c.score)]);
    const left = one.reasons.reduce((sum, reason) => sum + reason.count, 0);
    return muster.show(`${namespace}/${name}`,
      muster.make("p", {}, muster.status(one.satisfied), ` ${one.reason}: ${one.chosen.length} chosen${one.wanted ? ` of ${one.wanted} wanted` : "; every cluster that fits is wanted"}.`),
      muster.make("h3", {}, "Chosen"), muster.table(["cluster", "why", "rank", "score"], lines(one.chosen)),
      muster.make("h3", {}, `Not chosen: ${left}`),
      muster.make("p", {}, ...one.reasons.map((r) => muster.make("span", { className: "tag" }, `${r.rule}: ${r.count}`))),
      one.left.length < left ? muster.make("p", { className: "soft" }, `The first ${one.left.length} of them:`) : null,
      muster.table(["cluster", "why not", "rank", "score"], lines(one.left)));
  }),

  pools() {
    const pools = muster.data.fleet.pools;
    muster.show("Pools", ...(pools.length ? pools.map((pool) => muster.make("section", {},
      muster.make("h3", {}, `${pool.namespace}/${pool.name}`),
      muster.tiles([[pool.size ?? "-", "wanted"], ...Object.entries(pool.buckets).map(([name, count]) => [count, name])]),
      pool.note ? muster.make("p", { className: "doubt" }, pool.note) : null,
      muster.table(["cluster", "bucket", "power", "claim", "why"], pool.clusters.map((c) => [c.name, c.bucket, c.power, c.claim, c.why])),
      muster.make("h3", {}, "Claims"),
      muster.table(["claim", "cluster", "state", "since", "lifetime"],
        pool.claims.map((c) => [c.name, c.cluster || "-", c.state, c.since ? age(c.since) : "-", c.lifetime || "-"])),
    )) : [muster.make("p", {}, "There are no pools.")]));
  },

  remedies() {
    const { remedies, traffic } = muster.data.fleet;
    const names = (list) => muster.make("span", {}, ...list.flatMap((name, i) => [i ? ", " : "", muster.cluster(name)]));
    muster.show("Remedies and traffic",
      muster.table(["remedy", "clusters", "actions", "applied to"],
        remedies.map((one) => [one.name, one.clusters, one.actions, one.applied.length ? names(one.applied) : "-"])),
      muster.make("h3", {}, "Traffic"),
      muster.table(["ingress", "services", "no traffic to"],
        traffic.map((one) => [`${one.namespace}/${one.name}`, one.services, one.blocked.length ? names(one.blocked) : "-"])));
  },

  adapters() {
    const reports = muster.data.fleet.adapters;
    const names = [...new Set(reports.map((one) => one.adapter))].sort();
    const objects = new Map();
    for (const one of reports) {
      const key = `${one.cluster} ${one.object}`;
      if (!objects.has(key)) objects.set(key, { ...one, by: {} });
      objects.get(key).by[one.adapter] = one;
    }
    const cell = (one) => (one ? muster.make("span", { title: `observed ${one.observed}, accepted ${one.accepted}` },
      muster.status(one.available), ` at ${one.generation ?? "-"}${one.accepted === "False" ? ", does not count" : ""}`) : "-");
    const column = (title, text, draw) => ({ title, text, cell: draw || text });
    const part = ({ object, cluster }) => object.split("/").filter((word, i) => !i || word !== cluster).join("/"); // the cluster is named beside it
    const rows = new Rows([
      column("Cluster", (row) => row.cluster, (row) => muster.cluster(row.cluster)), column("Object", (row) => part(row)),
      ...names.map((name) => column(name, (row) => (row.by[name] ? `${row.by[name].available}@${row.by[name].generation}` : ""), (row) => cell(row.by[name]))),
    ], [...objects.values()], "objects", () => {});
    muster.show("Adapters", muster.make("p", { className: "soft" }, "What each adapter says of each object, and at which generation."), rows.element);
    rows.filter("", true);
  },

  findings() {
    const { findings, links, commit } = muster.data.fleet;
    muster.show("Findings", findings.length ? muster.table(["severity", "code", "what", "where", "what to do"], findings.map((one) => [
      muster.make("span", { className: one.severity === "error" ? "bad" : "doubt" }, one.severity), one.code, one.message,
      one.file ? muster.linked(links && commit && !one.file.includes(":") && links.file, { commit, path: one.file },
        one.line ? `${one.file}:${one.line}` : one.file) : one.object, one.hint,
    ])) : muster.make("p", {}, "Nothing is wrong."));
  },
};

/** What waits for people, the most urgent first. */
function todo(fleet) {
  const some = (names) => [...names.slice(0, 5).flatMap((name, i) => [i ? ", " : "", muster.cluster(name)]), names.length > 5 ? ` and ${names.length - 5} more` : ""];
  const link = (href, text) => muster.make("a", { href }, text);
  const lines = [];
  const of = (severity) => fleet.findings.filter((one) => one.severity === severity).length;
  if (of("error")) lines.push(["bad", link("#/findings", plural(of("error"), "error")), " in the files of the fleet."]);
  if (fleet.frozen) lines.push(["held", fleet.frozen]);
  const topics = new Map();
  for (const one of fleet.held) if (one.topic) topics.set(one.topic, (topics.get(one.topic) || 0) + 1);
  for (const [topic, count] of topics) lines.push(["held", `${plural(count, "effect")} wait${count === 1 ? "s" : ""} for approval: merge `, muster.make("code", {}, `muster/proposals/${topic}`), "."]);
  const waiting = fleet.clusters.filter((row) => stateOf(row) === "Waiting").map((row) => row[NAME]);
  if (waiting.length) lines.push(["doubt", `${plural(waiting.length, "cluster")} wait${waiting.length === 1 ? "s" : ""} to be let in: `, ...some(waiting), ". Decide with ",
    muster.make("code", {}, "muster get waiting"), " and ", muster.make("code", {}, `muster accept ${waiting[0]}`), "."]);
  const requests = fleet.requests.filter(({ cluster }) => !waiting.includes(cluster)); // a cluster is let in with its request
  if (requests.length) lines.push(["doubt", `${plural(requests.length, "certificate request")} wait${requests.length === 1 ? "s" : ""}: `,
    ...some([...new Set(requests.map(({ cluster, name }) => cluster || name))]), ". Decide with ", muster.make("code", {}, "muster get waiting"), "."]);
  for (const one of fleet.rollouts.filter(({ reason }) => /Fail|Invalid|RollingBack|RolledBack/.test(reason))) lines.push(["bad", "Rollout ", rolloutLink(one.key), ` ${one.reason}: ${one.message}.`]);
  for (const [name, count] of fleet.drills || []) if (count) lines.push(["bad", link("#/drills", `Drill ${name}`), ` fails in ${plural(count, "cell")}.`]);
  const held = fleet.held.filter((one) => !one.topic).length;
  if (held) lines.push(["held", link("#/clusters?q=held:t", plural(held, "effect")), ` held back: ${fleet.held.find((one) => !one.topic).reason}.`]);
  if (of("warning")) lines.push(["doubt", link("#/findings", plural(of("warning"), "warning")), "."]);
  return muster.make("section", { className: "todo" }, lines.length ? muster.make("ul", {}, ...lines.map(([sort, ...parts]) => muster.make("li", { className: `${sort}-line` }, ...parts)))
    : muster.make("p", { className: "soft" }, "Nothing waits for you."));
}

/** A fleet without clusters: how to get some. */
function empty() {
  const lines = [["muster join --cluster NAME --relay URL", "prints what runs an agent in a cluster"], ["muster import FILE", "takes the objects of a live hub"],
    ["clusters/NAME/cluster.yaml", "declares a cluster by hand"]];
  return muster.make("section", {}, muster.make("h3", {}, "There are no clusters yet"),
    muster.make("dl", {}, ...lines.flatMap(([code, text]) => [muster.make("dt", {}, muster.make("code", {}, code)), muster.make("dd", {}, text)])));
}

/** What is held back, by reason. */
function held(all) {
  const reasons = new Map();
  for (const one of all) reasons.set(one.reason, [...(reasons.get(one.reason) || []), one]);
  return muster.make("section", {}, muster.make("h3", {}, "Held back"), ...[...reasons].map(([reason, some]) => muster.make("details", {},
    muster.make("summary", {}, `${plural(some.length, "effect")}: ${reason}`),
    muster.table(["object", "effect"], some.slice(0, 200).map((one) => [objectLink(one.object), one.effect])),
    some.length > 200 ? muster.make("p", { className: "soft" }, `and ${some.length - 200} more`) : "")));
}

/** An object by name; a link if it has a page. */
function objectLink(id) {
  const [kind, name] = id.split("/");
  return muster.data.fleet.details[name] !== undefined && (kind === "ManagedCluster" || kind === "Cluster") ? muster.cluster(name) : id;
}

/** What happens without new input: what a forecast found, else what is due. */
function next(fleet) {
  const title = muster.make("h3", {}, "What happens next");
  const names = (objects, count) => muster.make("span", {}, ...objects.flatMap((id, i) => [i ? ", " : "", objectLink(id)]), count > objects.length ? ` and ${count - objects.length} more` : "");
  if (!fleet.upcoming) {
    return muster.make("section", {}, title, fleet.next.length ? muster.table(["when", "what may change", "of"], fleet.next.map((one) => [
      muster.make("span", { title: one.at }, later(one.at)), one.what || "something", one.count ? names(one.objects, one.count) : "a Placement, a pool or another shared object"])) : muster.make("p", { className: "soft" }, "Nothing, without new input."),
      fleet.live ? ahead() : "");
  }
  const moment = (one) => muster.make("details", {}, muster.make("summary", { title: one.at }, `${later(one.at)}: ${one.what}`),
    muster.make("ul", {}, ...one.lines.map((line) => muster.make("li", {}, line)),
      one.count > one.lines.length ? muster.make("li", { className: "soft" }, `and ${one.count - one.lines.length} more`) : ""));
  const [some, rest] = [fleet.upcoming.slice(0, 6), fleet.upcoming.slice(6)];
  return muster.make("section", {}, title, ...(some.length ? some.map(moment) : [muster.make("p", { className: "soft" }, "Nothing, without new input.")]),
    rest.length ? muster.make("details", {}, muster.make("summary", {}, `${rest.length} more`), ...rest.map(moment)) : "");
}

/** Where somebody serves the page: asks the API for a forecast, and shows it instead. */
function ahead() {
  const button = muster.make("button", { type: "button" }, "Look 8 hours ahead");
  const of = ({ kind, namespace, name }) => [kind, namespace, name].filter(Boolean).join("/");
  const upcoming = ({ at, summary, changes, held, released }) => {
    const lines = [...changes.map(({ object, field, before, after }) => `${of(object)}: ${field} ${before || "-"} → ${after || "gone"}`),
      ...held.map(({ object, effect, reason }) => `${of(object)}: ${effect} is held back: ${reason}`),
      ...released.map(({ object, effect }) => `${of(object)}: ${effect} is no longer held back`)];
    return { at, what: summary || plural(lines.length, "effect"), lines: lines.slice(0, 20), count: lines.length };
  };
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const answer = await fetch("api/v1/forecast?for=8h");
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error);
      button.closest("section").replaceWith(next({ ...muster.data.fleet, upcoming: body.map(upcoming) }));
    } catch (error) {
      button.replaceWith(muster.make("p", { className: "soft" }, `No forecast now: ${error.message}`));
    }
  });
  return button;
}

/** Availability over time, read when it is looked at; while it is read again, what it was stands. */
function over(place, query) {
  const known = muster.data.availability;
  if (known) place.replaceChildren(Past.show(known, query));
  if (known && known.commit === muster.data.fleet.commit) return;
  if (!known) place.append(muster.make("p", { className: "soft" }, "Reading the history …"));
  muster.load("data/availability.js", "availability", () => {
    const now = document.getElementById("over");
    if (now) now.replaceChildren(Past.show(muster.data.availability, query));
  });
}

function needsPlacements(view) {
  const go = (rest) => {
    if (muster.data.placements) return view(muster.data.placements, rest);
    muster.show("Placements", muster.make("p", {}, "Reading …"));
    return muster.load("data/placements.js", "placements", () => muster.route());
  };
  return go;
}

function placementLink(one) {
  const href = `#/placement/${encodeURIComponent(one.namespace)}/${encodeURIComponent(one.name)}`;
  return muster.make("a", { href }, `${one.namespace}/${one.name}`);
}

function value(tree) {
  if (tree !== null && typeof tree === "object") {
    if (typeof tree.status === "string" && Object.values(tree).every((v) => typeof v !== "object")) {
      return muster.make("span", {}, muster.status(tree.status), ` ${[tree.reason, tree.message].filter(Boolean).join(": ")}`);
    }
    return muster.make("pre", {}, JSON.stringify(tree, null, 1));
  }
  return STATUSES.includes(tree) && tree ? muster.status(tree) : String(tree);
}
