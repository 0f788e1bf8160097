# ruff: noqa: ISC004 - each entry is a tuple that ends in a text of several lines
"""The register of finding codes: each is given once, means one thing for ever, and is explained here.

`docs/errors.md` is generated from this table. Numbers tell the room: 0xx reading files, 1xx assembling objects,
2xx schema and references, 3xx expressions and policies, 4xx deciding, 5xx derived state, 6xx advice, 7xx waivers,
9xx moving in.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType


class Severity(Enum):
    """How bad. Errors keep an object from being decided and make commands exit with 1; the others do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst: the order in which findings of one place are shown."""
        return ("error", "warning", "note").index(self.value)


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_CHANGE = "change"  # marks findings about what commits do


class Code(StrEnum):
    """One kind of finding: what people see (`MUS101`), how bad it is unless said otherwise, a heading of a few words,
    and the explanation for docs/errors.md: what it means, why it is refused, what muster does meanwhile, and how to
    mend it.

    `of_change`: it is about what commits do, not about what files say. A pull request cannot waive such a finding about
    itself: only a Waiver in its base counts.
    """

    severity: Severity
    heading: str
    explanation: str
    of_change: bool

    def __new__(cls, value: str, severity: Severity, heading: str, explanation: str, about: str = "files") -> "Code":
        """Make a member; its value is the code alone."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.severity, code.heading, code.explanation, code.of_change = severity, heading, explanation, about == _CHANGE
        return code

    # fmt: off
    # -- 0xx: reading files
    NOT_YAML = ("MUS001", _E, "not YAML",
        "The file does not parse as YAML. Documents before the broken one still count.")
    TAB_INDENTATION = ("MUS002", _E, "tab in the indentation",
        "YAML forbids tabs in indentation. Replace them by spaces.")
    DUPLICATE_KEY = ("MUS003", _E, "duplicate key",
        "A mapping has the same key twice. YAML readers silently keep one of them, so muster refuses both.")
    ANCHOR_OR_ALIAS = ("MUS004", _E, "anchors, aliases and merge keys",
        "Anchors and aliases can grow a small file without bound and hide what a field's value is. Write the value "
        "out where it is used.")
    NESTED_TOO_DEEPLY = ("MUS005", _E, "nested too deeply",
        "The document nests deeper than any object of a fleet does.")
    NOT_UTF8 = ("MUS006", _E, "not UTF-8",
        "Files are read as UTF-8 only. Convert the file, for example with iconv.")
    CONTROL_CHARACTER = ("MUS007", _E, "control character",
        "The file has a character that no text needs and that terminals interpret as a command.")
    TOO_LARGE = ("MUS008", _E, "too large",
        "The file is larger than any object needs to be and was not read.")
    NOT_A_MAPPING = ("MUS009", _E, "not a mapping",
        "A document must be a mapping with apiVersion and kind.")
    AMBIGUOUS_NUMBER = ("MUS010", _E, "ambiguous number",
        "YAML readers disagree on this unquoted value, or no JSON number can hold it: 624e769365028171 is a commit "
        "id to a person and infinity to a parser. Quote it.")
    EXPLICIT_TAG = ("MUS011", _E, "explicit tag",
        "Tags such as !!python/object or !!binary are not allowed.")
    UNSUPPORTED_KEY = ("MUS012", _E, "unsupported key",
        "Keys are plain or quoted strings.")
    SYMBOLIC_LINK = ("MUS020", _W, "symbolic link",
        "Symbolic links are not followed, because their target may be outside the repository. Commit the file "
        "itself.")
    UNREADABLE_PATH = ("MUS021", _W, "unreadable path",
        "The path could not be read: it is not UTF-8, contains a control character or a name that some file systems "
        "take for `.git`, is not a regular file, or its permissions prevent reading. A file that exists and is not "
        "read may hold any object, so this is an error, and nothing is removed that no other file declares; a "
        "submodule is a warning. Rename the file, or name its folder in .musterignore. If git has lost an object, "
        "nothing is decided, and the command exits with 4.")
    FILE_TOO_LARGE = ("MUS022", _E, "file too large to read",
        "Files over the size limit are not read at all.")
    MISSPELT_ENDING = ("MUS023", _E, "misspelt suffix",
        "A file contains objects of the fleet, but its name ends in `.YAML`, `.ymal` or similar, so it is not read. "
        "Objects that no other file declares keep their derived state and stay in the fleet.")
    # -- 1xx: assembling
    FIELD_SET_TWICE = ("MUS101", _E, "field set twice",
        "Two files set the same field of one object. One file, one writer: remove the field from one of them. Until "
        "then the object keeps its last derived state.")
    UNKNOWN_KIND = ("MUS102", _W, "unknown kind",
        "No kind has this group and name, and no admission policy uses it, so the document is ignored. Name the groups "
        "of other programs in `Fleet.spec.foreign`. If only a few letters differ from a known kind (`ManagedClustr`, "
        "`cluster.open-cluster-managment.io`), it is an error: the intended object keeps its derived state and stays "
        "in the fleet.")
    MISSING_IDENTITY = ("MUS103", _E, "missing identity",
        "An object needs apiVersion, kind and metadata.name. Until the document has them, the object that it may "
        "have been, or every object that no other file declares, keeps its derived state.")
    NAMESPACE_OUT_OF_PLACE = ("MUS104", _W, "missing or unnecessary namespace",
        "As with kubectl, a namespaced object without a namespace is in `default`, and the namespace of a "
        "cluster-scoped object is dropped. A missing namespace is reported only for kinds whose namespace names "
        "their cluster.")
    UNSUPPORTED_VERSION = ("MUS105", _E, "unsupported version",
        "The kind is known, but not this version of it.")
    NOT_THE_AGENTS_TO_SAY = ("MUS106", _W, "field that an agent may not set",
        "A part on an agent's ref is about another cluster, or sets what places work on its cluster: labels "
        "(including the set's), annotations, taints, acceptance, finalizers, deletion marks, or conditions that the "
        "hub decides. It is rejected; the agent's other reports still count. `muster accept --label KEY` takes a "
        "label over.")
    STATUS_WITHOUT_DECLARATION = ("MUS107", _W, "status without a declaration",
        "Only reports name this cluster; no file declares it with a spec. It is ignored until one does.")
    TWO_FLEETS = ("MUS108", _E, "two Fleet objects",
        "A repository has one Fleet. While there are several, none is used.")
    FILE_LOST_ITS_OBJECT = ("MUS110", _E, "file that lost its object",
        "A file contained an object at the last run and still exists, but no longer contains it: it is empty, "
        "cannot be read, is named in .musterignore, became a link, or has only unknown kinds. This removes nothing: "
        "the object keeps its derived state and stays in the fleet. To remove an object, delete its file, or its "
        "document in a file with several; moving it to another file does not remove it. muster reads earlier "
        "content from git's history; without it (a plain directory, a shallow clone) from the file's name, and an "
        "empty file may have contained anything.")
    DECLARATION_LOST = ("MUS111", _E, "declaration lost",
        "A document names an object and no longer says what it is: its `spec` is misspelt (`sepc:`), empty, indented "
        "below `metadata` or gone, and no other file has it. A cluster, a certificate request or a ClusterDeployment "
        "needs a spec to exist; of other objects, the file held one at the last run. Nothing is removed: the object "
        "keeps its derived state. Write the spec again. To remove the object, delete the document.")
    UNDECIDED = ("MUS112", _W, "decision not made",
        "A decision about this object depends on an object with an error (a traffic block on a ResourceBinding, a "
        "Placement on its sets and their bindings, a pool on its ClusterImageSet), so it is not made: what was decided "
        "last stays in force until the other object is repaired. Everything else is decided.")
    ADMISSION_UNKNOWN = ("MUS113", _E, "new object that cannot be judged",
        "An admission policy or a binding has an error, so whether it refuses this new object is unknown. The object "
        "waits. What was admitted before stays. As on an API server, a policy with `failurePolicy: Ignore` holds "
        "nothing up.")
    REPORT_REPEATS_PART = ("MUS120", _E, "report that repeats another part",
        "A Lease, a report or the status of a cluster sets a field that another part sets already. The first "
        "counts, people's files before agents' branches; the other counts as not sent. If both are your files, the "
        "object keeps its derived state, unless it is a Lease or an AdapterReport. On an agent's branch it is a "
        "warning.")
    BRANCH_OF_NO_AGENT = ("MUS121", _W, "branch name of no agent",
        "An agent's branch is `agents/<cluster>`, with the lower-case name of one cluster. Nothing on another "
        "branch counts (`agents/zz/agents/a`, `x/agents/a`, `agents/a/b`, `Agents/a`). Outside `agents/` this is "
        "only a note, because it may be a person's branch.")
    AGENT_COMMIT_IN_FUTURE = ("MUS122", _W, "agent's commit from the future",
        "If several branches report about one cluster, the one with the later commit counts. This commit is dated "
        "more than five minutes ahead, so another branch counts. The clock is wrong, or someone tries to hide the "
        "cluster's own branch.")
    AGENT_OF_REMOVED_CLUSTER = ("MUS124", _W, "agent of a removed cluster",
        "The file that declared the cluster was deleted, so the cluster is not in the fleet; its agent still writes "
        "to its branch. It is not accepted automatically, until you declare it again (`muster accept`) or the "
        "branch is deleted.")
    GIT_FILTER = ("MUS130", _E, "stored by a git filter",
        "Git LFS or git-crypt stores this file, so the repository has only a pointer or encrypted data. It counts "
        "as not read, and removes no object. Files of a fleet are small texts: exclude them from the filter in "
        ".gitattributes.")
    AGENT_BRANCH_OVER_LIMITS = ("MUS131", _W, "agent's branch over its limits",
        "An agent's branch has more bytes or files than allowed (`spec.agents.maxBytes`, `maxFiles` of the Fleet), "
        "or is nested too deeply: nothing on it counts. If it is in another repository and much larger, it is not "
        "fetched: the last fetched version counts, at its age. Other agents are not affected.")
    CLUSTER_OF_OTHER_AGENTS = ("MUS132", _W, "cluster of another source",
        "A further repository or a relay may report about the clusters that the Fleet gives it (`clusters` of its "
        "entry in `spec.agents.remotes` or `spec.agents.relays`). Its reports about other clusters do not count.")
    TOO_MANY_UNKNOWN_BRANCHES = ("MUS137", _W, "too many branches of unknown clusters",
        "There are more than 100 agents' branches of clusters that no file names and that were never in the fleet, "
        "or more than 20 branches that do not count for one reason. The first by name are read; this finding counts "
        "the others. A cluster in your files is always read.")
    IMPORTED_COMMAND = ("MUS143", _W, "imported object that commands muster",
        "A dump has an object that commands muster: one of muster's own kinds (policies, budgets, settings, rollouts, "
        "projections, approvals, waivers), an admission policy or its binding, or an object with the annotation "
        "muster.dev/allow-disruption. It is written to a file that ends in `.proposed`, which "
        "muster does not read. Review it, and move what you want to a file of the fleet.")
    SECRET_IN_CLEAR_TEXT = ("MUS144", _W, "Secret in clear text",
        "A Secret, or a ManifestWork with one, has its data in clear text (base64 is clear text). Everybody who can "
        "read the repository reads it, for ever: also after the file is gone. Change what it protects, then encrypt "
        "the file with SOPS, or let an ExternalSecret name it. See docs/secrets.md.")
    AGENT_OBJECT_LOST = ("MUS133", _E, "lost report of an agent",
        "The repository has lost an object of an agent's branch: a damaged disk, or an incomplete clone. Nothing of "
        "the branch counts, and the cluster's derived state stays until its lease runs out. The agent's next push "
        "repairs it. Other clusters are decided.")
    CONDITION_OF_DETECTOR = ("MUS129", _E, "condition that a detector reports",
        "A detector reports this condition of the cluster, and so does a hand-written file or another agent. The "
        "detector's report counts, the other is ignored. Remove it, or stop the detector and delete its file (on "
        "the cluster's branch: `detectors/`).")
    # -- 2xx: schema and references
    UNKNOWN_FIELD = ("MUS201", _E, "unknown field",
        "The schema has no such field. The hint has the nearest name.")
    WRONG_TYPE = ("MUS202", _E, "wrong type",
        "The value has a type that the schema does not allow.")
    VALUE_NOT_ALLOWED = ("MUS203", _E, "value not allowed",
        "The value is not one of those that the schema allows.")
    MISSING_FIELD = ("MUS204", _E, "missing field",
        "A required field is missing in all files of the object.")
    MALFORMED_VALUE = ("MUS205", _E, "malformed value",
        "The value does not have the form that the schema requires.")
    OUT_OF_BOUNDS = ("MUS206", _E, "out of bounds",
        "A number, list or text is smaller or larger than the schema allows.")
    INVALID_OBJECT = ("MUS207", _E, "invalid object",
        "The object violates a rule of its schema.")
    UNKNOWN_REFERENCE = ("MUS210", _W, "unknown reference",
        "The object names another one that does not exist, or lacks what it would need to be used, such as a sink "
        "without a URL or a key.")
    EXPLICIT_EMPTY_VALUE = ("MUS220", _W, "explicit empty value",
        "An empty selector or list means the same as an absent one, often the opposite of what you expect: a Remedy "
        "with `decisionMatches: []` acts at once on all its clusters. Remove the field if you mean that.")
    IMPOSSIBLE_STATUS = ("MUS221", _W, "impossible status",
        "Statuses of conditions are case-sensitive, and only True, False and Unknown exist. With NotEqual, a "
        "misspelt status matches every healthy cluster.")
    USELESS_OVERRIDE = ("MUS222", _W, "override without effect",
        "The annotation muster.dev/allow-disruption has the form `until <time>: <reason>`. Without a time and a "
        "reason it has no effect.")
    TAINT_TWICE_IN_POLICY = ("MUS223", _E, "taint twice in one policy",
        "Key and effect identify a taint, so a ClusterTaintPolicy can list one only once.")
    NO_EXECUTE_BY_POLICY = ("MUS224", _E, "NoExecute by policy",
        "A NoExecute taint evicts work, so a policy may add one only if the Fleet allows it: "
        "`spec.taints.allowNoExecute: true`.")
    UNKNOWN_TAINT_EFFECT = ("MUS225", _W, "effect that no cluster accepts",
        "No cluster of any kind accepts a taint with this effect.")
    UNKNOWN_ACTION = ("MUS229", _W, "unknown action",
        "Nothing performs this action of a Remedy. It is listed in `status.remedyActions`, as in Karmada, for other "
        "programs. If the name is misspelt, no traffic is blocked.")
    MISCONFIGURED_PLACEMENT = ("MUS230", _E, "misconfigured placement",
        "The Placement contradicts itself. It keeps its last decisions and says PlacementMisconfigured.")
    BUILT_IN_SET_SELECTOR = ("MUS231", _W, "selector of a built-in set",
        "The sets `default` and `global` are muster's: their selector in a file has no effect. Remove it, or set "
        "the annotation cluster.open-cluster-management.io/autoupdate to \"false\".")
    BINDING_NAME_DIFFERS = ("MUS232", _E, "binding of another name",
        "A ManagedClusterSetBinding must have the name of its set; an API server rejects any other. Until then, its "
        "namespace keeps its chosen clusters.")
    UNKNOWN_SET_OR_POOL = ("MUS233", _W, "unknown set or pool",
        "An object names a ManagedClusterSet or a ClusterPool that is not in the fleet, and selects nothing with "
        "it; or a Projection names such a pool, Placement or Rollout, and writes nothing. The hint has the nearest "
        "name. `muster lint` reports it, and `muster validate` with --rev or --base.")
    SET_NOT_BOUND = ("MUS234", _W, "set that is not bound",
        "A Placement selects clusters from the sets that a ManagedClusterSetBinding binds to its namespace. The "
        "named set is not bound there, or no set is, so it selects no cluster.")
    STAGE_WITHOUT_CLUSTERS = ("MUS236", _W, "stage without clusters",
        "No cluster can be in this stage of a Rollout: an earlier stage selects every cluster, or its selector matches "
        "none. The stage counts as finished. `muster lint` reports it, and `muster validate` with --rev or --base.")
    CONCURRENCY_ZERO = ("MUS237", _W, "concurrency of zero",
        "`maxConcurrency: 0` means all clusters at once, as in Open Cluster Management, and not none. Remove the field "
        "if you want that; to stop a Rollout, set `paused: true`.")
    UNKNOWN_LABEL = ("MUS235", _W, "label that no cluster has",
        "A selector of a Placement or a ManagedClusterSet requires a label that no ManagedCluster has, so it "
        "selects nothing. The hint has the nearest label.")
    TAINT_OF_POLICY = ("MUS238", _W, "taint that a policy decides",
        "A file gives a cluster a taint that a TaintPolicy adds and removes, such as the built-in "
        "`cluster.open-cluster-management.io/unreachable`. Only the policy decides it. If the taint has a "
        "`timeAdded`, it counts as a live hub's decision on the day on which the cluster moves in.")
    TAINT_TWICE_ON_CLUSTER = ("MUS239", _E, "taint twice on one cluster",
        "A Karmada Cluster has two taints with one key and effect. Its API server rejects them.")
    REQUEST_UNDECODABLE = ("MUS240", _W, "request cannot be decoded",
        "A CertificateSigningRequest must contain a PKCS #10 request, as PEM in base64. No policy approves an "
        "unreadable request: it stays pending.")
    REQUEST_REPLACED = ("MUS241", _W, "request was replaced",
        "A person approved or denied a CertificateSigningRequest, and its content has changed. The decision was "
        "about the old content and does not count for the new one, which is judged as a new request: muster keeps a "
        "digest of the decided content. Review it, and accept its cluster again, or write the condition again with "
        "another reason or message. Upstream, a request cannot change.")
    REQUEST_OF_DENIED_CLUSTER = ("MUS242", _W, "request of a denied cluster",
        "A person approved a CertificateSigningRequest of a cluster that was accepted once and no longer is. "
        "Requests of denied clusters are denied, even if approved.")
    LEASE_TOO_LONG = ("MUS250", _W, "lease longer than a day",
        "A `leaseDurationSeconds` is longer than 86400 seconds. A cluster is silent after several durations, so "
        "such a cluster would not be monitored. The lease counts as one day, for hub and agent.")
    SETTINGS_IGNORED = ("MUS275", _W, "settings that do not count",
        "A Fleet with an error is not used at all: the settings of the last run stay in force (in the Fleet's "
        "derived part), or the defaults if there was none. No pulse is published, because a broken Fleet could send "
        "events anywhere.")
    SETTING_WITHOUT_EFFECT = ("MUS276", _E, "setting without effect",
        "The Fleet names the branch for `derived/`, but is not in `fleet.yaml` at the root. muster must know the "
        "branch before it reads anything else, so the setting counts only there, and is rejected elsewhere.")
    NO_SUCH_INSTANT = ("MUS270", _E, "no such instant",
        "The time has the right form but is no instant: a day that does not exist, or before year 1 or after year "
        "9999 in UTC.")
    NO_SUCH_DURATION = ("MUS271", _E, "no such duration",
        "A duration is at most 2562047h, about 292 years: the range of 64-bit nanoseconds in Go and CEL.")
    UNKNOWN_OPERATOR = ("MUS249", _W, "operator that matches nothing",
        "A ClusterTaintPolicy compares conditions with `In` or `NotIn`, and a Placement's toleration has the operator "
        "`Exists` or `Equal`. Upstream's schemas accept other values, but they match nothing, so the policy never "
        "acts, and the toleration tolerates nothing.")
    CANNOT_HIBERNATE = ("MUS260", _E, "clusters cannot hibernate",
        "The platform of a ClusterPool cannot hibernate clusters, so all of them must run. The pool does not "
        "change.")
    CLUSTERS_WITHOUT_POOL = ("MUS261", _W, "clusters without their pool",
        "Clusters of a ClusterPool exist without the pool. They stay: a file that was deleted by mistake deletes no "
        "clusters. Clusters that are marked for removal still go.")
    DOES_NOT_SETTLE = ("MUS262", _E, "object does not settle",
        "In repeated passes at one instant, the object alternates between two states, or changes in more passes "
        "than `Fleet.spec.limits.passes` allows. Nothing of it is committed, it keeps its last derived state, and "
        "the rest of the fleet is committed. Either two rules undo each other, or a policy inverts its own result "
        "in `previous`; otherwise it is an error in muster.")
    CLAIM_MOVED_POOL = ("MUS263", _W, "claim of another pool",
        "A ClusterClaim with a cluster was edited to name another pool. A claim gets one cluster in its life: it "
        "keeps this cluster, with the terms of that cluster's pool, until it ends.")
    CLUSTER_PROTECTED = ("MUS264", _W, "cluster is protected",
        "A cluster of a ClusterPool should be deleted, because it is broken, was released, or its pool is removed. "
        "Its annotation `hive.openshift.io/protected-delete` prevents that. It stays and counts.")
    PLACEMENTS_ANSWER_EACH_OTHER = ("MUS265", _W, "placements that answer each other",
        "The scores of some Placements depend on each other's choices (`Balance`) so that no choice lasts: one wants "
        "to be where the other is not, and the other where the first is. They keep the clusters of the last run as "
        "far as these still pass. Give `Balance` weights of one sign.")
    BAD_POLICY_PARAMETER = ("MUS280", _E, "invalid policy parameter",
        "`policyParams` of the Fleet gives a built-in policy a value of the wrong type or out of range. The policy "
        "would fail for every object. The Fleet does not change.")
    INVALID_SELECTOR = ("MUS281", _E, "selector that no API server accepts",
        "`In` and `NotIn` need values, and `Exists` and `DoesNotExist` take none. The selecting object does not "
        "change: a set keeps its clusters, a Placement its decisions. A policy or a budget decides nothing new.")
    NAME_NOT_FOR_A_HUB = ("MUS282", _W, "name that does not fit where it is used",
        "The object's name becomes a namespace, or the value of a label, where an API server allows fewer characters "
        "than in a name. The object counts here, and a hub refuses what belongs to it: a cluster's Lease, a "
        "Placement's decisions.")
    # -- 3xx: expressions and policies
    CEL_SYNTAX = ("MUS301", _E, "CEL syntax",
        "The expression does not parse.")
    CEL_TYPE = ("MUS302", _E, "CEL type",
        "The expression is wrong for every object: a name, field or operand is wrong.")
    CEL_SUSPICIOUS = ("MUS303", _W, "suspicious expression",
        "The expression is valid but never true, or never reached.")
    CEL_TOO_COSTLY = ("MUS304", _E, "expression too costly",
        "The expression's estimated cost is over the limit, or its value would be too large to write out: a list that "
        "holds one part twice is written with two of them.")
    CEL_CUT_OFF = ("MUS305", _E, "expression cut off",
        "An expression cost more at run time than allowed, alone or together with the policy's other expressions "
        "and variables for the object. It counts as failed. `spec.limits` of the Fleet has the limits.")
    DRILL_SUBJECT = ("MUS306", _E, "expression of a Drill without one subject",
        "A state that a Drill forbids is about one sort of object: `placement`, `pool`, `rollout` or `ingress`. The "
        "expression names none of them, or several. Write one expression for each.")
    CONDITION_DECIDED_TWICE = ("MUS311", _E, "two policies decide one condition",
        "Two policies decide the same condition of the same objects. Give one of them another type or target.")
    POLICY_CYCLE = ("MUS312", _E, "policies depend on each other in a cycle",
        "The conditions that policies read form a cycle.")
    CONDITION_OF_BUILT_IN_POLICY = ("MUS313", _E, "condition of a built-in policy",
        "A built-in policy decides this condition of these objects, and other parts depend on its meaning. Use "
        "another type, or replace the built-in policy by giving yours its name. Until then it decides nothing.")
    REPLACES_BUILT_IN_POLICY = ("MUS314", _N, "replaces a built-in policy",
        "The policy has the name of a built-in one and replaces it. Ignore this if you mean it.")
    ADMISSION_REFUSED = ("MUS320", _E, "rejected by an admission policy",
        "A ValidatingAdmissionPolicy rejects this revision of the object, with the policy's message. With the "
        "action Warn it is a warning, with Audit a note. An object of an unknown kind has no derived state to keep.")
    ADMISSION_MATCHES_NOTHING = ("MUS321", _W, "policy that matches nothing",
        "A ValidatingAdmissionPolicy is in force but matches no object of the repository, nor any kind that could "
        "be there: muster's kinds, Kubernetes' own, or those of CustomResourceDefinitions in the repository. Files "
        "never match subresources or CONNECT.")
    ADMISSION_NOTE = ("MUS322", _N, "note of an admission policy",
        "An auditAnnotation of a ValidatingAdmissionPolicy has a note about the object. On a live hub it goes to "
        "the API server's audit log.")
    ADMISSION_ASKS_AUTHORIZER = ("MUS323", _E, "policy that uses an authorizer",
        "A ValidatingAdmissionPolicy reads `authorizer`, which only an API server has. In a repository, the git "
        "host decides who may change what, with owners of paths and protected branches. The policy is not in force; "
        "nothing is reported at the objects.")
    # -- 4xx: deciding
    EXPRESSION_FAILED = ("MUS401", _E, "expression failed",
        "An expression failed at run time for an object. The result is Unknown with reason PolicyError.")
    FAULT_IN_BUILT_IN_POLICY = ("MUS402", _E, "error in a built-in policy",
        "An expression of a built-in policy failed for an object: this is an error in muster, not in your fleet. "
        "The condition is Unknown with reason PolicyError, a taint does not change, everything else is decided and "
        "committed, and the command exits with 3. It is reported once for all objects and policies. Please report "
        "the message; the condition's message says what failed.")
    BACKEND_WITHOUT_CLUSTER = ("MUS410", _W, "backend without a cluster",
        "Traffic to every cluster that serves a backend of a MultiClusterIngress is blocked, so nothing answers. "
        "Karmada does the same. A DisruptionBudget with minAvailableBackends: 1 holds the last block.")
    FAULT_AT_OBJECT = ("MUS490", _E, "error in muster at one object",
        "muster failed while deciding this object: this is an error in muster, not in your fleet. The object keeps "
        "its last derived state, everything else is decided and committed, and the command exits with 3. Please "
        "report the message: it has the type of the exception and its place in muster's code, and none of your "
        "values.")
    FAULT = ("MUS491", _E, "error in muster",
        "muster failed in a part that concerns no single object: a file, a whole stage, a commit message. Its "
        "earlier result stays, the rest is decided and committed, and the command exits with 3. Please report the "
        "message: it has none of your values.")
    REMOVALS_HELD = ("MUS420", _W, "removals are held",
        "More clusters are no longer declared than a DisruptionBudget allows to remove at once (`maxRemoved`; built "
        "in: 10 % of them, at least 2). None of them is removed, because a bad merge or a lost folder looks the "
        "same. They keep their derived state, stay chosen, and count. Restore the files, or allow the removal: name "
        "the clusters in the trailer `Muster-Allow-Removal: <names>` of the commit that removes them, or set the "
        "annotation muster.dev/allow-disruption on the Fleet or the budget. Removing them over several runs needs "
        "no permission, and neither does a cluster with a deletionTimestamp or one that was never accepted.", _CHANGE)
    TRAILER_ALLOWS_NOTHING = ("MUS421", _W, "trailer without effect",
        "The trailer Muster-Allow-Removal names clusters, separated by commas, that the same commit removes. A "
        "number, `all`, or a cluster that another commit removes has no effect: such a permission could be used by "
        "a later mistake.", _CHANGE)
    STRATEGY_CANNOT_BE_FOLLOWED = ("MUS430", _E, "rollout strategy cannot be followed",
        "A rolloutStrategy of a ManifestWorkReplicaSet has an unknown type, an unreadable deadline or size, or names a "
        "decision group that its Placement does not have. The rollout is held: no cluster gets the template, works "
        "that exist stay as they are, and the condition PlacementRolledOut is False with the reason Stopped. Open "
        "Cluster Management skips a group that it does not know, and so rolls out without the canary.")
    CLUSTER_CHOSEN_TWICE = ("MUS431", _W, "cluster chosen by several placements",
        "Several placements of a ManifestWorkReplicaSet choose one cluster. The cluster has one work of the set, and "
        "follows the rolloutStrategy of the first placement that chooses it.")
    NO_LIMIT_OF_CONCURRENCY = ("MUS432", _W, "no limit of concurrency",
        "A maxConcurrency of 0 means all clusters at once, as in Open Cluster Management.")
    NO_PROGRESSING_RULE = ("MUS433", _W, "no rule for Progressing",
        "A ManifestWorkReplicaSet is rolled out step by step, and no conditionRules of its template derive "
        "Progressing. A cluster then counts as done as soon as its work is applied and available.")
    WORK_SET_REFUSED = ("MUS434", _E, "refused ManifestWorkReplicaSet",
        "The webhook of Open Cluster Management refuses the object: its template has no manifests, one without a name "
        "or with a generateName, one manifest twice, or more than 500 KiB; or its namespace and name are too long for "
        "a label together. The set keeps its last state and its works.")
    SCORE_ALSO_REPORTED = ("MUS435", _W, "score is written and derived",
        "A ScorePolicy derives an AddOnPlacementScore that a file or an agent writes, too. The written one counts, and "
        "the policy decides nothing about that cluster.")
    CLUSTER_WITHOUT_STAGE = ("MUS436", _W, "clusters in no stage",
        "The Placement of a Rollout selects clusters that no stage selects. They get no revision, and the Rollout is "
        "complete without them. `muster get rollouts` counts them once the Placement has chosen them. `muster lint` "
        "reports it, and `muster validate` with --rev or --base.")
    DRILL_FAILED = ("MUS440", _E, "drill fails",
        "`muster drill` rehearsed the loss of clusters, and a state that the Drill forbids came about: the message "
        "says for which object, when, and for how long. `muster forecast` shows everything that happens then. Mend "
        "the placement, or allow the state. `muster test` fails, too, and the plan of a pull request shows what it "
        "breaks.", _CHANGE)
    DRILL_LOSES_NOTHING = ("MUS441", _E, "drill that loses nothing",
        "No cluster is what the Drill loses, so it shows nothing. Its label or pattern may be misspelt, or the "
        "clusters are gone.")
    BRANCHES_CONFLICT = ("MUS442", _E, "branches that do not merge",
        "git cannot merge a branch that `muster plan --with` names, alone or with another one, so what they do "
        "together is not known. The finding names the first file. All other sets of branches are tried.", _CHANGE)
    # -- 5xx: derived state
    NOT_A_DERIVED_PART = ("MUS502", _W, "not a derived part",
        "Files under derived/ are muster's: one document per file, the derived part of the object after which the "
        "file is named. Anything else does not count, and the next run that commits removes it.")
    STRANGE_DERIVED_FIELD = ("MUS503", _W, "unknown field in a derived part",
        "A derived part has exactly the fields that muster derives of the kind. Another field or value does not "
        "count and is decided again; times of earlier transitions in it are lost. Only the smallest such thing is "
        "left out: an element of a list, a field, a record.")
    DERIVED_EDITED = ("MUS504", _E, "commit that changes derived files",
        "A commit between --base and the head changes files below derived/. The next run reads them as its own "
        "memory: who is approved, which certificates count, since when a cluster is silent. Only muster may write "
        "there. A run's own commit is accepted if it is signed as Fleet.spec.commit.signers of the base requires; "
        "if the Fleet names no signers, this is a warning. Commits of `muster sign` are reported, so compare with a "
        "base that has them. Push the result of `muster import` below derived/ to the branch itself, not in a pull "
        "request.", _CHANGE)
    RUN_AHEAD = ("MUS505", _W, "run ahead of the clock",
        "A commit looks like one of muster's runs and names an instant that lies more than five minutes ahead of the "
        "clock: the clock of that run was wrong, or somebody forged the commit. Its instant does not count, so runs go "
        "on at the present. If muster's commits are signed (`Fleet.spec.commit.signers`), only a wrong clock can be "
        "the cause.", _CHANGE)
    RUN_FORGED = ("MUS506", _E, "commit that claims to be a run",
        "A commit between --base and the head has a line `Muster-Now:`, `Muster-Source:` or `Muster-Whole:`, with "
        "which muster's own commits say what a run decided on, and it is no run. The line does not count. Remove it "
        "from the message: `git rebase --interactive`, reword.", _CHANGE)
    DERIVED_DAMAGED = ("MUS501", _W, "derived file is damaged",
        "A file under derived/ cannot be read. It is written again; times of earlier transitions in it are lost.")
    AGENTS_NOT_HEARD = ("MUS510", _E, "agents' refs are missing",
        "Derived state says that these clusters report on their own refs (`refs/heads/agents/<cluster>`), and the "
        "refs are missing here: a checkout of one branch, a fork, a plain directory. A missing ref is not silence, "
        "so the clusters keep their derived state, and commands that read a repository stop. muster fetches the "
        "refs from a remote that has them. If all agents have retired, reconcile once with --agents-gone.")
    AGENTS_REMOTE_NOT_HEARD = ("MUS512", _E, "agents' repository does not answer",
        "A repository of `spec.agents.remotes` does not answer. Its clusters keep their derived state, and all "
        "others are decided. Every run asks it again.")
    STATE_OF_CHECKOUT = ("MUS515", _W, "state or cache that a checkout brought",
        "The file of the state (`--state`, `MUSTER_STATE`) or the cache lies in a work tree, and git tracks it there, "
        "or a link leads to it. A commit may then say what an earlier run found, so it does not count: every run "
        "evaluates the whole fleet. A file in the checkout that git does not track is fine.")
    AGENTS_REMOTE_NOT_ASKED = ("MUS514", _N, "repository that only a revision under review names",
        "The revision that is read adds a repository to `spec.agents.remotes`, or gives one another URL. A revision "
        "under review decides nothing about the machine that reviews it, so the repositories that the Fleet of "
        "`--base` (without it, of HEAD) names are asked, and this one is not. What its agents report is unknown "
        "until the revision is merged.")
    AGENT_REF_GONE = ("MUS511", _W, "agent's ref is gone",
        "The cluster reported on its own ref at the last run. Now the ref is missing while others exist, or has "
        "nothing that counts. Its derived state stays until its lease has run out, counted from the run that "
        "notices. Then it is silent.")
    AGENT_NOT_VERIFIED = ("MUS513", _W, "report without a valid signature",
        "The Fleet requires signed reports (`spec.agents.signing: required`), and the newest commit on the agent's "
        "ref is not signed with the key of a valid certificate of the cluster: there is no signature, or a "
        "stranger's; the certificate expired, was revoked or replaced; or an older commit was restored. It counts "
        "as not received: derived state stays until the lease runs out, and the condition AgentIdentityVerified has "
        "the reason. If the agent has no certificate yet, its request for one counts.")
    CERTIFICATE_NOT_VOUCHED = ("MUS516", _W, "certificate that no authority vouches for",
        "The Fleet requires signed reports (`spec.agents.signing: required`), and a file of people's has the "
        "certificate of a request (`status.certificate`). Its key would speak for the cluster, so it counts only if "
        "`spec.signing.authority` names its issuer: without an authority anybody can be one. This certificate does "
        "not count, and reports that are signed with its key count as not received (MUS513). Certificates of "
        "`muster sign` need no file.")
    RECORD_MISSING = ("MUS517", _W, "record that is not here",
        "The commit of a run names the record of what it heard from agents and remembered (`Muster-Heard`), and this "
        "clone does not have it: it was not fetched, or `Fleet.spec.record.keep` has ended it. What agents said then "
        "is not known: muster never uses today's reports for the past. Fetch it with "
        "`git fetch origin 'refs/muster/heard/*:refs/muster/heard/*'`.")
    RECORD_INVALID = ("MUS518", _W, "record that does not count",
        "The record of a run is cut off, damaged, of another version, of another run, or larger than is read. Nothing "
        "of it is believed, and what agents said then is not known. Runs go on: none needs a record. If no later "
        "version of muster made it, find out who wrote to `refs/muster/heard/`.")
    RECORD_NOT_KEPT = ("MUS519", _W, "run without a record",
        "What a run heard from agents could not be recorded, or the remote does not take the record. The run counts, "
        "but cannot be repeated later. Allow muster's account to push to `refs/muster/heard/`; if agents' branches are "
        "too large together, lower `Fleet.spec.agents.maxBytes`.")
    DERIVED_TOO_LARGE = ("MUS520", _E, "derived part too large",
        "The derived part of the object, such as a copy of an adapter's report, would be larger or more deeply "
        "nested than a file may be, so the next run could not read it. The object keeps its last derived state, and "
        "a report counts as not sent. It is a warning if only agents report the object.")
    PROJECTIONS_COLLIDE = ("MUS530", _E, "files of a Projection collide",
        "A Projection writes several files to one path, to a path and one below it, or to paths that differ by case "
        "alone, which many file systems cannot hold. All of these files stay as they are, and every other file is "
        "written. Put the cluster's name into the path.")
    # -- 6xx: advice, which `muster lint` gives
    MATCHES_NOTHING = ("MUS601", _W, "matches no object",
        "A policy's target, or a budget's selector, matches no object of the fleet. This is fine before the first "
        "one exists; otherwise a label may be misspelt.")
    UNKNOWN_CONDITION_TYPE = ("MUS602", _W, "condition that nothing sets",
        "A Remedy or a ClusterTaintPolicy matches a condition that no cluster reports and no policy decides, so it "
        "never acts. The hint has the nearest known type.")
    BUDGET_HOLDS_NOTHING = ("MUS603", _W, "budget that holds nothing",
        "A DisruptionBudget allows as many disrupted clusters as it counts, so it never holds anything.")
    SELECTS_EVERYTHING = ("MUS604", _N, "selector that matches everything",
        "A policy's selector matches every object of its kinds. It may be unnecessary, or too wide.")
    RULE_NEVER_ASKED = ("MUS605", _W, "rule that is never reached",
        "The first rule that holds decides, and a rule without a condition always holds: the rules after it are "
        "never reached.")
    RULE_NEVER_DECIDES = ("MUS606", _W, "rule that can never decide",
        "`muster lint --prove` proved, for all objects that the schemas allow, that the rule is never the first to "
        "hold: it contradicts itself, or earlier rules hold whenever it does.")
    EXPRESSION_CAN_FAIL = ("MUS607", _W, "expression that can fail",
        "`muster lint --prove` found an object for which the expression fails: it reads a missing field, or a "
        "number or a time is out of range. A condition is then Unknown with reason PolicyError, and a taint does "
        "not change. muster's evaluator has confirmed the example.")
    INVARIANT_BROKEN = ("MUS608", _W, "invariant that does not hold",
        "An `invariants` entry of a PolicyTest says what must never be decided about a condition, and `muster lint "
        "--prove` found an object for which the policy decides it. muster's evaluator has confirmed the example. "
        "The built-in invariants also apply to policies that replace built-in ones.")
    TOLERATION_MOVES_WORK_BACK = ("MUS609", _W, "toleration that moves work back",
        "A Placement tolerates the taint `unreachable` and not `unavailable`, or tolerates `unavailable` only for a "
        "time. The two replace each other, and each is new: a cluster that fails and loses its work gets it back when "
        "it falls silent, or when it then reports its failure again. Tolerate both without a limit, or neither; to "
        "move work away after a time, let a policy set one taint that stays from the failure through the silence "
        "(`unhealthy-taint` of the policy library), and tolerate that for the time.")
    TIME_NEVER_COMES = ("MUS610", _W, "time that never comes",
        "A Calendar never opens again, or a freeze of the Fleet is over for good: what waits for it waits for ever, or "
        "it holds nothing. Or all windows of a stage of a Rollout are in freezes, for two years from now. Remove it, "
        "or change its windows or its period.")
    GATE_NEVER_PASSES = ("MUS611", _W, "gate that can never pass",
        "`muster lint --prove` proved, for all clusters and reports that the schemas allow, that the gate of a Rollout "
        "is never true, so no cluster succeeds: it contradicts itself, or a gate before it is false when it is true.")
    ALWAYS_THE_SAME = ("MUS612", _W, "expression with one result",
        "`muster lint --prove` proved that the gate of a Rollout passes for every cluster and revision, or that a "
        "ScorePolicy without a selector gives every cluster the same score. It has no effect.")
    SCORE_OUT_OF_RANGE = ("MUS613", _W, "score that can be out of range",
        "`muster lint --prove` found a cluster for which a ScorePolicy gives less than -100 or more than 100. The "
        "nearest of these counts, so clusters may have the same score. muster's evaluator has confirmed the example.")
    STAGE_NEVER_REACHED = ("MUS614", _W, "stage that no cluster can reach",
        "`muster lint --prove` proved that no cluster can be in the stage of a Rollout, whatever labels and claims it "
        "has: the selector contradicts itself, earlier stages take each cluster that it selects, or the Placement does "
        "not choose any of them. The stage counts as finished.")
    # -- 7xx: waivers
    WAIVER = ("MUS701", _N, "waiver",
        "A branch adds a Waiver, which silences a finding until its date. A warning, a note and advice are "
        "silenced. An error is shown with the waiver and affects no exit code, but its object keeps its last "
        "derived state. Another problem of the same object, or another message, is not waived.")
    NOTHING_TO_WAIVE = ("MUS702", _E, "nothing to waive",
        "A Waiver names a code that no finding has, or one that cannot be waived: an error in muster, or a finding "
        "about waivers. It has no effect.")
    WAIVER_EXPIRED = ("MUS703", _W, "waiver has expired",
        "The date of a Waiver has come, in UTC: its finding counts again. Fix it and remove the Waiver, or waive it "
        "again with `muster waive`.")
    WAIVER_EXPIRES_SOON = ("MUS704", _W, "waiver about to expire",
        "`muster lint` reports a Waiver in the last two weeks before its date.")
    WAIVER_SILENCES_NOTHING = ("MUS705", _W, "waiver that silences nothing",
        "The finding of a Waiver no longer exists: it is fixed, or has become another problem or another message. "
        "Remove the Waiver, or waive the current finding with `muster waive`.")
    # -- 9xx: moving in
    CREDENTIALS_LEFT_OUT = ("MUS960", _W, "credentials are not imported",
        "`muster import` writes no credentials, because everyone who can read the repository reads them, for ever. "
        "It skips Secrets, leaves out objects that contain a Secret or a private key, and removes passwords from "
        "URLs.")
    TWICE_IN_DUMP = ("MUS961", _W, "twice in the dump",
        "The dump has two states of one object. The one with the later resourceVersion is imported, else the first.")
    NO_PLACE_FOR_OBJECT = ("MUS962", _E, "no file for an object",
        "`muster import` could not write a file of the object: another file exists, a symbolic link is on the path, "
        "git or .musterignore ignores it, or it would be too large to read. It writes nothing outside the "
        "repository and overwrites nothing, so the object is left out.")
    DUMP_IN_REPOSITORY = ("MUS963", _W, "dump inside the repository",
        "muster reads every file of the repository, so a dump inside it declares its objects twice.")
    OBJECT_ELSEWHERE = ("MUS964", _W, "object in another file",
        "`muster import --replace` rewrites only files of its own layout that contain nothing else. Other files are "
        "yours and stay.")
    SECRETS_NOT_VISIBLE = ("MUS965", _W, "secrets cannot be checked",
        "A pool creates no clusters while a Secret that it names is missing. muster reads no Secrets, so it uses "
        "`Fleet.spec.pools.externalDependencies`. An import fills it in pools/secrets.yaml if it is empty, and "
        "names the missing ones otherwise.")
    # fmt: on


#: Each code by the text that people see and write.
CODES: Mapping[str, Code] = MappingProxyType({code.value: code for code in Code})
