"""Says where numbers are from: the day, the machine and the commit that they were measured on."""

from __future__ import annotations

import datetime
import platform
import subprocess
from pathlib import Path


def find_commit() -> str:
    """The commit that is checked out, marked where files differ from it."""
    try:
        found = subprocess.check_output(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.strip()


def describe_origin() -> str:
    """The words that a page of measurements begins with. Pages ask before they measure: trees move on."""
    return f"Measured on {datetime.date.today()}, commit {find_commit()}, {platform.machine()}"
