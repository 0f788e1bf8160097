"""Where tests find programs: in `$KUBEBUILDER_ASSETS` (the convention of envtest), on the PATH, and what `make servers`
builds."""

import os
from pathlib import Path

#: What `make servers` makes: programs in `bin`, and schemas beside it.
MADE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "muster-tests"
_PLACES = (os.environ.get("KUBEBUILDER_ASSETS"), os.environ["PATH"], str(MADE / "bin"))
SEARCH_PATH = os.pathsep.join(place for place in _PLACES if place)
