"""Holds the verbs of the command line, one file each; what they share is in `shared`."""
