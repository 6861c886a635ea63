"""The device's side of Deniable in Python alone: verifies a plan, makes private reports, and sends them.

client = Client.open(plan_text, ledger=Ledger("ledger.json"))
report = client.report({"smoker": "yes", "age": 34})
client.send("https://survey.example.org", report)
"""

from __future__ import annotations

from deniable_device.client import Client
from deniable_device.errors import DeviceError, InvalidAnswer, InvalidParameter, NotSent, Refused
from deniable_device.ledger import CopiedLedger, Ledger
from deniable_device.plan import Plan
from deniable_device.wire import Report

__version__ = "0.1.0"
__all__ = [
    "Client",
    "CopiedLedger",
    "DeviceError",
    "InvalidAnswer",
    "InvalidParameter",
    "Ledger",
    "NotSent",
    "Plan",
    "Refused",
    "Report",
]
