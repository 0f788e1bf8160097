"""Moving in: from the dump of a live hub to the files of a fleet repository.

A dump is the output of `kubectl get -o yaml` or `-o json`. It is read (`dump`) and freed of credentials
(`muster.fleet.secrecy`). Each object is divided into what people want, what agents and provisioners report and what the
hub derived (`sorting`), and each part goes into the file of its writer (`layout`). Nothing is written here: `movein`
returns the files as a value.
"""
