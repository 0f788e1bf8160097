"""Moving in: from the dump of a live hub to the files of a fleet repository.

A dump is what `kubectl get -o yaml` or `-o json` prints. It is read (`dump`), kept free of credentials (`secrecy`), its
objects are told apart into what people want, what agents and provisioners report and what the hub had derived
(`sorting`), and each of these goes into the file in which its writer would have put it (`layout`). Nothing is written
here: `movein` gives the files as a value.
"""
