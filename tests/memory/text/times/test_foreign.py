"""Dates in the words of nine languages, and what only looks like one."""

from datetime import date

import pytest

from assistant.memory.text.times.dates import asked, heading_date, mentions

TODAY = date(2026, 11, 21)  # a Saturday
LAST_WEEK = "2026-11-09/2026-11-15"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Was habe ich letzten Freitag gemacht?", "2026-11-20"),
        ("Der Arzt rief vorgestern an", "2026-11-19"),
        ("Was war vor drei Tagen?", "2026-11-18"),
        ("Ich muss morgen zum Zahnarzt", "2026-11-22"),
        ("nächsten Monat", "2026-12"),
        ("¿Qué hice el martes pasado?", "2026-11-17"),
        ("la semana pasada", LAST_WEEK),
        ("ayer por la mañana", "2026-11-20"),
        ("el viernes que viene", "2026-11-27"),
        ("hace dos meses", "2026-09"),
        ("Qu'ai-je fait la semaine dernière ?", LAST_WEEK),
        ("J'ai vu Paul hier à la gare", "2026-11-20"),
        ("il y a trois mois", "2026-08"),
        ("в прошлую пятницу", "2026-11-20"),
        ("что было на прошлой неделе", LAST_WEEK),
        ("неделю назад", "2026-11-11/2026-11-17"),
        ("в следующем году", "2027"),
        ("我前天做了什么", "2026-11-19"),
        ("上周五", "2026-11-13"),
        ("上周日本之行", LAST_WEEK),
        ("两个月前", "2026-09"),
        ("先週の金曜日", "2026-11-13"),
        ("3日前に会った", "2026-11-18"),
        ("来年", "2027"),
        ("지난주 금요일에 뭐 했지?", "2026-11-13"),
        ("두 달 전", "2026-09"),
        ("الأسبوع الماضي", LAST_WEEK),
        ("يوم الجمعة الماضي", "2026-11-20"),
        ("قبل ثلاثة أيام", "2026-11-18"),
        ("السنة القادمة", "2027"),
        ("पिछले शुक्रवार", "2026-11-20"),
        ("दो हफ्ते पहले", "2026-11-04/2026-11-10"),
    ],
)
def test_times_in_words_are_told_from_the_day_of_asking_and_of_recording(
    said: str, expected: str
) -> None:
    assert [each.period.iso for each in asked(said, TODAY)] == [expected]
    assert mentions(said, TODAY.isoformat()) == (expected,)
    assert mentions(said, None) == ()


@pytest.mark.parametrize(
    "day",
    [
        "8. Mai 2027",
        "8 de mayo de 2027",
        "8 mai 2027",
        "8 мая 2027",
        "2027年5月8日",
        "2027년 5월 8일",
        "8 مايو 2027",
        "٨ مايو ٢٠٢٧",
        "८ मई २०२७",
    ],
)
def test_a_full_date_dates_a_heading_and_is_mentioned_by_a_fact(day: str) -> None:
    assert heading_date(f"-- {day}") == "2027-05-08"
    assert mentions(f"x: {day}.", None) == ("2027-05-08",)


@pytest.mark.parametrize(
    "said",
    [
        "hier steht das Auto und nicht dort",
        "Guten Morgen, wie geht es dir?",
        "die letzten Wochen waren schön",
        "3 mars bars in the kit",
        "Chris Hoy is my friend",
        "mayo on fries",
        "mes amis sont là",
        "esta mañana no puedo",
        "目前天气很好",
        "聪明天才",
        "证明年龄",
        "日本周边",
        "十二天前",
        "説明日程",
        "結婚式の3日前",
        "다음 주소",
        "그제야 알았다",
        "الغداء جاهز",
        "завтрак готов",
        "शादी से 3 दिन पहले",
        "कल मिलेंगे",
        "31. Februar 2027",
        "2027年13月8日",
    ],
)
def test_what_only_looks_like_a_date_is_none(said: str) -> None:
    assert [each for each in asked(said, TODAY) if each.period.is_day] == []
    assert mentions(said, None) in ((), ("2027",), ("2027-02",))
