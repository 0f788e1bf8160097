"""What a pool needs before it can create clusters: an image set, secrets, a customization.

muster reads no secrets. A dependency exists if it is an object of the repository, or
`Fleet.spec.pools.externalDependencies` names it (`Kind/name` or `Kind/namespace/name`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.data.kinds import CLUSTER_DEPLOYMENT_CUSTOMIZATION, CLUSTER_IMAGE_SET
from muster.data.tree import mapping_at
from muster.fleet.settings import Settings
from muster.fleet.view import View
from muster.rules.pools.model import Pool, text

_CREDENTIALS = ("credentialsSecretRef", "credentialsSecret")


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The objects that exist for pools, inside the repository or outside."""

    names: frozenset[str]

    @classmethod
    def of(cls, view: View, settings: Settings) -> "Dependencies":
        """Collect them once per run."""
        external = settings.get("pools", "externalDependencies")
        names = {name for name in external if isinstance(name, str)} if isinstance(external, list) else set()
        names.update(str(obj.id) for obj in view.of(CLUSTER_IMAGE_SET, CLUSTER_DEPLOYMENT_CUSTOMIZATION))
        return cls(frozenset(names))

    def missing(self, pool: Pool) -> str:
        """Return what is missing, in upstream's words; empty if nothing."""
        found = list(self._missing(pool))
        return f"[{', '.join(found)}]" if len(found) > 1 else "".join(found)

    def _missing(self, pool: Pool) -> Iterator[str]:
        spec, namespace = pool.spec, pool.id.namespace
        image_set = text(spec, "imageSetRef", "name")
        if f"ClusterImageSet/{image_set}" not in self.names:
            yield f'cluster image set: clusterimagesets.hive.openshift.io "{image_set}" not found'
        for what, name in secrets_of(pool):
            if f"Secret/{namespace}/{name}" not in self.names:
                yield f'{what}: secrets "{name}" not found'
        customization = text(spec, "customizationRef", "name")
        if customization and f"ClusterDeploymentCustomization/{namespace}/{customization}" not in self.names:
            yield f"pool-wide customizationRef {customization} not found"


def secrets_of(pool: Pool) -> Iterator[tuple[str, str]]:
    """Yield the purpose and name of each Secret that a pool names."""
    secrets = (
        ("pull secret", text(pool.spec, "pullSecretRef", "name")),
        ("install config template secret", text(pool.spec, "installConfigSecretTemplateRef", "name")),
        ("credentials secret", credentials_of(pool)),
    )
    yield from ((what, name) for what, name in secrets if name)


def credentials_of(pool: Pool) -> str:
    """The name of the secret with cloud credentials; empty if the platform names none."""
    for platform in mapping_at(pool.spec, "platform").values():
        for field in _CREDENTIALS:
            if name := text(platform, field, "name"):
                return name
    return ""
