"""Names settings of a PostgreSQL server by which it tells more about arrivals than it must.

A sweep clears a store's own files. What the server keeps elsewhere is for its operator to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deniable.collect.database import Exposure

Run = Callable[..., list[Any]]
"""Runs a statement, with ? for each value, and gives the rows."""

_STATEMENTS = "the server's log names statements and their times"
_SETTINGS: Mapping[str, tuple[str, str]] = {
    "log_statement": ("none", _STATEMENTS),
    "log_duration": ("off", _STATEMENTS),
    "log_min_duration_statement": ("-1", _STATEMENTS),
    "log_min_duration_sample": ("-1", _STATEMENTS),
    "log_transaction_sample_rate": ("0", _STATEMENTS),
    "auto_explain.log_min_duration": ("-1", _STATEMENTS),
    "pgaudit.log": ("none", _STATEMENTS),
    "track_commit_timestamp": ("off", "the server keeps the time of every transaction"),
    "archive_mode": ("off", "the server archives its log, which has the time and invitation of every report"),
    "wal_keep_size": ("0", "the server keeps its log, which has the time and invitation of every report"),
    "wal_init_zero": ("on", "new files of the server's log begin with what the disk held"),
    "log_lock_waits": ("off", _STATEMENTS),
    "wal_recycle": ("off", "the server uses files of its log again with what they held"),
}
"""The value of each setting that tells least, and what another one does."""
_LOG = ("archive_mode", "wal_keep_size", "wal_recycle")
"""Settings by which the log stays although a sweep dropped it."""

_RIGHTS = (
    "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'usage'), "
    "has_function_privilege('pg_switch_wal()', 'execute') AND (SELECT bool_or(rolsuper AND rolname = "
    "current_user OR rolname = 'pg_checkpoint' AND pg_has_role(current_user, oid, 'usage')) FROM pg_roles)"
)


def find_exposures(run: Run) -> list[Exposure]:
    """Each setting, role or replica that keeps what sweeps clear."""
    names = list(_SETTINGS)
    rows = run("SELECT name, setting FROM pg_settings WHERE name = ANY(?) ORDER BY name", names)
    exposures = [
        Exposure(f"{_SETTINGS[name][1]}; set {name} = {_SETTINGS[name][0]}", name in _LOG)
        for name, setting in rows
        if setting != _SETTINGS[name][0]
    ]
    [(slots, replicas)] = run(
        "SELECT (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_stat_replication)"
    )
    if slots or replicas:
        text = (
            f"{max(slots, replicas)} replicas receive the server's log, which has the time and invitation of "
            "every report; do without them, or treat them as this server"
        )
        exposures.append(Exposure(text, keeps_log=True))
    [(sees_readers, drops_log)] = run(_RIGHTS)
    if not sees_readers:
        text = (
            "a sweep cannot see who reads, and takes old rows for cleared that others still see; GRANT "
            "pg_read_all_stats to this user"
        )
        exposures.append(Exposure(text, keeps_log=False))
    if not drops_log:
        text = (
            "a sweep cannot drop the server's log, which has the time and invitation of every report; GRANT "
            "pg_checkpoint, and EXECUTE ON FUNCTION pg_switch_wal(), to this user"
        )
        exposures.append(Exposure(text, keeps_log=True))
    return exposures
