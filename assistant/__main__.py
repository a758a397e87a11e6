"""`python -m assistant` runs the command `assistant`."""

from assistant.cli.front import run

if __name__ == "__main__":
    run()
