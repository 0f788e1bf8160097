"""The tree of tests mirrors the source: what `acts/landing.py` promises is tested in `tests/acts/test_landing.py`.

A module without a test of its own stands below, with the tests that it is tested through: because what it does shows in
what is printed, written or decided, because it is one step of a story that only the whole tells, or because two things
are held against each other.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "engine/muster"
#: Room by room: the tests, and the modules of the room that are tested through them.
THROUGH = {
    "acts": {
        "acts/publish/test_notify.py": "publish/chat publish/mail publish/notice_sinks",  # real receivers
        "acts/test_forecast.py": "rehearsal",  # a forecast is a rehearsal told
        "commands/test_edits.py": "accepting tainting",  # three verbs, one way of editing
        "commands/test_claim.py": "claiming",
        "commands/test_metrics.py": "metering",  # what is counted shows in what is written
        "commands/test_import.py": "dumps importing pool_secrets",  # what an import does shows in what is written
        "commands/test_waive.py": "waiving",
        "acts/test_live.py": "live_http",
        "commands/test_watch.py": "watch",  # a real process that is sent signals
    },
    "agent": {
        "agent/test_relay.py": "relay_http relay_wire relayed_ref",  # a relay, and the agents that speak to it
        "agent/test_heartbeat.py": "apiserver hub observer own_ref",  # one story with an API server and a hub
        "commands/test_detect.py": "detector",
    },
    "answers": {
        "answers/proving/test_questions.py": (  # what is proved is told by questions alone
            "proving/admission proving/confirm proving/inputs proving/invariants proving/rules proving/solver"
        ),
        "answers/proving/test_translate.py": (  # held against the evaluator, both ways
            "proving/arithmetic proving/comparing proving/doubt proving/functions proving/logic proving/reading"
            " proving/values proving/world"
        ),
        "answers/test_explain.py": "reads",
        "answers/test_policycoverage.py": "policybranches",
        "answers/test_policytest.py": "stated",
        "commands/test_describe.py": "description",
        "commands/test_explain.py": "described pages",  # what is explained shows in what is printed
        "commands/test_history.py": "history",  # over real commits
        "commands/test_site.py": "site",
        "e2e/test_hearing.py": "listening",  # clones, forks and remotes that do not answer
    },
    "cel": {
        "cel/checker/test_infer.py": "checker/check checker/literals checker/messages checker/unify",
        "cel/runtime/test_budget.py": "library/arguments weights",  # what is counted is held to what is done
        "cel/test_against_cel_cpp.py": "library/operators",  # cel-cpp says what they give
        "cel/test_cache.py": "serial",
        "cel/test_cost.py": "extent",
        "cel/test_engines.py": (  # two engines for one language, held against each other
            "closures folds codegen/generate codegen/logic codegen/macros codegen/operators codegen/source "
            "codegen/support"
        ),
        "cel/test_parser.py": "ast grammar literals",
        "cel/test_program.py": "analysis compiler errors resolve",
        "cel/test_surprises.py": "runtime/access runtime/describe",
        "conformance/test_cel.py": (  # the specification's own tables
            "library/standard runtime/comparison runtime/conversion runtime/maps runtime/numbers runtime/selection "
            "values"
        ),
    },
    "check": {
        "check/admission/test_foreigners.py": (
            "admission/defaults admission/judge admission/messages admission/surroundings"
        ),
        "scenarios/test_scenarios.py": (  # a finding beside what is decided all the same
            "cluster_taints ingresses lints policy_params remedies taint_policies validate"
        ),
    },
    "commands": {
        "acts/test_commenting.py": "comment",
        "acts/test_reconcile.py": "reconcile",
        "acts/test_tracing.py": "tracing",
        "agent/test_heartbeat.py": "heartbeat",
        "commands/test_cache.py": "disposable",
        "commands/test_claim.py": "release",
        "commands/test_cli.py": "exits options outcome render",
        "commands/test_edits.py": "accept deny taint",
        "commands/test_forecast.py": "supposed",
        "commands/test_sign.py": "signer",
        "commands/test_watch.py": "stopping",  # real processes that are sent signals
        "decide/pulses/test_stage.py": "pulses",
        "docs/test_readme.py": "demo",
        "e2e/test_signed_reports.py": "sealing",
        "e2e/test_work_trees.py": "reading",
        "packaging/test_origin.py": "init origin source_lines",  # what it lays down says where muster is installed from
    },
    "decide": {
        "acts/publish/test_notify.py": "notifying",  # what is told of real commits
        "conformance/test_hive.py": "pools/dependencies pools/hub_version pools/rules",  # by both rulebooks
        "decide/placements/test_stage.py": (
            "placements/candidates placements/choice placements/conditions placements/contests placements/filters "
            "placements/groups placements/prioritizers placements/standing"
        ),
        "decide/placements/test_reasons.py": "placements/explain",
        "decide/pools/test_failures.py": "pools/backoff pools/timeouts",
        "decide/pools/test_stage.py": (  # one pass is one story: what is counted is made, linked, powered and told
            "pools/buckets pools/budget pools/carried pools/clusters pools/conditions pools/ledger pools/manifest "
            "pools/messages pools/model pools/pools pools/power pools/survey"
        ),
        "decide/pulses/test_stage.py": "pulses/event",
        "decide/test_approval.py": "pools/consent",
        "decide/test_budgets.py": "allowance held population",
        "decide/test_faults.py": "kept",
        "decide/test_pipeline.py": "context",
        "decide/wishes/test_stage.py": "wish",
        "e2e/test_derived_files.py": "render",
        "e2e/test_signed_reports.py": "identity",
        "e2e/test_hearing.py": "hearing lost",
        "scenarios/test_scenarios.py": (  # fleets at a few instants, and what is derived: YAML tables
            "add_ons conditions durations finalizing generations grounds incarnations lapses registration remedies "
            "removal requests sighting taint_keys taint_policies taints traffic wishes/latches wishes/taints"
        ),
    },
    "engine": {
        "acts/publish/test_notify.py": "noticed",
        "answers/test_explain.py": "explained",
        "answers/test_plan.py": "derivation placed",
        "commands/test_forecast.py": "moment",
        "commands/test_history.py": "past",
        "commands/test_plan.py": "comparison",
        "commands/test_progress.py": "progress",
        "commands/test_replay.py": "replayed",
        "engine/test_executors.py": "unread",
        "engine/test_facts.py": "change changes edits",
        "engine/test_sharded.py": "gathered provisional shard",  # shards and whole runs, held against each other
        "engine/test_uncommitted.py": "checking",
        "engine/test_unrest.py": "settle settled",
        "engine/test_warm.py": (  # warm runs and cold ones, held against each other
            "answer collector decided edited evaluate figures homes part question rest run state"
        ),
    },
    "fleet": {
        "commands/test_removals.py": "missed/allowed",  # what a commit allows shows in what goes
        "commands/test_slips.py": "missed/find missed/guesses missed/names missed/search",  # told by every command
        "commands/test_slips_since.py": "missed/history",
        "decide/test_settings.py": "settings",
        "decide/test_sets.py": "sets",
        "e2e/test_hearing.py": "hearing",
        "engine/test_warm.py": "beyond missed/slips",
        "fleet/test_agents.py": "agent_fields agent_messages",
        "fleet/test_derived_parts.py": "derived_messages",
        "fleet/test_documents.py": "nulls",
        "fleet/test_hostile.py": "files messages reading",
        "fleet/test_merge.py": "objects",
        "fleet/test_neighbourhoods.py": "view",
        "check/admission/test_foreigners.py": "foreign",
        "check/test_schema_findings.py": "schemas violations",
        "decide/reports/test_acceptance.py": "reports",
        "packaging/test_wheel.py": "builtin bundle",  # what is shipped is there once it is installed
        "scenarios/test_scenarios.py": "acceptance approvals assemble deciders detected ingresses silent",
        "decide/test_budgets.py": "fleet",
    },
    "identity": {
        "identity/test_store.py": "request",  # what is kept is a request, and what came of it
        "identity/test_authority.py": "errors",
        "e2e/test_signed_reports.py": "seal",
    },
    "gitio": {
        "answers/test_timeline.py": "derivedlog",
        "acts/test_landing_apart.py": "apart besidederived missing",  # all who read see both branches
        "acts/test_forecast.py": "scratch",
        "acts/test_proposals.py": "proposals",
        "acts/test_landing.py": "rewritten",  # what is built on where a remote has dropped what it had
        "commands/test_history.py": "filelog",
        "commands/test_import.py": "ignoring",
        "e2e/test_hearing.py": "hearing",
        "e2e/test_work_trees.py": "stored",  # git's filters and line ends, in every form of a checkout
        "gitio/test_agentfetch.py": "quarantine refusals",  # what is fetched, and what is not
        "gitio/test_commit.py": "bringing outcomes",  # a branch and its work tree move together
        "gitio/test_agentsettings.py": "fleetspec",  # what a Fleet says of agents is read so
        "gitio/test_recovery.py": "journal lentindex settling treechanges",  # what is left is read by who recovers
    },
    "model": {  # types with almost no behaviour: whoever has them tests them
        "check/test_waivers.py": "groups waiver",
        "commands/test_test.py": "snapshot",
        "decide/test_because.py": "decision",
        "decide/test_approval.py": "proposals",
        "fleet/test_places.py": "ids source",
        "gitio/test_notice_memory.py": "notices",
        "gitio/test_pulse_memory.py": "published",
        "output/test_findings.py": "finding findings",
    },
    "moving": {
        "commands/test_import.py": "messages sorting",
        "moving/test_movein.py": "dump",
    },
    "output": {
        "commands/test_explain.py": "explanation",
        "commands/test_forecast.py": "forecast",
        "commands/test_history.py": "history",
        "commands/test_metrics.py": "metrics",
        "commands/test_replay.py": "replay",
        "commands/test_diff.py": "diff",
        "commands/test_get.py": "listing",
        "output/site/test_pages.py": "site/details site/overview",
        "output/site/test_availability.py": "site/levels",
        "output/test_columns.py": "cells",
        "output/test_plan.py": "lines",
        "output/test_jsonpath.py": "jsonpath/template jsonpath/values",
        "output/test_reports.py": "annotations codequality junit sarif",
    },
    "serving": {
        "agent/test_relay_access.py": "tls",  # real certificates, and who has none
        "serving/test_server.py": "connection",  # clients that are many, slow or rude
    },
    "policy": {
        "answers/test_explain.py": "witness",
        "check/admission/test_foreigners.py": (
            "admission/matching admission/messages admission/policies admission/request admission/resources"
        ),
        "decide/placements/test_stage.py": "placements/compiled placements/selectors placements/spec",
        "decide/pulses/test_stage.py": "pulses",
        "decide/reports/test_stage.py": "adapters",
        "decide/test_budgets.py": "budgets",
        "decide/wishes/test_remedies.py": "remedies",
        "policy/test_compiling.py": "conditions expressions messages policies rivals ruled",
        "policy/test_lazy.py": "in_force scopes",
        "policy/test_selectors.py": "facets",
        "policy/test_variables.py": "environments functions types",
        "scenarios/test_scenarios.py": "taints",
    },
    "yamlio": {
        "yamlio/test_edit.py": "splice",
        "yamlio/test_loader.py": "builder jsontext limits messages problem source syntax",  # tables of what is refused
        "yamlio/test_positions.py": "nodes",
    },
}


def alone(room: str) -> Iterator[str]:
    """The modules of a room without a test of their own."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        where = path.relative_to(SOURCE / room)
        if path.name not in ("__init__.py", "__main__.py"):
            test = TESTS / room / where.parent / f"test_{path.stem.removesuffix('_')}.py"
            if not test.exists():
                yield where.with_suffix("").as_posix()


def test_every_room_is_there() -> None:
    assert sorted(THROUGH) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", THROUGH)
def test_a_module_has_a_test_of_its_own_or_it_is_said_where_it_is_tested(room: str) -> None:
    said = [module for modules in THROUGH[room].values() for module in modules.split()]
    assert sorted(said) == list(alone(room))


def test_where_it_is_said_to_be_tested_there_are_tests() -> None:
    named = {test for room in THROUGH.values() for test in room}
    assert [test for test in sorted(named) if not (TESTS / test).is_file()] == []
