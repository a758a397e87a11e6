"""`python -m assistant.cli.main`, which timers call."""

from assistant.cli.front import run

if __name__ == "__main__":
    run()
