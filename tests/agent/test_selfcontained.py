"""Messages that hold all it takes to answer them."""

import pytest

from assistant.agent.recalling import is_self_contained


@pytest.mark.parametrize(
    "text",
    ["2+2?", "what is 17 times 23", "12 * (", "convert 72 fahrenheit to celsius", "15 % of 80",
     "what's 3/8 as a decimal", "how many kilometres are 26.2 miles", 'translate "je ne sais quoi"',
     "sum of the numbers from 1 to 100", 'correct the spelling: "definately recieve"',
     "wie viel ist 15 Prozent von 240", "cuánto es 7 por 8", "combien font 12 fois 12 ?",
     "сколько будет 15 процентов от 240", "240的百分之15是多少", "12かける7は?", "12 곱하기 7은?",
     "كم يساوي ٧ ضرب ٨", "650 का 18 प्रतिशत", "１２＋３０", "翻译成英文：天气很冷",
     "traduis « il fait froid » en anglais", "Übersetze ins Englische: Es ist kalt"],
)  # fmt: skip
def test_nothing_remembered_changes_the_answer(text: str) -> None:
    assert is_self_contained(text) is (text != "12 * (")


@pytest.mark.parametrize(
    "text",
    ["what is 4711", "0531 220 44 71", "26/00871", "translate my letter to Ada", "2080SQR8YVKLA",
     "how many guests are coming", "how many eggs are in the cake", "summarize the lease", "",
     "wann ist der Termin am 3.4. um 15 Uhr", "kalorien 100 - 200", "когда 5 мая", "Wifi 5 GHz",
     "übersetz mir den Brief von Anna", 'wo steht "Ersatzschlüssel"', "Zimmer 12 oder 14",
     "what is 2.4 bar for", "1-8-6-3", "convert the shed", "9" * 1000],
)  # fmt: skip
def test_what_memory_may_know_is_asked_of_it(text: str) -> None:
    assert not is_self_contained(text)
