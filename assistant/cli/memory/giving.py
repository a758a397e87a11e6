"""Facts as their owner gives them: of what looks like a secret they are asked, or told.

Nothing of a fact is ever replaced unasked. At a terminal the owner decides before it is written;
a program is told what stands in the file, or that nothing was written and why.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import typer

from assistant.cli.asking import ask, say
from assistant.cli.memory.shown import show_written
from assistant.display import counted, spelled
from assistant.errors import UsageError
from assistant.memory.base import Fact, Remembered, Secret
from assistant.memory.protocol import Memory

Learn = Callable[[str, str], None]
"""Told the name and the value of a secret that was registered."""


def give(memory: Memory, fact: Fact, learn: Learn = lambda name, value: None) -> Remembered | None:
    """Write a fact from a terminal; None if the owner leaves it for what it holds."""
    (written,) = memory.remember([replace(fact, secrets="ask")])
    if written.status != "secret":
        return written
    for secret in written.secrets:
        say(f"It holds {_described(fact.text, secret)}.")
    asked = "[s]tore it as it is, [k]eep it as a secret with a name, [l]eave it"
    answer = ask(asked, "l")[:1].lower()
    if answer == "s":
        (written,) = memory.remember([replace(fact, secrets="keep")])
        return written
    if answer == "k":
        return _keep(memory, fact, written.secrets, learn)
    say("Nothing was written.")
    return None


def give_named(memory: Memory, fact: Fact, names: Sequence[str]) -> Remembered:
    """Register the secrets in a fact under these names, and write it with their stand-ins.

    Raises UsageError if it holds more or fewer, or a name belongs to another secret.
    """
    from assistant.secrets.current import redactor  # 30 ms, for this option alone

    found = [
        Secret(each.start, each.end, each.kind, each.certain)
        for each in redactor().findings(fact.text)
    ]
    values = list(dict.fromkeys(fact.text[each.start : each.end] for each in found))
    if len(values) != len(names):
        raise UsageError(
            f"the fact holds {counted(len(values), 'secret')} that can be told, and "
            f"{counted(len(names), 'name')} came with it",
            "Register one with `assistant secrets add NAME`, and write [[secret:NAME]] for it",
        )
    named = dict(zip(values, names, strict=True))
    for value, name in named.items():
        _register(name, value)
    (written,) = memory.remember([replace(fact, text=_with_stand_ins(fact.text, found, named))])
    return written


def tell(written: Remembered) -> None:
    """Say where a fact stands, and what of it looks like a secret; or why it was not written."""
    described = ", ".join(_described(written.text, each) for each in written.secrets)
    if written.status == "secret":
        typer.echo(
            f"assistant: nothing was written: the fact holds {described}. Add --as-is to write it "
            "all the same, or --secret NAME to keep the value under a name and out of the file",
            err=True,
        )
        return
    show_written(written)
    if written.secrets:
        typer.echo(
            f"note: it holds {described}, which stands in the file as you gave it. "
            "--secret NAME keeps a value under a name and out of the file",
            err=True,
        )


def _keep(memory: Memory, fact: Fact, secrets: Sequence[Secret], learn: Learn) -> Remembered:
    """Register the secrets of a fact under names that the owner gives, and write the rest."""
    named: dict[str, str] = {}
    for secret in secrets:
        value = fact.text[secret.start : secret.end]
        if value not in named:
            name = ask("Its name", secret.kind if secret.certain else None)
            _register(name, value)
            learn(name, value)
            named[value] = name
    text = _with_stand_ins(fact.text, secrets, named)
    (written,) = memory.remember([replace(fact, text=text, secrets="tell")])
    return written


def _register(name: str, value: str) -> None:
    """Register a secret. Raises UsageError if the name has another value already."""
    from assistant.secrets import registered  # as above

    if name not in registered.names():
        where = registered.add(name, value)
        say(f"{name} is registered, its value kept in {where}")
    elif registered.value(name) != value:
        raise UsageError(f"{name} is the name of another secret", "Choose another name")


def _with_stand_ins(text: str, secrets: Sequence[Secret], named: dict[str, str]) -> str:
    for secret in sorted(secrets, key=lambda each: each.start, reverse=True):
        name = named[text[secret.start : secret.end]]
        text = f"{text[: secret.start]}[[secret:{name}]]{text[secret.end :]}"
    return text


def _described(text: str, secret: Secret) -> str:
    """A secret by its kind and its ends, for the owner to know it by."""
    value = text[secret.start : secret.end]
    hint = f"{value[:2]}…{value[-2:]}" if len(value) >= 8 else f"{value[:1]}…"
    if secret.certain:
        return spelled(f"the secret {secret.kind} ({hint})")
    return spelled(f"what looks like a secret ({secret.kind}, {hint})")
