"""Policies over a network: the wire format of openpi's policy server, a client and the front of a server.

Nothing here knows what a trial or a policy is; `policies.from_remote` makes a policy of the client, and `serving` puts
a policy behind the front.
"""
