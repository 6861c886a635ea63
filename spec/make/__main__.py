"""`python -m spec.make` writes spec/vectors/*.json anew."""

from spec.make.vectors import write_files

write_files()
