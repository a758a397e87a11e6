"""Facts that read like a person's notes, from a seed, and questions that one of them answers.

The first n facts are the same for any count. No person has two facts of a kind, so every question
has one answer.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

SEED = 20261121
PER_HEADING = 20
PER_FILE = 1000
FIRST_DAY = date(2019, 1, 1)

_FIRSTS = """
Ada Amara Anton Beatriz Björn Carla Chidi Chloé Dalia Dmitri Elif Emeka Esther Farid Fiona
Gareth Greta Hana Henrik Imani Ines Ivo Jamal Jana Joaquín Kaito Karin Lars Leila Luca Mabel
Marek Mei Milan Nadia Nils Noor Olga Omar Paolo Petra Priya Quentin Rafael Ravi Rosa Ruth Samir
Selma Silas Sofia Tariq Tess Tomás Uma Vera Viktor Wanda Yara Yusuf Zoë
"""
_LASTS = """
Abernathy Achebe Albrecht Almeida Andersen Baptiste Bellini Bergström Blackwood Boateng Brandt
Calloway Castellano Chowdhury Clarke Dubois Eriksen Falk Fernandes Fitzgerald Fontaine Galloway
Gupta Haddad Halvorsen Hartmann Hawthorne Ibarra Ito Iversen Jankowski Johansson Kaplan Karimi
Keller Khatri Kowalski Laurent Lindqvist Lombardi MacLeod Mahler Marchetti Mbeki Mendoza Moreau
Nakamura Ndiaye Novak Okafor Okonkwo Oliveira Osei Papadakis Pereira Petrov Popescu Quigley
Rahman Ramires Rasmussen Rossi Rousseau Sandoval Santoro Schneider Sinclair Solberg Stavros
Suleiman Takahashi Thorne Tremblay Ueda Vance Vasquez Vogel Wallace Weiss Whitfield Wójcik
Yamada Yilmaz Zapata Zhang
"""
_WORDS = {
    "street": "Mill Lane|Harbour Street|Station Road|the Old Market|Chestnut Avenue|Canal Street",
    "city": "Lisbon|Tallinn|Kraków|Porto|Galway|Ghent|Trieste|Malmö|Sibiu|Split|Aarhus|Toulouse",
    "food": "peanuts|shellfish|gluten|strawberries|sesame|kiwi|celery|mustard|lupin|walnuts",
    "dish": "mushroom risotto|lentil soup|beef stew|pad thai|moussaka|apple strudel|jollof rice",
    "drink": "oat-milk flat whites|green tea|black coffee|ginger beer|dry cider|cold brew",
    "hobby": "bouldering|pottery|choir singing|beekeeping|chess|open-water swimming|bookbinding",
    "job": "paediatric nurse|bridge engineer|interpreter|luthier|marine biologist|sous-chef",
    "thing": "the big saw|a tent for four|the blue suitcase|our bread machine|two folding bikes",
    "pet": "a greyhound|two cats|a grey parrot|a rescue beagle|three hens|a tortoise",
    "book": "a history of salt|a novel about Trieste|poems by Szymborska|a guide to alpine flowers",
    "tool": "Blender|PostgreSQL|a label printer|LaTeX|Ableton|a 3D printer|QGIS",
    "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday",
    "month": "January|February|March|April|May|June|July|September|October|November",
    "why": "after the move|because of the back pain|to save money|since the new job"
    "|for the children|on the doctor's advice|before the winter|to be nearer the sea",
}
_REMARKS = (
    "", "", "", "Told me on the phone.", "Ask again in spring.", "The others do not know yet.",
    "I promised to keep that in mind when we plan the summer.", "It came up twice this week.",
    "We talked about it on the way home from the station, and I had quite forgotten.",
)  # fmt: skip
_CHOICES = {name: words.split("|") for name, words in _WORDS.items()}
_KINDS = """
{who}'s dentist is Dr. {last}, on {street}. | Who is {who}'s dentist? | dentist {who}
{who} is allergic to {food}; carries an inhaler. | What must {who} not eat? | {who} allergy
{who} moved to {city} in {month}, {why}. | Where does {who} live now? | {who} moved where
Birthday of {who}: {number} {month}. | When is {who}'s birthday? | birthday {who}
{who} works as a {job} in {city}. | What does {who} do for a living? | {who} job
Lent {thing} to {who} in {month}. | What did I lend to {who}? | lent {who}
{who} has {pet}. | Which animals does {who} keep? | {who} pets
{who} gave us {book} for Christmas. | Which book was from {who}? | book from {who}
{who} loves {dish} and cannot stand olives. | What shall I cook for {who}? | {who} dish
The alarm code at {who}'s place is {code}. | What is {who}'s alarm code? | {who} code
{who} drinks {drink}, never after 15:00. | What does {who} like to drink? | {who} drink
{who} started {hobby} {why}. | What hobby has {who} taken up? | {who} hobby
Meet {who} every {day} at {hour}:30 on {street}. | When do I meet {who}? | meet {who}
{who} can help with {tool}. | What can I ask {who} for help with? | {who} help
{who} owes us {number} euros for the tickets to {city}. | What does {who} owe us? | {who} owes
{who}'s children go to the school on {street}. | Where is {who}'s school? | school {who}
{who} broke an ankle while {hobby} in {month}. | What happened to {who}? | {who} accident
{who} wants to be called {nick}, not by the full name. | How to address {who}? | {who} nickname
Invoice {code} to {who} was paid in {month}. | Which invoice did {who} pay? | invoice {who}
{who} and I agreed on {city} for the workshop. | Where is the workshop with {who}? | workshop {who}
"""
"""One line per kind: the fact, the question that it answers, and a hasty query."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, a question and keywords that only it answers, and a question that many facts
    answer."""

    text: str
    question: str
    keywords: str
    topic: str


def facts(count: int) -> list[Fact]:
    """Return the first `count` facts."""
    return list(islice(_all(), count))


def markdown(items: list[Fact], start: int = 0) -> str:
    """Return facts as a memory file, under dated headings; `start` is the index of the first."""
    lines = ["# Memory"]
    for index, fact in enumerate(items, start):
        if index % PER_HEADING == 0:
            day = FIRST_DAY + timedelta(days=index // PER_HEADING)
            lines += ["", f"## Remembered -- {day.isoformat()}"]
        lines.append(f"- {fact.text}")
    return "\n".join(lines) + "\n"


def write_single(root: Path, items: list[Fact]) -> Path:
    """Write all facts into one MEMORY.md."""
    path = root / "MEMORY.md"
    path.write_text(markdown(items), encoding="utf-8")
    return path


def write_many(root: Path, items: list[Fact]) -> Path:
    """Write a thousand facts per file in `memory/`; return the last file."""
    (root / "memory").mkdir()
    for name, start, part in parted(items):
        path = root / name
        path.write_text(markdown(part, start), encoding="utf-8")
    return path


def parted(items: list[Fact]) -> Iterator[tuple[str, int, list[Fact]]]:
    """Yield the name of each such file, the index of its first fact, and its facts."""
    for start in range(0, len(items), PER_FILE):
        yield f"memory/{start // PER_FILE:04}.md", start, items[start : start + PER_FILE]


def queries(items: list[Fact], count: int) -> list[str]:
    """Return a mix of questions, keywords and topics, the same for every run."""
    draw = random.Random(SEED + len(items))
    sampled = draw.choices(items, k=count)
    forms = ("question", "keywords", "question", "topic")
    return [getattr(fact, forms[n % len(forms)]) for n, fact in enumerate(sampled)]


def _all() -> Iterator[Fact]:
    draw, lasts = random.Random(SEED), _LASTS.split()
    kinds = [line.split(" | ") for line in _KINDS.strip().splitlines()]
    for who, kind in _pairs(draw, lasts, kinds):
        words = {name: draw.choice(choices) for name, choices in _CHOICES.items()}
        words |= {"who": who, "last": draw.choice(lasts), "nick": who[:3] + "i"}
        words |= {"number": str(draw.randint(2, 28)), "hour": str(draw.randint(8, 19))}
        words |= {"code": str(draw.randint(1000, 9999))}
        text, question, keywords = (form.format(**words) for form in kind)
        text = f"{text} {draw.choice(_REMARKS)}".rstrip()
        topic = f"Who of my friends has to do with {words['hobby']} or with {words['city']}?"
        yield Fact(text, question, keywords, topic)


def _pairs(
    draw: random.Random, lasts: list[str], kinds: list[list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield who has a fact of which kind; first people with one surname, then those with two."""
    for second in ("", *(f"-{last}" for last in lasts)):
        people = [f"{first} {last}{second}" for first in _FIRSTS.split() for last in lasts]
        pairs = [(who, kind) for who in people for kind in kinds]
        draw.shuffle(pairs)
        yield from pairs
