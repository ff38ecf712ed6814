"""`python -m one2set` is the command `one2set`."""

from one2set.cli import main

main()
