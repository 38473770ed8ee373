"""`python -m discreet.cli`, where the script `discreet` is not on the path."""

from discreet.cli import main

main()
