"""A fleet of six Karmada clusters, five of which cannot resolve Services, and a Remedy that is on trial at one."""

# ruff: noqa: E501 - documents

from tests.support.git import Content

REMEDY = "remedies/dns-down.yaml"
OTHERS = "[eu-2, eu-3, eu-4, eu-5]"


def cluster(name: str) -> str:
    return f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\nspec: {{syncMode: Push}}\n"


def observed(name: str, *, resolves: bool) -> str:
    return (
        f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\nstatus:\n"
        "  probe: {readyz: 200}\n  conditions:\n"
        f'  - {{type: ServiceDomainNameResolutionReady, status: "{resolves}", reason: Probed, message: probed,'
        ' lastTransitionTime: "2026-01-01T11:00:00Z"}\n'
    )


def remedy(clusters: str = "[eu-1]") -> str:
    return (
        "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: dns-down}\nspec:\n"
        f"  clusterAffinity: {{clusterNames: {clusters}}}\n  decisionMatches:\n"
        "  - clusterConditionMatch:\n"
        '      {conditionType: ServiceDomainNameResolutionReady, operator: Equal, conditionStatus: "False"}\n'
        "  actions: [TrafficControl]\n"
    )


def files() -> dict[str, Content]:
    """The fleet."""
    found: dict[str, Content] = {REMEDY: remedy()}
    for number in range(1, 7):
        name = f"eu-{number}"
        found[f"clusters/{name}/cluster.yaml"] = cluster(name)
        found[f"clusters/{name}/observed.yaml"] = observed(name, resolves=number == 6)
    return found
