"""The tree of tests mirrors the source: what `log.py` promises is tested in `test_log.py` of the same folder.

A module without a test of its own stands below, with the tests that it is tested through: because what it does shows in
what is printed, written or decided, because it is one step of a story that only the whole tells, or because two things
are held against each other.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "engine/muster"
#: Room by room: the tests, and the modules of the room that are tested through them.
THROUGH = {
    "agents": {
        "agents/heartbeat/test_heartbeat.py": "heartbeat/cli hub/pushed_ref",
        "agents/identity/test_store.py": "identity/request",
        "agents/relay/test_relay.py": "hub/protocol hub/relayed_ref relay/branch",
        "e2e/test_signed_reports.py": "identity/options",
    },
    "cel": {
        "cel/checker/test_infer.py": "checker/check checker/literals checker/messages checker/unify",
        "cel/runtime/test_budget.py": "library/arguments weights",
        "cel/runtime/test_size.py": "unfolding",
        "cel/test_against_cel_cpp.py": "library/operators",
        "cel/test_cache.py": "serial",
        "cel/test_cost.py": "extent",
        "cel/test_engines.py": (
            "closures codegen/generate codegen/logic codegen/macros codegen/operators codegen/source "
            "codegen/support folds"
        ),
        "cel/test_parser.py": "ast grammar literals",
        "cel/test_program.py": "analysis compiler errors resolve",
        "cel/test_surprises.py": "runtime/access runtime/describe",
        "conformance/test_cel.py": (
            "library/standard runtime/comparison runtime/conversion runtime/maps runtime/numbers "
            "runtime/selection values"
        ),
    },
    "cli": {
        "cli/test_columns.py": "cells",
        "features/get/test_cli.py": "query",
        "e2e/test_hearing.py": "listening",
        "e2e/test_work_trees.py": "reading",
        "features/reconcile/test_reconcile.py": "reconcile_result",
        "test_main.py": "exits kubectl options",
    },
    "data": {
        "cli/test_outcome.py": "finding findings",
        "agents/identity/test_store.py": "extras",
        "data/test_jsonpath.py": "jsonpath/template jsonpath/values",
        "data/yaml/test_edit.py": "yaml/splice",
        "data/yaml/test_loader.py": "yaml/jsontext yaml/limits yaml/messages yaml/problem yaml/source",
        "data/yaml/test_positions.py": "yaml/nodes",
        "features/test/test_cli.py": "snapshot",
        "fleet/test_places.py": "ids source",
        "git/memory/test_notices.py": "notices",
        "rules/checks/test_waivers.py": "groups",
        "rules/test_because.py": "decision",
    },
    "features": {
        "features/sync/test_cli.py": "sync/sync",
        "features/sync/test_wanted.py": "sync/rbac",
        "features/edits/test_cli.py": "edits/claiming",
        "features/edits/test_edits.py": "edits/accepting edits/options edits/tainting",
        "features/edits/test_waive_cli.py": "edits/waiving",
        "features/drill/test_cli.py": "drill/text",
        "features/drill/test_drill.py": "drill/cells drill/facts drill/memo drill/rehearsing",
        "features/explain/test_explain.py": "explain/reads",
        "features/explain/how/test_search.py": (
            "explain/how/candidates explain/how/conditions explain/how/holders explain/how/placements "
            "explain/how/rollouts explain/how/text"
        ),
        "features/forecast/test_cli.py": "whatif/options",
        "features/forecast/test_forecast.py": "whatif/rehearsal",
        "features/get/test_cli.py": "get/formats",
        "features/api/test_mcp.py": "api/cli",
        "features/api/test_routes.py": "api/answers",
        "features/explain/test_cli.py": "explain/blame explain/text",
        "features/join/test_many.py": "join/table",
        "features/history/test_cli.py": "history/history",
        "features/importing/test_cli.py": "importing/importing importing/messages importing/sorting",
        "features/importing/test_movein.py": "importing/dump",
        "features/lint/proving/test_questions.py": (
            "lint/proving/confirm lint/proving/invariants lint/proving/rules lint/proving/solver"
        ),
        "features/lint/proving/test_translate.py": (
            "lint/proving/arithmetic lint/proving/functions lint/proving/logic "
            "lint/proving/unknown lint/proving/values lint/proving/world"
        ),
        "features/metrics/test_cli.py": "metrics/metering metrics/metrics",
        "features/metrics/test_tracing.py": "metrics/observers",
        "features/notify/test_notify.py": "notify/sinks notify/chat",
        "features/page/test_pages.py": "page/overview",
        "features/plan/test_commenting.py": "plan/open_requests",
        "features/reconcile/test_job.py": "reconcile/cli",
        "run/test_recorded.py": "reconcile/recording",
        "features/replay/test_days.py": "replay/between replay/rerun replay/sweep",
        "features/replay/test_repeat.py": "replay/answers replay/past replay/signers",
        "features/sign/test_cli.py": "sign/options",
        "features/test/test_coverage.py": "test/branches",
        "features/watch/test_cli.py": "watch/watch",
        "features/watch/test_live.py": "watch/http",
    },
    "fleet": {
        "e2e/test_hearing.py": "agent_refs",
        "features/reconcile/test_vanished.py": "vanished/find vanished/search",
        "fleet/test_agents.py": "agent_messages",
        "fleet/test_derived_parts.py": "derived_messages",
        "fleet/test_unread.py": "declaration unread_reports vanished/earlier vanished/undeclared",
        "fleet/test_hostile.py": "files messages reading",
        "fleet/test_merge.py": "objects",
        "fleet/test_neighbourhoods.py": "view",
        "fleet/test_schema_findings.py": "schemas violations",
        "packaging/test_wheel.py": "bundle",
        "rules/admission/test_foreign.py": "foreign",
        "rules/budgets/test_stage.py": "fleet",
        "rules/reports/test_acceptance.py": "reports",
        "rules/test_settings.py": "settings",
        "scenarios/test_scenarios.py": "acceptance approvals assemble",
    },
    "git": {
        "e2e/test_hearing.py": "agents/listing",
        "e2e/test_work_trees.py": "conversion",
        "features/reconcile/test_proposals.py": "landing/proposals",
        "git/agents/test_fetch.py": "quarantine",
        "git/landing/test_commit.py": "index",
        "git/landing/test_landing_derived.py": "derivedbranch",
        "git/record/test_past.py": "record/heartbeats",
        "git/record/test_reading.py": "record/form",
        "git/test_recovery.py": "journal settling",
        "run/test_recorded.py": "record/draft record/rows",
    },
    "net": {
        "agents/detect/test_probes.py": "commands",
        "net/serving/test_server.py": "serving/connection",
        "net/test_slow_peers.py": "http",
    },
    "rules": {
        "conformance/test_hive.py": "pools/rules",
        "e2e/test_derived_files.py": "render",
        "e2e/test_hearing.py": "heartbeats/agent_refs",
        "features/notify/test_notify.py": "notifications/transitions",
        "fleet/test_unread.py": "admission/unjudged",
        "rules/admission/test_foreign.py": (
            "admission/defaults admission/inputs admission/matching admission/policies admission/request "
            "admission/resources"
        ),
        "rules/budgets/test_stage.py": "effects/allowance",
        "rules/checks/test_references.py": "checks/of_clusters",
        "rules/placements/test_stage.py": (
            "placements/choice placements/filters placements/policy placements/scheduling placements/shards"
        ),
        "rules/projections/test_files.py": "policies/trees",
        "rules/policies/test_lazy.py": "policies/in_force policies/scopes",
        "rules/policies/test_variables.py": "policies/environments policies/types",
        "rules/pools/test_failures.py": "pools/timeouts",
        "rules/progress/test_both.py": "placements/selected",
        "rules/rollouts/test_stage.py": (
            "rollouts/course rollouts/holds rollouts/policy rollouts/progress rollouts/reasons rollouts/status"
        ),
        "rules/pools/test_stage.py": (
            "pools/buckets pools/clusters pools/conditions pools/ledger pools/manifest "
            "pools/model pools/pools pools/survey"
        ),
        "rules/pulses/test_stage.py": "pulses/policy",
        "rules/remedies/test_requested.py": "remedies/policy",
        "rules/reports/test_stage.py": "policies/adapters",
        "rules/test_compiling.py": "conditions/conflicts conditions/policy policies/expressions policies/policies",
        "rules/test_faults.py": "retention",
        "scenarios/test_scenarios.py": (
            "checks/lints checks/validate conditions/add_ons creation generations "
            "registration/removal registration/requests "
            "registration/stage remedies/stage "
            "taints/cluster_stage taints/keys taints/lint taints/policy taints/stage "
            "traffic/stage"
        ),
        "rules/works/test_stage.py": "works/messages works/sets",
    },
    "run": {
        "cli/test_progress.py": "progress",
        "features/explain/test_explain.py": "explained",
        "features/notify/test_notify.py": "transitions/notices",
        "features/plan/test_cli.py": "transitions/compare_revisions",
        "features/plan/test_plan.py": "transitions/placement_moves",
        "run/parts/test_affected.py": "parts/growing",
        "run/shards/test_sharded.py": "shards/gathered shards/shard shards/evaluation",
        "run/test_uncommitted.py": "checking",
        "run/test_unrest.py": "settle",
        "run/test_incremental.py": "answer collector evaluate full_and_partial neighbourhood_records question run "
        "scope memo/figures memo/state parts/part",
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


def test_no_two_classes_have_one_name() -> None:
    """A name says what a class is wherever it is read."""
    found = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []
