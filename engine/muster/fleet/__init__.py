"""Parts of files become objects, and objects a fleet: the value that all else looks at."""
