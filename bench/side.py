"""A side of a comparison: a worker process of ours or of the peers, who have an environment of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"
PACKAGES = [
    "multi-freq-ldpy==0.2.5",
    "pure-ldp==1.2.0",
    "xxhash==3.8.2",
    "scikit-learn==1.5.2",
    "statsmodels",
    "scipy",
    "diffprivlib==0.6.6",
]


@dataclass
class Side:
    """A worker process and the best time it has shown for each task."""

    command: list[str]
    best: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
        )

    def measure(self, task: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()
        seconds = json.loads(self.process.stdout.readline())
        if seconds is not None:
            self.best[task] = min(seconds, self.best.get(task, seconds))


def peers_python() -> str:
    """The peers' environment, made on first use."""
    python = PEERS / "bin" / "python"
    if not (PEERS / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (PEERS / "ready").touch()
    return str(python)
