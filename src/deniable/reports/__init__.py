"""Turns answers into reports, and reports into tallies."""

from deniable.reports.privatize import encode_alone, settle_record
from deniable.reports.reports import Reports, Tallies, records_of

__all__ = ["Reports", "Tallies", "encode_alone", "records_of", "settle_record"]
