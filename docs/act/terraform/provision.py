"""Provision the clusters of a pool with Terraform or OpenTofu, and report them to muster.

usage: provision.py FLEET MODULE

FLEET is a clone of the fleet repository, MODULE the folder of main.tf, which is initialized. One call does one pass:
it is safe to repeat, and what a pass does not finish is done by the next one.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

REPORTS = "pools/reports"


def run(*command, cwd):
    """Run a command, and return its output."""
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def report(name, power, before):
    """The provisioner's part of a ClusterDeployment. A transition keeps its time until the power state changes."""
    if before and before["status"]["powerState"] == power:
        return before
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    off = power == "Hibernating"
    reasons = {
        "Hibernating": "Hibernating" if off else "ResumingOrRunning",
        "Ready": "StoppingOrHibernating" if off else "Running",
    }
    conditions = [
        {"type": sort, "status": str(off == (sort == "Hibernating")), "reason": reason, "lastTransitionTime": now}
        for sort, reason in reasons.items()
    ]
    return {
        "apiVersion": "hive.openshift.io/v1",
        "kind": "ClusterDeployment",
        "metadata": {"name": name, "namespace": name},
        "spec": {"installed": True},
        "status": {"powerState": power, "conditions": conditions},
    }


def main(fleet, module):
    terraform = os.environ.get("TERRAFORM", "terraform")
    run("git", "fetch", "--quiet", cwd=fleet)
    run("git", "reset", "--quiet", "--hard", "@{upstream}", cwd=fleet)
    # What the last reconcile committed: a cluster that is being deleted is not among it.
    wanted = json.loads(run("muster", "export", "objects", "clusterdeployments", "-o", "json", cwd=fleet))["items"]
    clusters = {one["metadata"]["name"]: {"power_state": one["spec"].get("powerState") or "Running"} for one in wanted}
    (module / "terraform.tfvars.json").write_text(json.dumps({"clusters": clusters}, indent=2, sort_keys=True))
    run(terraform, "apply", "-auto-approve", "-input=false", "-no-color", cwd=module)

    there = json.loads(run(terraform, "output", "-json", "clusters", cwd=module))
    reports = fleet / REPORTS
    reports.mkdir(parents=True, exist_ok=True)
    for path in reports.glob("*.json"):
        if path.stem not in there:
            path.unlink()
    for name, power in there.items():
        path = reports / f"{name}.json"
        before = json.loads(path.read_text()) if path.exists() else None
        path.write_text(json.dumps(report(name, power, before), indent=2) + "\n")
    run("git", "add", "--all", REPORTS, cwd=fleet)
    if run("git", "status", "--porcelain", REPORTS, cwd=fleet):
        run("git", "commit", "--quiet", "-m", f"Terraform has {len(there)} clusters", cwd=fleet)
        run("git", "push", "--quiet", cwd=fleet)  # refused if the branch has moved: the next pass reports


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
