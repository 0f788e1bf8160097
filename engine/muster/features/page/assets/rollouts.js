"use strict";
// Rollouts: their stages as a picture, and their clusters by state.

const ROLLOUT_STATES = { Failed: "failed", TimeOut: "timed out", Progressing: "progressing", Soaking: "soaking", ToApply: "to come", Succeeded: "succeeded" };
const ROLLOUT_SORTS = { Failed: "bad", TimeOut: "bad", Progressing: "doubt", Soaking: "doubt", Succeeded: "good" };

/** The states in the order of a bar: what is done on the left. */
const ROLLOUT_ORDER = ["Succeeded", "Soaking", "Progressing", "Failed", "TimeOut", "ToApply"];

function rolloutLink(key) {
  return muster.make("a", { href: `#/rollout/${key.split("/").map(encodeURIComponent).join("/")}` }, key);
}

const rolloutState = (state) => muster.make("span", { className: ROLLOUT_SORTS[state] || "soft" }, ROLLOUT_STATES[state] || state);

const Rollouts = {
  list() {
    const { rollouts } = muster.data.fleet;
    muster.show("Rollouts", ...(rollouts.length ? rollouts.map((one) => Rollouts.small(one)) : [muster.make("p", {}, "There are no Rollouts.")]));
  },

  /** A Rollout in a few lines: its revision, its stages, and what it waits for. */
  small(one) {
    return muster.make("section", { className: "rollout" },
      muster.make("h3", {}, rolloutLink(one.key), muster.make("span", { className: "soft" }, ` ${one.revision}`)), this.stages(one), this.said(one));
  },

  said(one) {
    const sort = one.status === "True" ? "good" : /Fail|Invalid|RollingBack|RolledBack/.test(one.reason) ? "bad" : "doubt";
    return muster.make("p", {}, muster.make("span", { className: sort }, one.reason || "Nothing decided"), one.message ? `: ${one.message}` : "",
      one.nextStepAt ? ` Next step ${later(one.nextStepAt)}.` : "");
  },

  /** The stages from the first to the last, each with its clusters by state. */
  stages(one) {
    return muster.make("ol", { className: "stages" }, ...one.stages.map((stage) => {
      const states = ROLLOUT_ORDER.filter((state) => stage[state]);
      const words = states.map((state) => `${stage[state]} ${ROLLOUT_STATES[state]}`).join(", ") || "no clusters";
      const drawing = muster.draw("svg", { viewBox: `0 0 ${stage.clusters || 1} 1`, preserveAspectRatio: "none", "aria-hidden": "true" });
      let x = 0;
      for (const state of states) {
        drawing.append(muster.draw("rect", { x, y: 0, width: stage[state], height: 1, class: ROLLOUT_SORTS[state] || "none" }));
        x += stage[state];
      }
      const made = muster.make("li", {}, muster.make("strong", {}, stage.name), muster.make("div", { className: "bar" }, drawing), muster.make("span", { className: "soft" }, words));
      if (stage.name === one.stage) made.setAttribute("aria-current", "step");
      return made;
    }));
  },

  view([namespace, name]) {
    const key = `${namespace}/${name}`;
    const one = muster.data.fleet.rollouts.find((rollout) => rollout.key === key);
    if (!one) return muster.show("No such Rollout", muster.make("p", {}, `The fleet has no Rollout ${key}.`));
    if (!muster.data.rollouts) {
      muster.show(key, muster.make("p", {}, "Reading …"));
      return muster.load("data/rollouts.js", "rollouts", () => muster.route(true));
    }
    const clusters = muster.data.rollouts[key] || [];
    const facts = [["revision", one.revision], ["last complete", one.completed], ["started", one.started],
      ["placement", one.placement && placementLink({ namespace, name: one.placement })]].filter(([, fact]) => fact);
    const of = (row) => (row[1] === one.revision ? row[3] : "ToApply");
    const groups = Object.keys(ROLLOUT_STATES).map((state) => [state, clusters.filter((row) => of(row) === state)]).filter(([, rows]) => rows.length);
    return muster.show(key, this.said(one), this.stages(one),
      muster.make("dl", { className: "facts" }, ...facts.flatMap(([title, fact]) => [muster.make("dt", {}, title), muster.make("dd", {}, fact)])),
      ...groups.map(([state, rows]) => muster.make("section", {},
        muster.make("h3", {}, rolloutState(state), ` ${rows.length}`),
        muster.table(["cluster", "revision", "stage", "since", "gate"], rows.slice(0, 200).map(([cluster, revision, stage, , since, gate]) => [
          muster.cluster(cluster), revision || "-", stage || "-", since ? age(since) : "-", gate || "-"])),
        rows.length > 200 ? muster.make("p", { className: "soft" }, `and ${rows.length - 200} more`) : "")));
  },
};
