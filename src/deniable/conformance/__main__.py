"""`python -m deniable.conformance`: the library's client as a program that `deniable conform` tests."""

from deniable.conformance.library import main

main()
