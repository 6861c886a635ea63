"""Holds what the verbs share: options and how they are read, files, tables, stores."""
