"""What is known of a text's parts without looking at each."""

from assistant.memory.text.seals import Sealed, sealing, unchanged

SIZE = 1 << 14
PARTS = 40


def test_an_edit_seals_the_parts_near_it_alone() -> None:
    old = "A fact standing\n" * (SIZE * PARTS // 16)
    seal = sealing(old, b"")
    parts = [(SIZE, seal(at, SIZE)) for at in range(0, len(old), SIZE)]
    middle = len(old) // 2
    new = f"{old[:middle]}One more.\n{old[middle:]}"
    sealed: list[int] = []

    def counted(start: int, size: int) -> bytes:
        sealed.append(start)
        return sealing(new, b"")(start, size)

    last = Sealed(old, b"", [each for _, each in parts])
    found = unchanged(new, parts, counted, last.alike(new, b"", parts))
    assert found == unchanged(new, parts, sealing(new, b"")) != (0, 0)
    assert len(sealed) < PARTS / 2
    assert last.alike(new, b"another key", parts) == (0, 0)
    assert last.alike(new, b"", parts[1:]) == (0, 0)
