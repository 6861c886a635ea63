"""Answers on a device that trusts nobody: verifies the plan, counts losses, adds noise."""

from deniable.client.client import Client, NotSent
from deniable.client.compose import composed_loss, composed_ratio
from deniable.client.ledger import AboveCap, Ledger

__all__ = ["AboveCap", "Client", "Ledger", "NotSent", "composed_loss", "composed_ratio"]
