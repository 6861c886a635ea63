"""Answers on a device that trusts nobody: verifies the plan, counts losses, adds noise."""

from deniable.client.client import Client, NotSent
from deniable.client.compose import composed_loss, composed_ratio
from deniable.client.ledger import AboveCap, CopiedLedger, Ledger
from deniable.client.waiting import Delivery
from deniable.explain.device_limit import DEFAULT_CAP

__all__ = [
    "DEFAULT_CAP",
    "AboveCap",
    "Client",
    "CopiedLedger",
    "Delivery",
    "Ledger",
    "NotSent",
    "composed_loss",
    "composed_ratio",
]
