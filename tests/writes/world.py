"""A year of things that an owner says, made from a seed, and what each of them means."""

import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from assistant.agent.capture.origins import folded

Meaning = tuple[str, str]
"""Of what (a person's home, a locker's code), and its value."""
Kind = Literal["new", "repeat", "change", "return", "twin"]

FIRST = date(2025, 1, 1)
DAYS = 365
PEOPLE = (
    "Ana", "Ben", "Carla", "Dmitri", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Katya",
    "Liam", "Mona", "Nils", "Olga",
)  # fmt: skip
SURNAMES = (
    "Alvarez", "Brandt", "Castro", "Duarte", "Eriksen", "Fischer", "Gomes", "Haas", "Ivanov",
    "Jensen", "Keller",
)  # fmt: skip
ATTRIBUTES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "home": (
        "Where does {p} live?",
        ("{p} lives in {v}", "{p}'s home is in {v}", "The town where {p} lives is {v}"),
        ("Porto", "Bergen", "Turin", "Ghent", "Malmö", "Graz", "Split", "Cork"),
    ),
    "work": (
        "What does {p} do for a living?",
        ("{p} works as a {v}", "{p}'s job is that of a {v}", "By profession {p} is a {v}"),
        ("baker", "nurse", "pilot", "plumber", "teacher", "translator", "welder", "notary"),
    ),
    "car": (
        "Which car does {p} drive?",
        ("{p} drives a {v}", "{p}'s car is a {v}", "The car that {p} drives is a {v}"),
        ("Volvo", "Skoda", "Fiat", "Dacia", "Mazda", "Saab", "Lancia", "Toyota"),
    ),
    "phone": (
        "What is {p}'s phone number?",
        ("{p}'s phone number is {v}", "To phone {p}, dial {v}", "{p} can be phoned at {v}"),
        ("555-0101", "555-0137", "555-0162", "555-0188", "555-0119", "555-0173"),
    ),
    "dish": (
        "What is {p}'s favourite dish?",
        ("{p}'s favourite dish is {v}", "The dish that {p} likes best is {v}",
         "{p} likes no dish better than {v}"),
        ("risotto", "goulash", "paella", "ramen", "couscous", "moussaka", "pierogi"),
    ),
    "pet": (
        "Which pet does {p} keep?",
        ("{p} keeps a {v} as a pet", "{p}'s pet is a {v}", "The pet that {p} keeps is a {v}"),
        ("parrot", "tortoise", "hedgehog", "rabbit", "gecko", "ferret", "canary"),
    ),
    "dentist": (
        "Who is {p}'s dentist?",
        ("{p}'s dentist is Dr. {v}", "{p} sees Dr. {v} about teeth",
         "The dentist whom {p} sees is Dr. {v}"),
        ("Moreau", "Lindqvist", "Okafor", "Tanaka", "Petrov", "Rossi", "Nowak"),
    ),
    "course": (
        "Which course does {p} take in the evening?",
        ("{p} takes an evening course in {v}", "{p}'s evening course is {v}",
         "In the evening {p} takes a course in {v}"),
        ("pottery", "Latin", "fencing", "bookbinding", "salsa", "chess", "sailing"),
    ),
}  # fmt: skip
"""Of each thing in a person's life: a question, how it is told, what it may be."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of the owner's, on a day of the year."""

    day: int
    kind: Kind
    text: str
    meaning: Meaning


@dataclass(slots=True)
class World:
    """What is said in the year, what is asked, and what is true in the end.

    `wordings` gives every way to say a meaning; `meanings` reads a sentence back.
    """

    said: list[Said] = field(default_factory=list)
    asked: list[tuple[int, str]] = field(default_factory=list)
    truth: dict[str, str] = field(default_factory=dict)
    outdated: dict[str, set[str]] = field(default_factory=dict)
    wordings: dict[Meaning, tuple[str, ...]] = field(default_factory=dict)
    meanings: dict[str, Meaning] = field(default_factory=dict)

    def read(self, sentence: str) -> Meaning | None:
        """What a sentence means, however it is punctuated; None if it is small talk."""
        return self.meanings.get(folded(sentence))

    def day(self, number: int) -> date:
        """The date of a day of the year."""
        return FIRST + timedelta(days=number)

    def learn(self, meaning: Meaning, wordings: tuple[str, ...]) -> None:
        """Know the wordings of a meaning."""
        self.wordings[meaning] = wordings
        self.meanings.update({folded(wording): meaning for wording in wordings})

    def say(self, day: int, kind: Kind, meaning: Meaning, use: int) -> None:
        """Have the owner say something, in one of its wordings."""
        wordings = self.wordings[meaning]
        self.said.append(Said(day, kind, f"{wordings[use % len(wordings)]}.", meaning))
        subject, value = meaning
        if (before := self.truth.get(subject)) not in (None, value):
            self.outdated.setdefault(subject, set()).add(str(before))
        self.truth[subject] = value
        self.outdated.get(subject, set()).discard(value)


def year(seed: int = 1, share: float = 1.0) -> World:
    """A year with 1,000 near-twins, or a `share` of all that is said in it."""
    chance = random.Random(seed)
    world = World()
    subjects = [(person, name) for person in PEOPLE for name in ATTRIBUTES]
    chance.shuffle(subjects)
    for person, name in subjects[: max(4, round(len(subjects) * share))]:
        _live(world, chance, person, name)
    for meaning, wordings in _twins(round(1_000 * share)):
        world.learn(meaning, wordings)
        world.say(chance.randrange(DAYS), "twin", meaning, chance.randrange(2))
    world.said.sort(key=lambda each: each.day)
    return world


def _live(world: World, chance: random.Random, person: str, name: str) -> None:
    """What becomes of one thing in the year: said, said again, changed, changed back."""
    question, forms, values = ATTRIBUTES[name]
    first, second, third = chance.sample(values, 3)
    course = chance.choice(
        [[first], [first, first], [first, first, second], [first, second, second],
         [first, second, first], [first, second, second, first, first], [first, second, third]]
    )  # fmt: skip
    use = chance.randrange(len(forms))
    days = sorted(chance.sample(range(DAYS), len(course)))
    for number, (day, value) in enumerate(zip(days, course, strict=True)):
        meaning = (f"{person}: {name}", value)
        world.learn(meaning, tuple(form.format(p=person, v=value) for form in forms))
        world.say(day, _kind(course[: number + 1]), meaning, use + number)
    world.asked += [(day, question.format(p=person)) for day in chance.sample(range(DAYS), 2)]


def _kind(course: list[str]) -> Kind:
    *before, value = course
    if not before:
        return "new"
    if before[-1] == value:
        return "repeat"
    return "return" if value in before else "change"


def _twins(count: int) -> list[tuple[Meaning, tuple[str, ...]]]:
    """True facts that differ from their neighbours in a number, a name, a date or a negation."""
    return [(_by_number, _by_name, _by_date, _by_negation)[n % 4](n // 4) for n in range(count)]


def _by_number(n: int) -> tuple[Meaning, tuple[str, ...]]:
    locker, code = str(100 + n), str(1_000 + n * 7 % 9_000)
    said = (f"Locker {locker} opens with {code}", f"The code of locker {locker} is {code}")
    return (f"locker {locker}", code), said


def _by_name(n: int) -> tuple[Meaning, tuple[str, ...]]:
    name = f"{PEOPLE[n % 15]} {SURNAMES[n // 15 % 11]}{'' if n < 165 else 's'}"
    said = (f"{name} brings a salad to the party", f"A salad is brought to the party by {name}")
    return (f"salad of {name}", "yes"), said


def _by_date(n: int) -> tuple[Meaning, tuple[str, ...]]:
    day = (date(2027, 1, 1) + timedelta(days=n)).isoformat()
    said = (f"The boiler is to be serviced on {day}", f"On {day} the boiler is to be serviced")
    return (f"boiler on {day}", "yes"), said


def _by_negation(n: int) -> tuple[Meaning, tuple[str, ...]]:
    guest, meal = str(300 + n // 2), ("meat", "fish")[n % 2]
    eats = f"does {('', 'not ')[n % 2]}eat"
    said = (f"Guest {guest} {eats} {meal}", f"It is {meal} that guest {guest} {eats}")
    return (f"guest {guest}, {meal}", eats), said
