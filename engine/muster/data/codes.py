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


class Code(StrEnum):
    """One kind of finding: what people see (`MUS101`), how bad it is unless said otherwise, a heading of a few words,
    and the explanation for docs/errors.md: what it means, why it is refused, what muster does meanwhile, and how to
    mend it."""

    severity: Severity
    heading: str
    explanation: str

    def __new__(cls, value: str, severity: Severity, heading: str, explanation: str) -> "Code":
        """Make a member; its value is the code alone."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.severity, code.heading, code.explanation = severity, heading, explanation
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
        "The file holds a character that no text needs and terminals obey.")
    TOO_LARGE = ("MUS008", _E, "too large",
        "The file is larger than any object needs to be and was not read.")
    NOT_A_MAPPING = ("MUS009", _E, "not a mapping",
        "A document must be a mapping with apiVersion and kind.")
    AMBIGUOUS_NUMBER = ("MUS010", _E, "ambiguous number",
        "YAML readers disagree on this unquoted value, or no JSON number can carry it: 624e769365028171 is a commit "
        "id to a person and infinity to a parser. Quote it.")
    EXPLICIT_TAG = ("MUS011", _E, "explicit tag",
        "Tags such as !!python/object or !!binary are not part of a fleet's language.")
    UNSUPPORTED_KEY = ("MUS012", _E, "unsupported key",
        "Keys are plain or quoted strings.")
    SYMBOLIC_LINK = ("MUS020", _W, "symbolic link",
        "Symbolic links are not followed: what they point at may lie outside the repository. Commit the file itself.")
    UNREADABLE_PATH = ("MUS021", _W, "unreadable path",
        "The path could not be read: it is not UTF-8, has a name in it that some file systems take for `.git`, is "
        "not a regular file, or its permissions do not let muster read it. An object that git has lost is another "
        "thing: nothing is decided then, and the command exits with 4.")
    FILE_TOO_LARGE = ("MUS022", _E, "file too large to read",
        "Files over the size limit are not read at all.")
    MISSPELT_ENDING = ("MUS023", _E, "misspelt ending",
        "A file holds objects of the fleet, and its name ends in `.YAML`, `.ymal` or the like, so it is not read. "
        "The objects that nothing else declares keep their derived state, and stay in the fleet.")
    # -- 1xx: assembling
    FIELD_SET_TWICE = ("MUS101", _E, "field set twice",
        "Two files set the same field of one object. One file, one writer: remove the field from one of them. Until "
        "then the object keeps its last derived state.")
    UNKNOWN_KIND = ("MUS102", _W, "unknown kind",
        "No kind of this group and name is known, and no admission policy speaks of it or reads it, so the document "
        "is ignored. Where only a few letters differ from one that is (`ManagedClustr`, "
        "`cluster.open-cluster-managment.io`), it is an error: the object that was meant keeps its derived state and "
        "stays in the fleet.")
    MISSING_IDENTITY = ("MUS103", _E, "missing identity",
        "An object needs apiVersion, kind and metadata.name. Until the document has them, the object that it may "
        "have been, or every object that nothing else declares, keeps its derived state.")
    NAMESPACE_OUT_OF_PLACE = ("MUS104", _W, "namespace out of place",
        "As with kubectl, a namespaced object that names no namespace is in `default`, and the namespace of a "
        "cluster-scoped one is dropped. The first is said only of what speaks of a cluster by its namespace.")
    UNSUPPORTED_VERSION = ("MUS105", _E, "unsupported version",
        "The kind is known, this version of it is not.")
    NOT_THE_AGENTS_TO_SAY = ("MUS106", _W, "not the agent's to say",
        "A part on an agent's ref speaks for something that is not that agent's own, or sets what places work on its "
        "cluster or lets it off: labels (the set's among them), annotations, taints, acceptance, finalizers and "
        "marks of deletion, conditions that the hub decides. It is refused; what else the agent says still counts. "
        "`muster accept --label KEY` takes a label over.")
    STATUS_WITHOUT_DECLARATION = ("MUS107", _W, "status without a declaration",
        "Only reported state names this cluster; nobody declares it with a spec. It is ignored until someone does.")
    TWO_FLEETS = ("MUS108", _E, "two Fleet objects",
        "A repository has one Fleet. While there are several none is obeyed.")
    FILE_LOST_ITS_OBJECT = ("MUS110", _E, "file that lost its object",
        "A file held an object at the last run, is still there, and holds it no more: it is empty, cannot be read, "
        "is named in .musterignore, became a link, or holds only what is of no known kind. That is a slip and "
        "removes nothing: the object keeps its derived state and stays in the fleet. An object is removed by "
        "deleting its file, or its document in a file that holds others; moving it to another file is no removal. "
        "What a file held is told by git's history; without it (a plain directory, a shallow clone) by the file's "
        "name, and an empty file may have held anything.")
    REPORT_REPEATS_PART = ("MUS120", _E, "report that repeats another part",
        "A Lease, a report or the status of a cluster sets what another part sets already. The first counts, "
        "people's files before agents' branches; the other counts as not sent. The object is decided all the same. "
        "On an agent's branch it is a warning.")
    BRANCH_OF_NO_AGENT = ("MUS121", _W, "branch of no agent",
        "An agent's branch is `agents/<cluster>`: one cluster, named in lower case as Kubernetes does. A branch with "
        "anything before, between or after (`agents/zz/agents/a`, `x/agents/a`, `agents/a/b`, `Agents/a`) speaks for "
        "nobody, and nothing on it counts. Outside of `agents/` that is only a note: it may be a person's branch.")
    AGENT_COMMIT_IN_FUTURE = ("MUS122", _W, "agent's commit from the future",
        "Where several branches speak for one cluster, the one with the later commit counts. This commit is dated "
        "more than five minutes ahead, so another branch counts: a wrong clock, or an attempt to shadow the "
        "cluster's own branch.")
    AGENT_OF_REMOVED_CLUSTER = ("MUS124", _W, "agent of a removed cluster",
        "The file that declared the cluster was deleted, so the cluster is out of the fleet; its agent still writes "
        "to its branch. It is neither a newcomer nor accepted by itself, until people declare the cluster again "
        "(`muster accept`) or the branch is deleted.")
    GIT_FILTER = ("MUS130", _E, "stored by a git filter",
        "Git LFS or git-crypt stores this file, so the repository holds a pointer or a cipher in its place, which "
        "says nothing of the objects in it. It counts as not read: nothing is taken for gone on its account. Files "
        "of a fleet are small texts: take them out of the filter in .gitattributes.")
    AGENT_BRANCH_OVER_LIMITS = ("MUS131", _W, "agent's branch over its limits",
        "An agent's branch holds more bytes or files than one may (`spec.agents.maxBytes`, `maxFiles` of the Fleet), "
        "or nests too deeply: nothing on it counts. Where it lies elsewhere and fetching it would take far more, it "
        "is not fetched: what was fetched of it before goes on counting, as old as it is. The other agents' branches "
        "are read as ever.")
    CLUSTER_OF_OTHER_AGENTS = ("MUS132", _W, "cluster of another's agents",
        "A further repository or a relay speaks for the clusters that the Fleet gives it (`clusters` of its entry in "
        "`spec.agents.remotes` or `spec.agents.relays`). What it says of another one does not count.")
    TOO_MANY_UNKNOWN_BRANCHES = ("MUS137", _W, "too many branches of unknown clusters",
        "There are more than 100 branches of agents whose clusters no file names and that were never in the fleet, "
        "or more than 20 branches that do not count for one reason. The first by name are looked at, and this "
        "finding counts the others. A cluster that a file of people's names is always looked at.")
    IMPORTED_COMMAND = ("MUS143", _W, "imported object that commands muster",
        "A dump holds an object that says what muster may do: a Fleet with its settings, an Approval, a Waiver, or "
        "an object with the annotation muster.dev/allow-disruption. It is not taken over, but written to a file that "
        "ends in `.proposed`, which muster does not read. Read it, and put what you want of it into a file of the "
        "fleet.")
    AGENT_OBJECT_LOST = ("MUS133", _E, "lost word of an agent",
        "The repository has lost an object of what an agent wrote to its branch: a damaged disk, or a clone that was "
        "cut short. Nothing of the branch counts, and what was derived of the cluster stands until its lease runs "
        "out, as where the branch is deleted. The next beat of the agent mends it. The other clusters are decided.")
    CONDITION_OF_DETECTOR = ("MUS129", _E, "condition that a detector reports",
        "A detector reports this condition of the cluster, and somebody else says it too: a file that was written by "
        "hand, or another agent. The detector's word counts, the other is left out. Remove it, or stop the detector "
        "and delete its file (on the cluster's branch: `detectors/`).")
    # -- 2xx: schema and references
    UNKNOWN_FIELD = ("MUS201", _E, "unknown field",
        "The schema has no such field. The nearest name is given where there is one.")
    WRONG_TYPE = ("MUS202", _E, "wrong type",
        "The value has another type than the schema's.")
    VALUE_NOT_ALLOWED = ("MUS203", _E, "value not allowed",
        "The value is not one of those that the schema allows.")
    MISSING_FIELD = ("MUS204", _E, "missing field",
        "A required field is missing in all files of the object.")
    MALFORMED_VALUE = ("MUS205", _E, "malformed value",
        "The value does not have the form that the schema asks for.")
    OUT_OF_BOUNDS = ("MUS206", _E, "out of bounds",
        "A number, list or text is smaller or larger than the schema allows.")
    INVALID_OBJECT = ("MUS207", _E, "invalid object",
        "The object violates a rule of its schema.")
    UNKNOWN_REFERENCE = ("MUS210", _W, "unknown reference",
        "The object names another one that does not exist.")
    EXPLICIT_EMPTY_VALUE = ("MUS220", _W, "explicit empty value",
        "An empty selector or list means the same as an absent one, which is often the opposite of what it looks "
        "like: a Remedy with `decisionMatches: []` acts at once, on every cluster that it speaks of. Remove the "
        "field if that is meant.")
    IMPOSSIBLE_STATUS = ("MUS221", _W, "impossible status",
        "Statuses of conditions are compared with their case, and there are only True, False and Unknown. With "
        "NotEqual, a mis-cased status matches every healthy cluster.")
    USELESS_OVERRIDE = ("MUS222", _W, "override that overrides nothing",
        "The annotation muster.dev/allow-disruption has the form `until <time>: <reason>`. Without a time and a "
        "reason it lets nothing through.")
    TAINT_TWICE_IN_POLICY = ("MUS223", _E, "taint twice in one policy",
        "A taint is known by its key and effect; a ClusterTaintPolicy that lists one twice cannot mean both.")
    NO_EXECUTE_BY_POLICY = ("MUS224", _E, "NoExecute by policy",
        "A NoExecute taint moves work off a cluster, so a policy may add one only in a fleet that allows it: "
        "`spec.taints.allowNoExecute: true` on the Fleet.")
    UNKNOWN_TAINT_EFFECT = ("MUS225", _W, "effect that no cluster takes",
        "No cluster of any kind accepts a taint with this effect.")
    UNKNOWN_ACTION = ("MUS229", _W, "unknown action",
        "A Remedy asks for an action that nothing carries out. It stands in `status.remedyActions` of the clusters "
        "all the same, as in Karmada, for whoever reads it there; with a slip in the name no traffic is blocked.")
    MISCONFIGURED_PLACEMENT = ("MUS230", _E, "misconfigured placement",
        "The Placement contradicts itself, so nobody can say which clusters it wants. It keeps its last decisions "
        "and says PlacementMisconfigured.")
    BUILT_IN_SET_SELECTOR = ("MUS231", _W, "selector of a built-in set",
        "The sets `default` and `global` are muster's: what a file says of their selector has no effect. Remove it, "
        "or set the annotation cluster.open-cluster-management.io/autoupdate to \"false\".")
    BINDING_NAME_DIFFERS = ("MUS232", _E, "binding of another name",
        "A ManagedClusterSetBinding must have the name of the set that it binds; an API server refuses any other. "
        "Until it has, its namespace keeps the clusters that it has chosen.")
    UNKNOWN_SET_OR_POOL = ("MUS233", _W, "name of what does not exist",
        "An object names a ManagedClusterSet or a ClusterPool that is not in the fleet. It selects nothing by that "
        "name until there is one. The nearest name is offered. `muster lint` reports it, and `muster validate` with "
        "--rev or --base.")
    SET_NOT_BOUND = ("MUS234", _W, "set that is not bound",
        "A Placement selects clusters from the sets that are bound to its namespace by a ManagedClusterSetBinding. "
        "The set that it names is not bound there, or no set is, so it selects no cluster.")
    UNKNOWN_LABEL = ("MUS235", _W, "label that no cluster has",
        "A selector of a Placement or a ManagedClusterSet asks for a label that no ManagedCluster has, so it selects "
        "nothing. The nearest label is offered.")
    TAINT_OF_POLICY = ("MUS238", _W, "taint that a policy decides",
        "A file gives a cluster a taint that a TaintPolicy puts there and takes away, such as the built-in "
        "`cluster.open-cluster-management.io/unreachable`. Only the policy decides about it. One with a `timeAdded` "
        "is taken for what a live hub had decided, on the day on which the cluster moves in.")
    TAINT_TWICE_ON_CLUSTER = ("MUS239", _E, "taint twice on one cluster",
        "A Karmada Cluster has two taints of one key and effect, which its API server refuses: they are one taint.")
    REQUEST_UNDECODABLE = ("MUS240", _W, "request cannot be decoded",
        "A CertificateSigningRequest must hold a PKCS #10 request, as PEM in base64. What cannot be read is approved "
        "by no policy: it stays pending.")
    REQUEST_REPLACED = ("MUS241", _W, "request was replaced",
        "A person approved or denied a CertificateSigningRequest, and its content is another one now. The word was "
        "about the old content and does not count for the new one, which is judged as a new request: muster keeps a "
        "digest of what was decided. Look at it, and accept its cluster again, or write the condition again, with "
        "another reason or message. Upstream, a request cannot be changed at all.")
    REQUEST_OF_DENIED_CLUSTER = ("MUS242", _W, "request of a denied cluster",
        "A person approved a CertificateSigningRequest of a cluster that was accepted once and is not any more. "
        "Requests of denied clusters are denied, whoever approved them.")
    LEASE_TOO_LONG = ("MUS250", _W, "lease longer than a day",
        "A `leaseDurationSeconds` is longer than 86400 seconds. The hub waits for several durations before it says "
        "that a cluster is silent, so such a cluster would not be watched. The lease counts as one of a day, for hub "
        "and agent.")
    SETTINGS_IGNORED = ("MUS275", _W, "settings that do not count",
        "A Fleet with an error in it is not obeyed, not even where it is sound: what the last run went by stays in "
        "force (the Fleet's derived part remembers it), or the defaults where there was none. No pulse is published: "
        "a broken Fleet could send events, and what they carry, anywhere.")
    SETTING_WITHOUT_EFFECT = ("MUS276", _E, "setting without effect",
        "The Fleet names the branch that holds `derived/` in another file than `fleet.yaml` at the root. Which "
        "branch that is has to be known before anything else is read, so it counts there alone. It is refused "
        "elsewhere: nobody shall rely on a setting that does nothing.")
    NO_SUCH_INSTANT = ("MUS270", _E, "no such instant",
        "The time has the right form and names no instant that muster can hold: a day that does not exist, or one "
        "before the year 1 or after the year 9999 once it is told in UTC.")
    NO_SUCH_DURATION = ("MUS271", _E, "no such duration",
        "A duration is at most 2562047h, some 292 years: what 64 bits of nanoseconds hold, in Go and in CEL.")
    UNKNOWN_OPERATOR = ("MUS249", _W, "operator that matches nothing",
        "A condition of a ClusterTaintPolicy is compared with `In` or `NotIn`. Karmada's schema takes any word and "
        "its controller matches nothing with another one, so the policy never acts.")
    CANNOT_HIBERNATE = ("MUS260", _E, "clusters cannot hibernate",
        "The platform of a ClusterPool cannot hibernate clusters, so all of them must run. The pool stays as it is.")
    CLUSTERS_WITHOUT_POOL = ("MUS261", _W, "clusters without their pool",
        "Clusters of a ClusterPool exist and the pool does not. They are left as they are: a file that was removed "
        "by mistake deletes nothing. Those that are marked for removal still go.")
    DOES_NOT_SETTLE = ("MUS262", _E, "does not come to rest",
        "Decided again and again at one instant, the object goes back and forth between two states, or changes in "
        "more passes than `Fleet.spec.limits.passes` allows. Nothing of it is committed, it keeps its last derived "
        "state, and the rest of the fleet goes on. Either two rules undo each other, or a policy reads `previous` "
        "such that its outcome turns it over; where neither is so it is a fault of muster's.")
    CLAIM_MOVED_POOL = ("MUS263", _W, "claim of another pool",
        "A ClusterClaim that has a cluster was edited to name another pool. A claim gets one cluster in its life: it "
        "keeps the one that it has, on the terms of that cluster's pool, and takes it along when it ends.")
    CLUSTER_PROTECTED = ("MUS264", _W, "cluster is protected",
        "A cluster of a ClusterPool is to be deleted, for it is broken, was released, or its pool is wound down, and "
        "its annotation `hive.openshift.io/protected-delete` forbids that. It stays, and counts, while it says so.")
    BAD_POLICY_PARAMETER = ("MUS280", _E, "parameter that a policy cannot take",
        "`policyParams` of the Fleet gives a built-in policy a value of another sort than its own: a text where it "
        "takes a duration, a number out of range. The policy would fail for every object. The Fleet stays as it was.")
    INVALID_SELECTOR = ("MUS281", _E, "selector that no API server takes",
        "`In` and `NotIn` need values, and `Exists` and `DoesNotExist` take none. The object that selects stays as "
        "it was: a set keeps its clusters, a Placement its decisions. A policy or a budget decides nothing anew.")
    # -- 3xx: expressions and policies
    CEL_SYNTAX = ("MUS301", _E, "CEL syntax",
        "The expression does not parse.")
    CEL_TYPE = ("MUS302", _E, "CEL type",
        "The expression cannot be right for any object: a name, field or operand is wrong.")
    CEL_SUSPICIOUS = ("MUS303", _W, "suspicious expression",
        "The expression is valid but can never be true, or is never reached.")
    CEL_TOO_COSTLY = ("MUS304", _E, "expression too costly",
        "The expression's estimated cost is over the limit.")
    CEL_CUT_OFF = ("MUS305", _E, "expression cut off",
        "An expression cost more at run time than it may, alone or with what its policy asked of the object before, "
        "variables included. It counts as failed. `spec.limits` of the Fleet has the bounds.")
    CONDITION_DECIDED_TWICE = ("MUS311", _E, "two policies decide one condition",
        "Two policies decide the same condition of the same objects. Give one of them another type or target.")
    POLICY_CYCLE = ("MUS312", _E, "policies depend on each other in a circle",
        "Conditions that policies read must form no circle.")
    CONDITION_OF_BUILT_IN_POLICY = ("MUS313", _E, "condition of a built-in policy",
        "A built-in policy decides this condition of these objects, and others rely on what it means. Give the "
        "policy another type, or replace the built-in one by giving it that one's name. Until then it decides "
        "nothing.")
    REPLACES_BUILT_IN_POLICY = ("MUS314", _N, "replaces a built-in policy",
        "The policy has the name of a built-in one, which then does not apply. Nothing to do where that is meant.")
    ADMISSION_REFUSED = ("MUS320", _E, "refused by an admission policy",
        "A ValidatingAdmissionPolicy does not allow what this revision makes of the object. The message is the "
        "policy's. With the action Warn it is a warning, with Audit a note. An object of a kind that muster does not "
        "know has no derived state to keep: the document stands as it is until it or the policy is mended.")
    ADMISSION_MATCHES_NOTHING = ("MUS321", _W, "policy that matches nothing",
        "A ValidatingAdmissionPolicy is in force and speaks of no object of the repository, nor of any kind of which "
        "there could be one: not of muster's kinds, not of Kubernetes' own, not of one that a "
        "CustomResourceDefinition of the repository defines. Files ask for no subresource and never CONNECT.")
    ADMISSION_NOTE = ("MUS322", _N, "note of an admission policy",
        "An auditAnnotation of a ValidatingAdmissionPolicy has something to say of the object. On a live hub it goes "
        "into the API server's audit log.")
    ADMISSION_ASKS_AUTHORIZER = ("MUS323", _E, "policy that asks an authorizer",
        "A ValidatingAdmissionPolicy reads `authorizer`, as an API server offers it. A repository has none: who may "
        "change what is for the git host to say, by owners of paths and protected branches. The policy is not in "
        "force, as with any other mistake in it; nothing is said at the objects.")
    # -- 4xx: deciding
    EXPRESSION_FAILED = ("MUS401", _E, "expression failed",
        "An expression failed at run time for an object. The outcome is Unknown with reason PolicyError: an error "
        "never counts as true and never as healthy.")
    FAULT_IN_BUILT_IN_POLICY = ("MUS402", _E, "a fault in a built-in policy",
        "An expression of a policy that muster brings failed for an object: the mistake is in muster and not in your "
        "fleet. The condition is Unknown with reason PolicyError, a taint stays as it was, everything else is "
        "decided and committed, and the command exits with 3. It is said once for all objects and policies. Please "
        "report the message; the condition's own message says what failed.")
    BACKEND_WITHOUT_CLUSTER = ("MUS410", _W, "backend without a cluster",
        "Traffic to every cluster that serves a backend of a MultiClusterIngress is blocked, so nothing answers. "
        "Karmada does that too. A DisruptionBudget with minAvailableBackends: 1 holds the last block back.")
    FAULT_AT_OBJECT = ("MUS490", _E, "a fault in muster, met at one object",
        "muster failed in deciding this object: the mistake is in muster and not in your fleet. The object keeps its "
        "last derived state, everything else is decided and committed, and the command exits with 3. The message "
        "says what to send us: the sort of the exception and where in muster's code it arose, and no value of yours.")
    FAULT = ("MUS491", _E, "a fault in muster",
        "muster failed in something that is about no single object: a file, a whole stage, a commit message. What "
        "that had given before stays, the rest is decided and committed, and the command exits with 3. Please report "
        "the message: it has no value of yours in it.")
    REMOVALS_HELD = ("MUS420", _W, "removals are held",
        "More clusters are no longer declared than a DisruptionBudget allows to remove at once (`maxRemoved`; the "
        "built-in budget: 10 % of them, at least 2). None of them is removed: a bad merge or a lost folder looks the "
        "same. They keep what was derived, stay chosen, and count. Restore the files, or allow the removal: name the "
        "clusters in the trailer `Muster-Allow-Removal: <names>` of the commit that removes them, or set the "
        "annotation muster.dev/allow-disruption on the Fleet or the budget. No permission is needed to remove them "
        "over several runs, or to remove what has a deletionTimestamp or was never accepted.")
    TRAILER_ALLOWS_NOTHING = ("MUS421", _W, "trailer that allows nothing",
        "The trailer Muster-Allow-Removal names clusters, separated by commas, that the very commit removes which "
        "has it. A number, `all`, or the name of a cluster that another commit removes allows nothing: a permission "
        "that names nothing could be used by a later mistake.")
    # -- 5xx: derived state
    NOT_A_DERIVED_PART = ("MUS502", _W, "not a derived part",
        "What lies under derived/ is muster's: one document per file, each the derived part of the object that the "
        "file is named after. Anything else does not count and is removed by the next run that commits.")
    STRANGE_DERIVED_FIELD = ("MUS503", _W, "strange field in a derived part",
        "A derived part holds exactly what muster derives of that kind. A field that it does not derive, or a value "
        "that it would not write, does not count; it is decided anew, and times of earlier transitions in it are "
        "lost. The nearest smaller thing is left out: an element of a list, a field, a record of muster's own.")
    DERIVED_EDITED = ("MUS504", _E, "commit that changes what muster derives",
        "A commit between --base and the head changes files below derived/. The next run takes what is there as its "
        "own memory: who is approved, which certificates count, since when a cluster is silent. Only muster writes "
        "there. A run's commit is not reported if it is signed as Fleet.spec.commit.signers of the base asks for; if "
        "the Fleet names no signers, it is a warning. Commits of `muster sign` are reported, so compare with a base "
        "that has them. What `muster import` writes below derived/ goes to the branch itself, not through a pull "
        "request.")
    DERIVED_DAMAGED = ("MUS501", _W, "derived file is damaged",
        "A file under derived/ cannot be read. It is written anew; times of earlier transitions in it are lost.")
    AGENTS_NOT_HEARD = ("MUS510", _E, "agents not heard",
        "Derived state says that these clusters speak through refs of their own (`refs/heads/agents/<cluster>`), and "
        "the refs are not here: a checkout of one branch, a fork, a plain directory. Not hearing is not silence, so "
        "the clusters keep their derived state, and commands that read a repository refuse. muster fetches the refs "
        "where a remote has them. Where all agents have retired for good, reconcile once with --agents-gone.")
    AGENTS_REMOTE_NOT_HEARD = ("MUS512", _E, "agents' repository not heard",
        "A repository of `spec.agents.remotes` could not be asked. Not hearing is not silence: the clusters that it "
        "speaks for keep what was derived, and all others are decided. It is asked again at every run.")
    AGENT_REF_GONE = ("MUS511", _W, "agent's ref is gone",
        "The cluster spoke through a ref of its own at the last run, and where agents push there are others and not "
        "this one, or this one holds nothing that counts. That is no news of the cluster: what was derived of it "
        "stands until its lease has run out, counted from the run that notices. Then it is silent.")
    AGENT_NOT_VERIFIED = ("MUS513", _W, "not known to be its agent's",
        "The Fleet asks for signed reports (`spec.agents.signing: required`), and the newest commit on the ref of "
        "the cluster's agent is not signed with the key of a certificate that stands for it: there is no signature, "
        "or a stranger's; the certificate expired, was revoked or replaced; or an older commit was put back. It "
        "counts as not received: what was derived before stands until the lease runs out, and the condition "
        "AgentIdentityVerified says why. Of an agent that has no certificate yet, its request for one counts.")
    DERIVED_TOO_LARGE = ("MUS520", _E, "derived part too large",
        "What is derived of the object, such as a copy of an adapter's report, would be larger than what is read of "
        "one file, or nested more deeply, so the next run could not read it. The object keeps its last derived "
        "state, and a report counts as not sent. A warning where only agents speak of the object.")
    # -- 6xx: advice, which `muster lint` gives
    MATCHES_NOTHING = ("MUS601", _W, "speaks of nothing",
        "A policy's target, or a budget's selector, takes in no object of the fleet. That may be so on purpose "
        "before the first one is there; more often a label is misspelt.")
    UNKNOWN_CONDITION_TYPE = ("MUS602", _W, "waits for what nobody says",
        "A Remedy matches a condition that no cluster reports and no policy decides, so it never acts. The nearest "
        "type that somebody does speak of is given where there is one.")
    BUDGET_HOLDS_NOTHING = ("MUS603", _W, "budget that holds nothing",
        "A DisruptionBudget allows as many clusters to be disrupted as it counts: it never holds anything.")
    SELECTS_EVERYTHING = ("MUS604", _N, "selector that takes in all",
        "A policy's selector takes in every object of its kinds. Where that is meant the selector says nothing; "
        "where it is not, it says too little.")
    RULE_NEVER_ASKED = ("MUS605", _W, "rule that is never asked",
        "The first rule that holds decides, and one without a condition always holds: the rules after it never get "
        "their turn.")
    RULE_NEVER_DECIDES = ("MUS606", _W, "rule that can never decide",
        "`muster lint --prove` found that there is no object at all for which the rule would be the first to hold: "
        "what it asks for contradicts itself, or rules before it hold wherever it does. It is proved, of all objects "
        "that the schemas allow, and not only of those of the fleet.")
    EXPRESSION_CAN_FAIL = ("MUS607", _W, "expression that can fail",
        "`muster lint --prove` found an object for which the expression fails: it reads a field that is not there, "
        "or a number or a time gets out of range. A condition is then Unknown with reason PolicyError, and a taint "
        "stays as it was. The object is shown, and muster's evaluator has confirmed that it fails.")
    INVARIANT_BROKEN = ("MUS608", _W, "invariant that does not hold",
        "An `invariants` entry of a PolicyTest says what must never be said of a condition, and `muster lint "
        "--prove` found an object of which the policy says it. The object is shown, and muster's evaluator has "
        "confirmed it. The built-in invariants go for policies that replace built-in ones, too.")
    TOLERATION_MOVES_WORK_BACK = ("MUS609", _W, "toleration that moves work back",
        "A Placement tolerates the taint `unreachable` and not `unavailable`. A cluster that is not available loses "
        "its work; when it also falls silent, its taint becomes `unreachable`, and the Placement selects it again.")
    # -- 7xx: waivers
    WAIVER = ("MUS701", _N, "waiver",
        "A Waiver silences what was found, until the day that it names. Told of a branch that adds one; commands "
        "that tell what is wrong apply it. A warning, a note and advice are silenced. An error costs its object its "
        "change all the same, so it is told with the waiver beside it, and no exit code counts it. Another problem "
        "of the same object is not waived, nor the same one in other words.")
    NOTHING_TO_WAIVE = ("MUS702", _E, "nothing to waive",
        "A Waiver names a code that no finding has, or one that nobody can answer for: a fault of muster's own, or a "
        "finding about waivers. It silences nothing.")
    WAIVER_EXPIRED = ("MUS703", _W, "waiver has expired",
        "The day that a Waiver names has come, in UTC: what it silenced counts again. Mend that and remove the "
        "Waiver, or waive it anew with `muster waive`.")
    WAIVER_EXPIRES_SOON = ("MUS704", _W, "waiver about to expire",
        "`muster lint` tells of a Waiver in the last two weeks before its day.")
    WAIVER_SILENCES_NOTHING = ("MUS705", _W, "waiver that silences nothing",
        "`muster lint` finds nothing that a Waiver speaks of: it is mended, or is another problem by now, or the "
        "same one in other words. Remove the Waiver, or waive what is there with `muster waive`.")
    # -- 9xx: moving in
    CREDENTIALS_LEFT_OUT = ("MUS960", _W, "credentials stay out",
        "`muster import` writes no credentials: what is committed once is read by whoever can read the repository, "
        "for ever. Secrets are passed over; an object that holds one, or a private key, is left out, and of a URL "
        "its password.")
    TWICE_IN_DUMP = ("MUS961", _W, "twice in the dump",
        "The dump has two states of one object. That with the later resourceVersion is imported, else the first.")
    NO_PLACE_FOR_OBJECT = ("MUS962", _E, "no place for an object",
        "`muster import` could not write a file of the object: something else is there, a symbolic link is on the "
        "way, git or .musterignore ignores it, or it would be too large to be read. It writes nothing outside the "
        "repository and over nothing, so the object is left out as a whole.")
    DUMP_IN_REPOSITORY = ("MUS963", _W, "dump inside the repository",
        "muster reads every file of the repository, so a dump that lies in it declares its objects a second time.")
    OBJECT_ELSEWHERE = ("MUS964", _W, "object that stands elsewhere",
        "`muster import --replace` writes only files anew in which it would have put the object, and in which "
        "nothing else stands. Anything else is a person's arrangement, and stays.")
    SECRETS_NOT_VISIBLE = ("MUS965", _W, "secrets out of sight",
        "A pool makes no clusters while a Secret that it names is missing. muster reads no Secrets, so it goes by "
        "`Fleet.spec.pools.externalDependencies`; an import fills it in pools/secrets.yaml where it is empty, and "
        "names what it lacks where it is not.")
    # fmt: on


#: Each code by the text that people see and write.
CODES: Mapping[str, Code] = MappingProxyType({code.value: code for code in Code})
