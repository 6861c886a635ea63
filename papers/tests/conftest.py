"""Fixtures and settings for the tests of papers: those of the library's tests."""

from tests.conftest import pytest_collection_finish as pytest_collection_finish
from tests.conftest import pytest_unconfigure as pytest_unconfigure
from tests.conftest import run as run
