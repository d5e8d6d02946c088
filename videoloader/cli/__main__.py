"""`python -m videoloader.cli`: the command `videoloader`."""

from videoloader.cli import main

if __name__ == "__main__":
    main()
