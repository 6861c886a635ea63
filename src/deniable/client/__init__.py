"""Answers on a device that trusts nobody: verifies the plan, counts losses, adds noise."""
