"use strict";
// The page of a cluster: is it fine, and if not, why? Then everything known about it, each fact with its decision tree.

const STATES = { True: "Available", False: "Not available", Unknown: "Unknown", Denied: "Denied", NotJoined: "Not joined",
  Waiting: "Waiting", "": "Nothing decided" };
/** A state as rows and facets have it: a cluster that nobody decided on waits. */
const stateOf = (row) => row[STATUS] || (row[ACCEPTED] === "no" ? "Waiting" : "");
const later = (instant) => {
  const seconds = Math.round((Date.parse(instant) - Date.parse(muster.data.fleet.now)) / 1000);
  if (!seconds) return "now";
  return seconds > 0 ? `in ${lasted(seconds)}` : `${lasted(-seconds)} ago`;
};

const Cluster = {
  view([name]) {
    const fleet = muster.data.fleet;
    const row = fleet.clusters.find((one) => one[NAME] === name);
    if (!row) return muster.show("No such cluster", muster.make("p", {}, `The fleet has no cluster ${name}.`));
    const found = muster.read[name];
    if (!found) {
      muster.show(name, muster.make("p", {}, "Reading …"));
      return muster.load(`data/clusters/${fleet.details[name]}.js`, "details", () => {
        if (location.hash === `#/cluster/${encodeURIComponent(name)}`) Cluster.view([name]);
      });
    }
    const { card, objects, history, day } = found;
    const own = objects[0];
    const because = (label, fallback = {}) => Cluster.reason(own, own.fields.find((field) => field.field === label) || fallback);
    const condition = (one) => [one.type, muster.status(one.status), one.since ? age(one.since) : "-",
      folded(one.message || one.reason || "-", because(`status.conditions[${one.type}]`, { rule: "", why: one.reason }))];
    const firing = card.conditions.filter((one) => card.alerts.includes(one.type) && one.reason !== "AlertResolved");
    const reports = fleet.adapters.filter((one) => one.cluster === name);
    muster.show(name, Cluster.card(row, card, day), Cluster.held(fleet, name),
      muster.make("div", { className: "sections" },
        section("Alerts", ["alert", "since", "what"], firing.map((one) => [muster.make("span", { className: "bad" }, one.reason), age(one.since), one.message])),
        section("Conditions", ["condition", "status", "since", "why"], Cluster.ordered(card.conditions).map(condition)),
        section("Taints", ["taint", "since", "put by"], card.taints.map((one) => [muster.make("code", {}, one.taint), one.since ? age(one.since) : "-",
          one.file ? muster.make("span", {}, "a person, in ", muster.file(one.file))
            : folded(one.by.includes("/") ? one.by : `muster: ${one.by}`, because(own.fields.map((field) => field.field).find((label) => label.startsWith(`spec.taints[${one.taint.split(/[=:]/)[0]}:`))))])),
        placementsOf(name),
        section("Rollouts", ["rollout", "revision", "state", "since", "stage", "gate"], card.rollouts.map((one) => [
          rolloutLink(one.rollout), one.revision, rolloutState(one.state), age(one.since), one.stage, one.gate || "-"])),
        section("Works", ["work", "applied", "available"], card.works.map(([work, ...all]) => [work, ...all.map(muster.status)])),
        section("Add-ons", ["add-on", "available"], card.addons.map(([addon, status]) => [addon, muster.status(status)])),
        section("Remedies", ["action", "remedy"], card.remedies),
        section("Reports", ["object", "adapter", "available", "observed", "counts"], reports.map((one) => [
          one.object, one.adapter, muster.status(one.available), one.observed ? age(one.observed) : "-", muster.status(one.accepted)])),
        section("Agent's certificate", ["user", "valid from", "until"], card.certificates.map((one) => [one.user || one.request, one.from,
          muster.make("span", { className: one.until < fleet.now ? "bad" : "" }, `${one.until}, ${one.until < fleet.now ? "expired " : ""}${later(one.until)}`)])),
        section("Capacity", ["resource", "capacity", "allocatable"], card.capacity),
        section("History", ["when", "what", "commit"], history.map((one) => [one.time, one.subject, muster.commit(one.commit)])),
        muster.make("section", { className: "wide" }, muster.make("h3", {}, "More"),
          muster.make("details", {}, muster.make("summary", {}, `Everything decided, of ${plural(objects.length, "object")}`), ...objects.map(Cluster.decided)),
          muster.make("details", {}, muster.make("summary", {}, "YAML"), muster.make("pre", {}, card.yaml)))));
    if (!muster.data.placements) muster.load("data/placements.js", "placements", () => muster.route(true));
    return undefined;
  },

  /** Its state in a word, since when, why in a sentence, what changes next; the heartbeat; facts. */
  card(row, card, day) {
    const { lease, next } = card;
    const state = stateOf(row);
    const facts = [["version", card.version], ["region", row[REGION]], ["set", row[SET]], ["kind", row[KIND]], ["accepted", row[ACCEPTED]],
      ["labels", Object.entries(card.labels).map(([key, text]) => `${key}=${text}`).join(", ")]];
    const what = next && (next.object.endsWith(`/${row[NAME]}`) ? next.what : `${next.what} of ${next.object}`);
    return muster.make("section", { className: `card ${row[STATUS]}-card` },
      muster.make("div", {},
        muster.make("p", { className: "state" }, muster.make("strong", { className: state }, STATES[state]), row[SINCE] ? ` for ${age(row[SINCE])}` : ""),
        card.why ? muster.make("p", {}, card.why) : null,
        muster.make("p", { className: "soft" }, next ? muster.make("span", {}, `${what} may change at `, muster.time(next.at), `, ${later(next.at)}.`)
          : "Nothing changes without new input."),
        this.heartbeat(row, lease, day)),
      muster.make("dl", { className: "facts" }, ...facts.filter(([, fact]) => fact).flatMap(([name, fact]) => [muster.make("dt", {}, name), muster.make("dd", {}, fact)])));
  },

  /** The last day: its states as a band, and above it how often the agent renewed its lease. */
  heartbeat(row, lease, day) {
    const fleet = muster.data.fleet;
    const seconds = 86400;
    const parts = day.states.map(([at, before], i) => [i ? day.states[i - 1][0] : day.known, at, before]);
    const last = day.states[day.states.length - 1];
    parts.push([last ? last[0] : day.known, seconds, last ? last[2] : row[STATUS]]);
    const shown = parts.filter(([from, to]) => to > from);
    const drawing = muster.draw("svg", { viewBox: `0 0 ${seconds} 24`, preserveAspectRatio: "none", role: "img" });
    for (const [from, to, state] of shown) drawing.append(muster.draw("rect", { x: from, y: 20, width: to - from, height: 4, class: state || "none" }));
    const most = Math.max(...day.beats, 1);
    if (day.beats.length) {
      const width = seconds / day.beats.length;
      drawing.append(muster.draw("polyline", { points: day.beats.map((beats, i) => `${(i + 0.5) * width},${17 - beats / most * 15}`).join(" ") }));
    }
    const renewed = lease.renewed ? Date.parse(fleet.now) - Date.parse(lease.renewed) : NaN;
    if (renewed >= 0 && renewed <= seconds * 1000) {
      const x = seconds - renewed / 1000;
      drawing.append(muster.draw("line", { x1: x, x2: x, y1: 0, y2: 24 }));
    }
    const at = (second) => new Date(Date.parse(fleet.now) - (seconds - second) * 1000).toISOString().slice(11, 16);
    drawing.setAttribute("aria-label", `The last day: ${shown.slice(-12).map(([from, , state]) => `${STATES[state] || state} from ${at(from)}`).join(", ")}`);
    const words = [lease.renewed ? `Last heartbeat ${age(lease.renewed)} ago` : "No heartbeat yet", lease.seconds ? `one expected every ${lasted(lease.seconds)}` : "",
      row[STATUS] === "True" && lease.expires ? `Unknown ${later(lease.expires)} without another (${lease.expires})` : ""].filter(Boolean);
    return muster.make("figure", { className: "heartbeat" }, muster.make("figcaption", {}, `${words.join("; ")}.`), drawing,
      muster.make("div", { className: "ticks soft" }, ...[0, 6, 12, 18].map((hour) => muster.make("span", {}, at(hour * 3600))), muster.make("span", {}, "now")),
      muster.make("p", { className: "soft" }, day.beats.length ? `The line counts heartbeats in 10 minutes, at most ${most}; the band is the state.`
        : "The band is the state. Heartbeats before the last one are not kept: each replaces the last on the agent's own branch."));
  },

  held(fleet, name) {
    const held = fleet.held.filter((one) => one.object.endsWith(`/${name}`));
    return held.length ? muster.make("p", { className: "held" },
      `Held back: ${held.map((one) => one.effect).join(", ")}. ${[...new Set(held.map((one) => one.reason))].join(" ")}.`) : null;
  },

  /** What is not True first. */
  ordered: (conditions) => [...conditions].sort((a, b) => (a.status === "True") - (b.status === "True")),

  /** Why a field is what it is: its rule, the expressions with the values of their parts, deadlines and inputs. */
  reason(object, field) {
    const { tree } = field;
    const facts = [["decided by", field.rule && muster.make("span", {}, muster.make("code", {}, field.rule), tree && tree.place ? " in " : "", tree ? this.place(tree.place) : "")],
      ["because", field.why], ["holds until", field.until]].filter(([, fact]) => fact);
    const list = (entries) => muster.make("dl", {}, ...entries.flatMap(([name, fact]) => [muster.make("dt", {}, name), muster.make("dd", {}, fact)]));
    const parts = facts.length ? [list(facts)] : [];
    if (!tree) {
      if (field.rule) parts.push(muster.make("p", { className: "soft" }, "Its expressions with their values: ",
        muster.make("code", {}, `muster explain ${object.id.replace(/^[^/]*/, (kind) => kind.toLowerCase())} '${field.field}'`)));
      return parts;
    }
    for (const one of tree.asked.filter(({ text }) => text)) {
      parts.push(muster.make("p", {}, `${one.title}: `, muster.make("strong", {}, one.gave)), muster.make("pre", {}, one.text),
        list(one.parts.map(([name, text]) => [muster.make("code", {}, name), muster.make("code", {}, text)])));
    }
    const others = tree.asked.filter(({ text }) => !text).map(({ title, gave }) => `${title}: ${gave}`);
    if (others.length) parts.push(muster.make("p", { className: "soft" }, `Also asked: ${others.join("; ")}.`));
    for (const { at, terms } of tree.deadlines) {
      parts.push(muster.make("p", {}, `${terms.map(([sign, text], i) => `${i ? (sign > 0 ? " + " : " − ") : ""}${text}`).join("")} = `, muster.time(at), `, ${later(at)}`));
    }
    if (tree.reads.length) {
      parts.push(muster.make("p", { className: "soft" }, "It read:"), list(tree.reads.map(([name, text, place]) => [
        muster.make("code", {}, name), muster.make("span", {}, text, text && place ? ", " : "", this.place(place))])));
    }
    return parts;
  },

  /** A place in a file, with a link to the file if it is on the branch. */
  place(text) {
    const { links, commit } = muster.data.fleet;
    const [, path] = text.match(/^([^:]+):\d+:\d+$/) || [];
    return text ? muster.linked(path && commit && links && links.file, { commit, path }, text) : "";
  },

  /** Every decided field of an object, with its rule. */
  decided(one) {
    return muster.make("details", {}, muster.make("summary", {}, one.id),
      muster.make("p", { className: "soft" }, ...one.files.flatMap((file, i) => [i ? ", " : "", muster.file(file)])),
      one.fields.length ? muster.table(["field", "value", "why", "until"], one.fields.map((field) => [
        muster.make("code", {}, field.field), value(field.value),
        field.tree ? folded(field.rule, Cluster.reason(one, field)) : muster.make("span", {}, muster.make("code", {}, field.rule), field.why ? ` ${field.why}` : ""), field.until,
      ])) : muster.make("p", { className: "soft" }, "Nothing is decided about it."));
  },
};

/** A section with a table; nothing where there are no rows. */
function section(title, titles, rows) {
  return rows.length ? muster.make("section", { className: titles.length > 3 ? "wide" : "" }, muster.make("h3", {}, title), muster.table(titles, rows)) : null;
}

/** A text under which more can be unfolded. */
function folded(text, parts) {
  return parts.length ? muster.make("details", {}, muster.make("summary", {}, text), ...parts) : text;
}

/** The Placements that chose a cluster, and why others did not. */
function placementsOf(name) {
  const all = muster.data.placements || [];
  const rows = all.flatMap((one) => [
    ...one.chosen.filter((c) => c.cluster === name).map((c) => [placementLink(one), muster.make("span", { className: "good" }, "chosen"), c.why]),
    ...one.left.filter((c) => c.cluster === name).map((c) => [placementLink(one), muster.make("span", { className: "soft" }, "not chosen"), c.why])]);
  return section("Placements", ["placement", "choice", "why"], rows.slice(0, 200));
}
