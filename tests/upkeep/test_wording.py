"""Two hundred ways to say when: each is understood as it was meant, or not at all."""

import pytest

from assistant.memory.text.times.schedule import describe
from assistant.upkeep.tasks import tasks

UNDERSTOOD = """\
every minute = every minute
every 5 min = every 5 minutes
every 15 minutes = every 15 minutes
every 45 minutes = every 45 minutes
every quarter of an hour = every 15 minutes
every half an hour = every 30 minutes
every half hour between 9 and 17 = every 30 minutes between 09:00 and 17:00
every 30 minutes from 9:00 to 17:30 = every 30 minutes between 09:00 and 17:30
every 20 minutes 9am to 5pm = every 20 minutes between 09:00 and 17:00
every hour = every hour
every two hours = every 2 hours
every 2 hrs on weekdays = every 2 hours, Monday to Friday
every 4 hours on Saturdays and Sundays = every 4 hours, Saturday and Sunday
every hour between 22 and 6 = every hour between 22:00 and 06:00
each hour = every hour
hourly on weekdays = every hour, Monday to Friday
hourly between 8 and 18 = every hour between 08:00 and 18:00
daily = every day at 09:00
daily at 8 = every day at 08:00
daily at 8:15 = every day at 08:15
daily at 8am and 8pm = every day at 08:00 and 20:00
daily at 8, 12 and 18 = every day at 08:00, 12:00 and 18:00
every day = every day at 09:00
every day at noon = every day at 12:00
every day at midnight = every day at 00:00
every day at 7.45 = every day at 07:45
every day at 14h30 = every day at 14:30
every day at 9 o'clock = every day at 09:00
every day at 11:59 pm = every day at 23:59
every day at 12 am = every day at 00:00
every day at 12 pm = every day at 12:00
every day at 7 in the evening = every day at 19:00
every day at 3 in the afternoon = every day at 15:00
at 6 every day = every day at 06:00
at 6:30 in the morning every day = every day at 06:30
every morning = every day at 08:00
every evening = every day at 18:00
every night at 10 = every day at 22:00
every night at 23:00 = every day at 23:00
every afternoon at 4 = every day at 16:00
every morning at 6 and every evening at 9 = every day at 06:00 and 21:00
mornings = every day at 08:00
evenings at 8 = every day at 20:00
on weekdays = Monday to Friday at 09:00
weekdays at 7 = Monday to Friday at 07:00
weekdays 7:15 = Monday to Friday at 07:15
every weekday at 9 and 17 = Monday to Friday at 09:00 and 17:00
every working day at 8 = Monday to Friday at 08:00
business days at 10 = Monday to Friday at 10:00
workdays at 9am = Monday to Friday at 09:00
weekends at 11 = every Saturday and Sunday at 11:00
every weekend at 10 = every Saturday and Sunday at 10:00
Monday to Friday at 9 = Monday to Friday at 09:00
Mon-Fri 9:00 = Monday to Friday at 09:00
mon - wed at 8 = every Monday, Tuesday and Wednesday at 08:00
from Monday to Thursday at 7 = every Monday, Tuesday, Wednesday and Thursday at 07:00
Fridays = every Friday at 09:00
Friday evenings at 8 = every Friday at 20:00
on Fridays at 17:00 = every Friday at 17:00
every Friday at 5 pm = every Friday at 17:00
each Sunday evening = every Sunday at 18:00
every Sunday morning at 10 = every Sunday at 10:00
every Tuesday and Thursday at 19:30 = every Tuesday and Thursday at 19:30
Mondays, Wednesdays and Fridays at 6 = every Monday, Wednesday and Friday at 06:00
mon, wed, fri at 6 = every Monday, Wednesday and Friday at 06:00
every day except Sunday and Saturday = Monday to Friday at 09:00
every day except weekends at 9 = Monday to Friday at 09:00
every day except Saturday and Sunday at 9 = Monday to Friday at 09:00
weekdays except Friday at 9 = every Monday, Tuesday, Wednesday and Thursday at 09:00
every hour between 8 and 18 except weekends = every hour between 08:00 and 18:00, Monday to Friday
weekly = every Monday at 09:00
once a day = every day at 09:00
once a week = every Monday at 09:00
once per month = on the 1st of every month at 09:00
once a year = 1 January of every year at 09:00
every week = every Monday at 09:00
every week on Thursday = every Thursday at 09:00
every week on Thursday at 8 = every Thursday at 08:00
every month = on the 1st of every month at 09:00
every month on the 3rd = on the 3rd of every month at 09:00
monthly on the 1st at 10 = on the 1st of every month at 10:00
monthly = on the 1st of every month at 09:00
on the 1st of each month = on the 1st of every month at 09:00
on the 1st and 15th of every month at 9 = on the 1st and 15th of every month at 09:00
the 31st of every month = on the 31st of every month at 09:00
on the last day of the month = the last day of every month at 09:00
the last day of each month at 20 = the last day of every month at 20:00
the first of every month = on the 1st of every month at 09:00
first Monday of the month = the first Monday of every month at 09:00
the second Tuesday of each month at 19:00 = the second Tuesday of every month at 19:00
on the last Friday of the month at 16 = the last Friday of every month at 16:00
every third Wednesday of the month = the third Wednesday of every month at 09:00
every first Monday in the month at 9 = the first Monday of every month at 09:00
the first weekday of each month = the first working day of every month at 09:00
the last workday of the month at 17 = the last working day of every month at 17:00
every year on 24 December = 24 December of every year at 09:00
every 3 June = 3 June of every year at 09:00
on 3 June = 3 June of every year at 09:00
yearly on 1 May at 8 = 1 May of every year at 08:00
every year on December 24th at 18 = 24 December of every year at 18:00
on 27 November 2026 = once, on 2026-11-27 at 09:00
on 27 November 2026 at 18:40 = once, on 2026-11-27 at 18:40
on November 27, 2026 at 6:40 pm = once, on 2026-11-27 at 18:40
2026-11-27 = once, on 2026-11-27 at 09:00
2026-11-27 18:40 = once, on 2026-11-27 at 18:40
2026-11-27T18:40 = once, on 2026-11-27 at 18:40
on 2026-11-27 at 9:00 UTC = once, on 2026-11-27 at 09:00 UTC
27.11.2026 um 18:40 = once, on 2026-11-27 at 18:40
every other Friday from 2026-11-27 = every 2 weeks on Friday at 09:00, from 2026-11-27
every day at half past eight = every day at 08:30
every day at quarter to nine = every day at 08:45
jeden Tag um halb neun = every day at 08:30
jeden Tag um zehn vor acht Uhr = every day at 07:50
every 2 weeks on Monday from 2026-11-30 at 9 = every 2 weeks on Monday at 09:00, from 2026-11-30
every 3 days from 1 December 2026 = every 3 days at 09:00, from 2026-12-01
once every 3 days from 1 December 2026 = every 3 days at 09:00, from 2026-12-01
every day at 9:00 JST = every day at 09:00 Asia/Tokyo
every day at 9:00 Europe/Berlin = every day at 09:00 Europe/Berlin
weekdays at 17:30 America/New_York = Monday to Friday at 17:30 America/New_York
every Monday 8:00 UTC = every Monday at 08:00 UTC
every day at 9 UTC+2 = every day at 09:00 UTC+02:00
täglich um 8 = every day at 08:00
täglich um 8 Uhr = every day at 08:00
jeden Morgen um 7 = every day at 07:00
jeden Abend = every day at 18:00
abends um 8 = every day at 20:00
werktags = Monday to Friday at 09:00
werktags um 9:30 = Monday to Friday at 09:30
werktags um 9.30 Uhr = Monday to Friday at 09:30
an Wochentagen um 18 Uhr = Monday to Friday at 18:00
am Wochenende um 11 = every Saturday and Sunday at 11:00
montags = every Monday at 09:00
freitags um 17 Uhr = every Friday at 17:00
jeden Montag und Donnerstag um 19 Uhr = every Monday and Thursday at 19:00
von Montag bis Freitag um 9 = Monday to Friday at 09:00
jeden Freitagabend um 8 = every Friday at 20:00
stündlich = every hour
stündlich zwischen 9 und 18 Uhr = every hour between 09:00 and 18:00
alle 30 Minuten = every 30 minutes
alle drei Stunden = every 3 hours
jede Viertelstunde = every 15 minutes
jede halbe Stunde = every 30 minutes
einmal am Tag = every day at 09:00
einmal pro Woche = every Monday at 09:00
einmal im Monat = on the 1st of every month at 09:00
am 1. und 15. jedes Monats = on the 1st and 15th of every month at 09:00
am ersten Montag im Monat = the first Monday of every month at 09:00
am letzten Tag des Monats = the last day of every month at 09:00
monatlich am 3. um 10 Uhr = on the 3rd of every month at 10:00
jährlich am 24. Dezember = 24 December of every year at 09:00
am 24. Dezember 2026 um 18 Uhr = once, on 2026-12-24 at 18:00
jeden zweiten Dienstag ab 24. November 2026 = every 2 weeks on Tuesday at 09:00, from 2026-11-24
jeden Tag außer samstags und sonntags um 8 = Monday to Friday at 08:00
each Friday water the plants = every Friday at 09:00
every 30 minutes look at the mail = every 30 minutes
weekdays at 9: read: the news = Monday to Friday at 09:00
every Friday — the weekly review = every Friday at 09:00
every day except weekends water plants = Monday to Friday at 09:00
"""
"""Words = how they are understood; behind them stands a task."""
REFUSED = """\
every hour during office hours: x
every day at 9 during the holidays: x
every day unless it rains: x
every weekday except holidays at 9: x
every other Tuesday: x
every second week: x
every 2 weeks on Friday: x
fortnightly: x
every 3 days: x
every two months on the 1st: x
on Friday at 9: x
Friday: x
Tuesday 9:30: x
every day at 25:00: x
every day at 9:75: x
every day at 13pm: x
every day at 0am: x
at 9: x
at 7:30 in the morning: x
7:30: x
noon: x
in the morning: x
every morning at 15:00: x
every evening at 9:00 in the morning: x
every afternoon at 23:00: x
every night at 13:00: x
every day at 9 and every Friday: x
every evening at 9 am: x
every day at 9 and on Fridays: x
every hour and on Fridays: x
mornings and Fridays: x
daily every Friday: x
täglich um 9 und freitags: x
every Friday night at 1: x
every Friday at 2:30 in the night: x
every day at 9 Mars/Olympus: x
every day at 9 IST: x
every day at 9 AEST: x
every day at 9 UTC+25: x
every day at 9 local time: x
every blue moon: x
now and then: x
sometimes: x
when the moon is full: x
every so often: x
every few days: x
every couple of weeks: x
every 0 minutes: x
every -5 minutes: x
every 1.5 hours: x
every day or so: x
most days at 9: x
nearly every day: x
every day around 9: x
every day about noon: x
every day at about 9: x
every day before 9: x
every day after lunch: x
every day after 9: x
every day by 9: x
every day until Christmas: x
every day until 2026-12-24: x
every day from tomorrow: x
every day starting Monday: x
every Monday for 3 weeks: x
every Monday in June: x
every June: x
every summer: x
on 31 February: x
every year on 30 February: x
on the 32nd of each month: x
on the 0th of each month: x
the fifth day of the week: x
the sixth Monday of the month: x
the 0th Monday of the month: x
first Monday of the quarter: x
quarterly: x
biweekly: x
twice a day: x
three times a week: x
every day twice: x
once: x
once in a while: x
daily at 8 and quarter past: x
every day at sunrise: x
every day at dawn: x
every day at dinner: x
every day at 9 sharp: x
every day at 9 Berlin time: x
every weekday morning except Friday afternoon: x
every day except: x
every month except June: x
every Monday and the 15th: x
every Monday at 9 or later: x
every Monday, at 9, but not in August: x
every day at 9 if sunny: x
every day at 9 while away: x
every day at 9 only once: x
every 30 minutes at night: x
every 30 minutes at 9: x
every hour between 9: x
every hour between 9 and: x
every hour from Monday: x
every hour between nine thirty and ten: x
jeden zweiten Dienstag: x
alle 14 Tage: x
alle zwei Wochen am Freitag: x
14-tägig: x
am Freitag: x
am Freitag abends um 8: x
jeden Tag gegen 9: x
jeden Tag während der Arbeit: x
jeden Tag außer feiertags: x
jeden Tag um 25 Uhr: x
ab und zu: x
tous les jours à 9h: x
cada lunes: x
каждый день в 9: x
毎日: x
every day at 9 on Sundays at 10 in winter: x
weekdays at 9, weekends at 10: x
every day 5 push-ups
each Friday during lunch water plants
every hour in office hours check
every Monday unless it is a holiday run
call Ana on Friday
in the evening read, every Friday
at noon, water the plants each Friday
remind me tomorrow at 9: x
tomorrow at 9: x
in 20 minutes: x
next Monday at 10: x
every Monday, every Thursday: x
jeden Tag um 8 Uhr 30: x
every Friday at 9, the weekly review
"""


@pytest.mark.parametrize("line", UNDERSTOOD.splitlines())
def test_what_is_understood_is_what_was_meant(line: str) -> None:
    words, _, meant = line.partition(" = ")
    text = (
        words
        if any(each in words for each in (" water", " look", " read", " weekly review"))
        else f"{words}: x"
    )
    (task,), unread = tasks(f"- {text}\n")
    assert (describe(task.schedule), unread) == (meant, [])
    assert task.text in (
        "x",
        "water the plants",
        "look at the mail",
        "read: the news",
        "the weekly review",
        "water plants",
    )


@pytest.mark.parametrize("line", REFUSED.splitlines())
def test_what_is_not_understood_is_refused_and_named(line: str) -> None:
    found, unread = tasks(f"- {line}\n")
    assert found == []
    assert unread[0].word in line and unread[0].cure
