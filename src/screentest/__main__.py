"""``python -m screentest``."""

from screentest.cli import main

main()
