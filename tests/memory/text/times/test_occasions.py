"""The days to come that a fact speaks of."""

from datetime import date

import pytest

from assistant.memory.text.times.occasions import occasions

TOLD = "2026-11-17"
"""A Tuesday, on which the facts were written."""


@pytest.mark.parametrize(
    ("fact", "days"),
    [
        ("The flight lands on Friday at 18:40", ["2026-11-20 18:40"]),
        ("The flight lands on Friday, at 6.40 pm or 18:40", ["2026-11-20 18:40"]),
        ("Dentist tomorrow at 9am", ["2026-11-18 09:00"]),
        ("Mia lands on 27 November 2026 at 18:40, flight TP1327", ["2026-11-27 18:40"]),
        ("Leaves on Friday at 9:00 and returns on Sunday at 21h30",
         ["2026-11-20 09:00", "2026-11-22 21:30"]),
        ("The passport expires 2027-03", ["2027-03-01/2027-03-31"]),
        ("The lease ends in three weeks", ["2026-12-08"]),
        ("The flight was moved to 27 November 2026", ["2026-11-27"]),
        ("We met on 3 May", []),
        ("We met on Friday 13 November 2026", []),
        ("Went running today", []),
        ("The dentist was booked for 7 December", ["2026-12-07"]),
        ("Ada said the boiler was to be looked at on 3 December at 9:30", ["2026-12-03 09:30"]),
        ("We got tickets for 12 December", ["2026-12-12"]),
        ("The course began on 1 December 2025", []),
        ("I walk the dog every morning", []),
        ("I eat meat on Sundays", []),
        ("We have pizza every Friday", []),
        ("She swims every Friday at 7:00", ["2026-11-20 07:00", "2026-11-27 07:00",
                                            "2026-12-04 07:00", "2026-12-11 07:00"]),
        ("Bins are collected every Tuesday", ["2026-11-17", "2026-11-24", "2026-12-01",
                                              "2026-12-08", "2026-12-15"]),
        ("Choir every other Thursday at 19:30", ["2026-11-19 19:30", "2026-11-26 19:30",
                                                 "2026-12-03 19:30", "2026-12-10 19:30"]),
        ("Choir every other Thursday at 19:30 from 2026-11-26",
         ["2026-11-26 19:30", "2026-12-10 19:30"]),
        ("Chor jeden zweiten Donnerstag ab 2026-11-19 um 20 Uhr",
         ["2026-11-19 20:00", "2026-12-03 20:00"]),
        ("Piano lessons every Thursday from 2026-12-03 at 17:00", ["2026-12-03 17:00",
                                                                   "2026-12-10 17:00"]),
        ("Ada has 3 cats and 27 books", []),
        ("The meeting is 2026-12-01T14:00", ["2026-12-01 14:00"]),
        ("Choir every Thursday at 19:30", ["2026-11-19 19:30", "2026-11-26 19:30",
                                           "2026-12-03 19:30", "2026-12-10 19:30"]),
        ("Rent is due on the 1st of each month", ["2026-12-01"]),
        ("First Monday of each month: book club at 19:00", ["2026-12-07 19:00"]),
        ("Book club on the first Monday of the month", ["2026-12-07"]),
        ("Rent: 15th of every month", ["2026-12-15"]),
        ("The gym costs 40 euros each month", []),
        ("Calls mother every week", []),
        ("Drinks coffee every day", []),
        ("The fair is from 27 to 29 November", ["2026-11-27/2026-11-29"]),
        ("Holiday November 27-29, back on Monday at 9",
         ["2026-11-27/2026-11-29", "2026-11-23 09:00"]),
        ("Urlaub vom 27.11. bis 3.12.", ["2026-11-27/2026-12-03"]),
        ("Wir sind 27.11. bis 3.12. weg", ["2026-11-27/2026-12-03"]),
        ("Urlaub von 28.11. bis zum 2.12.", ["2026-11-28/2026-12-02"]),
        ("Urlaub 28. 11. – 2. 12.", ["2026-11-28/2026-12-02"]),
        ("Holiday 28.11. to 2.12.", ["2026-11-28/2026-12-02"]),
        ("Kapitel 3.12. bis 4 gelesen", []),
        ("15.12., 18 Uhr: Elternabend", ["2026-12-15 18:00"]),
        ("Elternabend 15.12. 18.30 Uhr", ["2026-12-15 18:30"]),
        ("Elternabend (15.12., 18:30)", ["2026-12-15 18:30"]),
        ("Elternabend 15.12., 18-20 Uhr", ["2026-12-15 18:00"]),
        ("Elternabend 15.12. von 18 bis 20 Uhr", ["2026-12-15 18:00"]),
        ("Kapitel 3.12., 18 Seiten", []),
        ("Kurs 5.-7.12.2026", ["2026-12-05/2026-12-07"]),
        ("In Graz from Monday to Wednesday", ["2026-11-23/2026-11-25"]),
        ("The shop is open Monday to Friday", []),
        ("Zahnarzt am 15.12. um 9 Uhr", ["2026-12-15 09:00"]),
        ("Am Freitag, den 27. November, Konzert um 20 Uhr", ["2026-11-27 20:00"]),
        ("Der Flug landet am Freitag um 18:40 Uhr", ["2026-11-20 18:40"]),
        ("Wir sind am Freitag gelandet", []),
        ("Chor donnerstags um 19:30", ["2026-11-19 19:30", "2026-11-26 19:30",
                                       "2026-12-03 19:30", "2026-12-10 19:30"]),
        ("Réunion vendredi à 9h", ["2026-11-20 09:00"]),
        ("El lunes a las 10:00 dentista", ["2026-11-23 10:00"]),
        ("В пятницу в 18:30 врач", ["2026-11-20 18:30"]),
        ("金曜日 18:00 に会議", ["2026-11-20 18:00"]),
        ("Night shifts: 28, 29 and 30 November",
         ["2026-11-28", "2026-11-29", "2026-11-30"]),
        ("Dienst am 28., 29. und 30. November um 20:45",
         ["2026-11-28 20:45", "2026-11-29 20:45", "2026-11-30 20:45"]),
        ("The market is on the 5th and 6th of December, 10:00",
         ["2026-12-05 10:00", "2026-12-06 10:00"]),
        ("Kurs am 3., 4. und 10. Dezember, Feier am 12.12.",
         ["2026-12-03", "2026-12-04", "2026-12-10", "2026-12-12"]),
        ("Flohmarkt 5./6. Dezember", ["2026-12-05", "2026-12-06"]),
        ("On call December 5, 6 and 12", ["2026-12-05", "2026-12-06", "2026-12-12"]),
        ("Piano on 7 December at 8 and 9 December at 10", ["2026-12-07 08:00", "2026-12-09 10:00"]),
        ("Some day between 5 and 9 December", ["2026-12-09"]),
        ("Mia is 9, 10 December is the party", ["2026-12-10"]),
        ("On December 5 and 6 people come", ["2026-12-05"]),
        ("The rent is due on 31 November 2026", []),
        ("Version 15.12. is out, and 3-5 are not", []),
        ("Dinner with Håkon on the 28th at 19:00", ["2026-11-28 19:00"]),
        ("28th at 19:00: dinner with Håkon", ["2026-11-28 19:00"]),
        ("Rehearsal from the 27th to the 29th", ["2026-11-27/2026-11-29"]),
        ("Bo comes on the 28th at 8 in the evening and leaves on Monday the 30th at 9",
         ["2026-11-28 20:00", "2026-11-30 09:00"]),
        ("Lunch with Bo on the 5th of next month at noon", ["2026-12-05 12:00"]),
        ("Konzert am 28. um 19 Uhr", ["2026-11-28 19:00"]),
        ("La cena es el 28 a las 19:00", ["2026-11-28 19:00"]),
        ("The dentist was booked for the 28th at 9", ["2026-11-28 09:00"]),
        ("The plumber was here on the 3rd at 9", []),
        ("Ab 3.12. arbeite ich in Bern", ["2026-12-03"]),
        ("We met on the 3rd", []),
        ("Paid the rent on the 1st", []),
        ("Paid the rent on the 1st at 9", []),
        ("The rent must be paid on Friday", ["2026-11-20"]),
        ("The parcel has to be sent on the 20th at 9", ["2026-11-20 09:00"]),
        ("Bo arrives on the 20th", ["2026-11-20"]),
        ("Sold the car on the 20th.", []),
        ("Rent paid by the 1st", []),
        ("Pay the rent by the 1st", ["2026-12-01"]),
        ("Lunch on the 28th at noon", ["2026-11-28 12:00"]),
        ("Our flat at 12 Main St is on the 3rd.", []),
        ("Our flat is on the 3rd, next to the lift", []),
        ("Miete bezahlt am 1.", []),
        ("The rent is due on the 1st", ["2026-12-01"]),
        ("Bo will come on the 20th. We met in May", ["2026-11-20"]),
        ("Fällig ist die Miete am 1.", ["2026-12-01"]),
        ("Bo leaves on Monday the 30th", ["2026-11-30"]),
        ("Rounds on the 28th and the 30th at 9", ["2026-11-28", "2026-11-30 09:00"]),
        ("At 9 on the 28th, the plumber", ["2026-11-28 09:00"]),
        ("The office is on the 3rd floor", []),
        ("Ana's birthday is on the 3rd", []),
        ("Meeting in two weeks on Monday at 9", ["2026-11-30 09:00"]),
        ("On Friday in 3 weeks the boiler is swept", ["2026-12-11"]),
        ("Treffen in zwei Wochen am Montag um 9", ["2026-11-30 09:00"]),
        ("In two weeks at 9 the boiler", ["2026-12-01 09:00"]),
        ("every 2 weeks from 2026-11-20: change the filter", ["2026-11-20", "2026-12-04"]),
        ("From 2026-11-20 every 10 days the filter is changed",
         ["2026-11-20", "2026-11-30", "2026-12-10"]),
    ],
)  # fmt: skip
def test_what_a_fact_says_of_the_days_ahead(fact: str, days: list[str]) -> None:
    found = [
        f"{start}{'' if start == end else f'/{end}'} {each.time}".strip()
        for each in occasions(fact, TOLD)
        for start, end, _ in each.within(date(2026, 11, 17), date(2026, 12, 15))
        if "2027" not in fact
    ]
    if "2027" in fact:
        found = [f"{each.start}/{each.end}" for each in occasions(fact, TOLD)]
    assert found == days


@pytest.mark.parametrize(
    ("fact", "time"),
    [
        ("Tisch für 4 am Samstag um 20 Uhr", "20:00"),
        ("Konferenz in Halle 3 am 15.12. um 18 Uhr", "18:00"),
        ("Essen für 12 am 2026-12-05 um 19:30", "19:30"),
        ("Zimmer 12 am Flughafen, Freitag um 15 Uhr", "15:00"),
        ("Treffen um 3 am Nachmittag, am Freitag", "15:00"),
        ("Um 8 am Freitag Zahnarzt", "08:00"),
        ("Zug von Gleis 7 am Freitag", ""),
        ("Freitag 8am Zahnarzt", "08:00"),
        ("Breakfast 8 am Saturday with Bo", "08:00"),
    ],
)
def test_am_is_half_a_day_and_a_german_preposition(fact: str, time: str) -> None:
    assert [occasion.time for occasion in occasions(fact, TOLD)] == [time]


@pytest.mark.parametrize(
    ("fact", "time"),
    [
        ("Kurs am Freitag von 18 bis 20 Uhr", "18:00"),
        ("Kurs am Freitag 18–20 Uhr", "18:00"),
        ("Elternabend am Freitag, 18 - 20 Uhr", "18:00"),
        ("Chor am Freitag 18.30-20.00 Uhr", "18:30"),
        ("Am Freitag zwischen 7 und 12 Uhr kommt die Heizung", "07:00"),
        ("Am Freitag von 9 bis 12 und 14 bis 16 Uhr Kurs", "09:00"),
        ("Am Freitag von 6 bis 8 Uhr abends Kino", "18:00"),
        ("Am Freitag in Halle 3 - 18 Uhr", "18:00"),
        ("Course on Friday from 6 to 8 pm", "18:00"),
        ("Course on Friday 6-8pm", "18:00"),
        ("Course on Friday between 7:30 and 9 pm", "19:30"),
        ("Course on Friday from 9 to 12 and 2 to 4 pm", "09:00"),
        ("Lunch on Friday from 11 to 1 pm", "11:00"),
        ("Lunch on Friday from 12 to 2 pm", "12:00"),
        ("The club is open on Friday from 10 to 2 am", "22:00"),
        ("Shift on Friday from 2pm to 4pm", "14:00"),
        ("Open on Friday from 10 to 12", "10:00"),
        ("On Friday 2 to 3 people come at 8 pm", "20:00"),
        ("Réunion vendredi de 14 à 16h", "14:00"),
        ("La reunión es el lunes de 10 a 12h", "10:00"),
    ],
)
def test_a_span_of_hours_is_due_when_it_begins(fact: str, time: str) -> None:
    assert [occasion.time for occasion in occasions(fact, TOLD)] == [time]


@pytest.mark.parametrize(
    ("fact", "days"),
    [
        ("Boiler check next week on Thursday at 8:00", ["2026-11-26 08:00"]),
        ("next week on Tuesday at 9: vet", ["2026-11-24 09:00"]),
        ("Thursday of next week at 8: boiler", ["2026-11-26 08:00"]),
        ("Thursday next week at 8: boiler", ["2026-11-26 08:00"]),
        ("Next week Bo comes on Wednesday evening at 8", ["2026-11-25 20:00"]),
        ("Next week on Tuesday and Friday at 9: course", ["2026-11-24", "2026-11-27 09:00"]),
        ("In Graz next week from Monday to Wednesday", ["2026-11-23/2026-11-25"]),
        ("Dentist on Friday at 9 and next week on Monday at 10 the vet",
         ["2026-11-23 10:00", "2026-11-20 09:00"]),
        ("Nächste Woche am Freitag um 10 Heizung", ["2026-11-27 10:00"]),
        ("Am Freitag der nächsten Woche um 10 Heizung", ["2026-11-27 10:00"]),
        ("Kommende Woche Freitagabend um 8 Kino", ["2026-11-27 20:00"]),
        ("Diese Woche am Freitag um 9 Zahnarzt", ["2026-11-20 09:00"]),
        ("El viernes de la próxima semana a las 10 dentista", ["2026-11-27 10:00"]),
        ("La semaine prochaine, vendredi à 9h", ["2026-11-27 09:00"]),
        ("На следующей неделе в пятницу в 18:30 врач", ["2026-11-27 18:30"]),
        ("Next week I am in Graz, back on Thursday at 8", ["2026-11-23/2026-11-29"]),
        ("Prepare next week's talk on Thursday at 8", ["2026-11-23/2026-11-29"]),
        ("Next week I am in Graz. Choir on Friday at 8",
         ["2026-11-23/2026-11-29", "2026-11-20 08:00"]),
        ("Last week on Friday we met at 8", []),
    ],
)  # fmt: skip
def test_a_weekday_of_a_week_is_one_day_of_that_week(fact: str, days: list[str]) -> None:
    found = [
        f"{each.start}{'' if each.start == each.end else f'/{each.end}'} {each.time}".strip()
        for each in occasions(fact, TOLD)
    ]
    assert found == days


OFF = """\
My surgery is two weeks from today at 7:45 = 2026-12-01 07:45
Today in two weeks at 7:45: my surgery = 2026-12-01 07:45
Dentist a week from tomorrow at 8:15 = 2026-11-25 08:15
Mia visits a week from Saturday = 2026-11-28
Dentist three days from now at 9 = 2026-11-20 09:00
Dentist Monday week at 9 = 2026-11-30 09:00
The dentist is a fortnight on Monday at 9 = 2026-12-07 09:00
A week on Monday at 9: dentist = 2026-11-30 09:00
Dentist a fortnight from Monday at 9 = 2026-12-07 09:00
Dentist Monday in two weeks at 9 = 2026-12-07 09:00
We are in Rome two weeks from 1 December = 2026-12-01
The trial runs 3 months from 1 December = 2026-12-01
Buy tickets a few days before 12 December = 2026-12-12
Book it several weeks before 3 December 2026 = 2026-12-03
Change the tyres two days before 20 December = 2026-12-20
Dentist Friday in a month at 9 = 2026-12-17 09:00, 2026-11-20 09:00
Buy milk tomorrow, in two weeks at 9 dentist = 2026-11-18, 2026-12-01 09:00
Anna works one day a week on Monday = 2026-11-23
Anna works one day a week from Monday = 2026-11-23
Version 3 may break the plugin = none
Season 4 may come out = none
The baby 3 may sleep = none
Closed by 3 may = 2027-05-03
The office is closed for two weeks from Monday = 2026-11-23
Yoga twice a week on Monday = 2026-11-23
Zahnarzt heute in zwei Wochen um 8:15 = 2026-12-01 08:15
TÜV morgen in einer Woche um 10 = 2026-11-25 10:00
Steuerberater Montag in einer Woche um 10 Uhr = 2026-11-30 10:00
Montagabend in einer Woche um 8 Kino = 2026-11-30 20:00
Zahnarzt Montag in acht Tagen = 2026-11-30
In zwei Wochen ab heute Zahnarzt = 2026-12-01
Der Kurs läuft ab 7. Dezember über 6 Wochen = 2026-12-07
Garantie ab 3.12.2026 über 2 Jahre = 2026-12-03
Wir haben am 3.12. in 2 Wochen Urlaub = 2026-12-03, 2026-12-01
Kurs zwei Wochen ab Montag = 2026-11-23
La cita es de hoy en ocho = 2026-11-24
El dentista es el lunes dentro de dos semanas = 2026-12-07
Dentista en dos semanas a partir de mañana a las 9 = 2026-12-02 09:00
RDV d'aujourd'hui en huit à 9h = 2026-11-24 09:00
Réunion lundi soir en quinze à 8h = 2026-12-07 20:00
Dentiste dans deux semaines à partir de demain = 2026-12-02
врач завтра через неделю в 10:00 = 2026-11-25 10:00
موعد الطبيب بعد أسبوعين من غد = 2026-12-02
सोमवार से एक हफ़्ते बाद डॉक्टर = 2026-11-30
明天起两周后下午3点看牙医 = 2026-12-02 15:00
今日から二週間後に歯医者 = 2026-12-01
오늘부터 2주 후 치과 = 2026-12-01
"""
MOVED = """\
Visit of the technician moved to 8 December from 14:00 to 16:00 = 2026-12-08 14:00
Visit moved from 7 December to 8 December from 14:00 to 16:00 = 2026-12-08 14:00
The piano will be moved on 9 December from 9:00 to 11:30 = 2026-12-09 09:00
El piano se movió el 8 de diciembre de 9:00 a 11:30 = 2026-12-08 09:00
The gas inspection was rescheduled from 1 December to 9 December at 10 = 2026-12-09 10:00
The dentist was moved from 3 to 8 December = 2026-12-08
The dentist on 3 December was moved to 8 December at 10 = 2026-12-08 10:00
The conference from 3 to 5 December was moved to Berlin = 2026-12-03/2026-12-05
The conference was moved to Berlin from 3 to 5 December = 2026-12-03/2026-12-05
The conference from 3 to 5 December was moved to 9 to 11 December = 2026-12-09/2026-12-11
Fair moved from 1 to 3 December to 9 to 11 December = 2026-12-01/2026-12-03, 2026-12-09/2026-12-11
The course was moved to Monday from 9 December to 20 December = 2026-12-09/2026-12-20, 2026-11-23
We moved offices from 3 to 5 December = 2026-12-03/2026-12-05
Buses are delayed from 3 December to 8 December = 2026-12-03/2026-12-08
Opening hours are changed from 24 to 26 December = 2026-12-24/2026-12-26
Horaires changés du 24 au 26 décembre = 2026-12-24/2026-12-26
El horario cambia del 24 al 26 de diciembre = 2026-12-24/2026-12-26
El horario se cambió del 24 al 26 de diciembre = 2026-12-24/2026-12-26
The course was postponed from 3 December at 9 to 8 December at 10 = 2026-12-08 10:00
Kitchen delivery moved from Dec 8 at 9am to Dec 10 at 2pm = 2026-12-10 14:00
Dentist moved from Dec 3, 9am to Dec 10, 2pm = 2026-12-10 14:00
Dentist moved from 10:00 on December 3 to 11:30 on December 8 = 2026-12-08 11:30
Walk-through moved from 14:00 to 16:00 on December 9 = 2026-12-09 16:00
On December 9 the walk-through was moved from 2 to 4pm = 2026-12-09 16:00
Walk-through moved from 14:00-15:00 to 16:00-17:00 on December 9 = 2026-12-09 16:00
Inspection on 2026-12-11 was moved from 10:00 to 13:30 = 2026-12-11 13:30
Team meeting moved from 3 December 10:00 to 10 December 11:30 = 2026-12-10 11:30
Site visit moved from Thursday 10:00 to Friday 11:30 = 2026-11-20 11:30
Die Besprechung am 9. Dezember wurde von 14 Uhr auf 16 Uhr verlegt = 2026-12-09 16:00
Zahnarzt von 10 Uhr am 3. Dezember auf 11:30 Uhr am 8. Dezember verschoben = 2026-12-08 11:30
La cita del 9 de diciembre se cambió de las 10:00 a las 11:30 = 2026-12-09 11:30
La cita se cambió del 3 de diciembre a las 10:00 al 10 de diciembre a las 11:30 = 2026-12-10 11:30
Vergadering op 2026-12-09 verplaatst van 14:00 naar 16:00 = 2026-12-09 16:00
Moved to 9 December from 1 December at 10: gas inspection = 2026-12-09 10:00
Choir was moved from Monday to Wednesday at 19:00 = 2026-11-18 19:00
Der Zahnarzt wurde vom 3.12. auf den 8.12. um 9 Uhr verschoben = 2026-12-08 09:00
Der Kurs vom 3.12. bis 5.12. wurde auf den 9.12. verlegt = 2026-12-09
Der Termin am 3. Dezember wurde auf den 8. Dezember verlegt = 2026-12-08
La cita se cambió del 3 de diciembre al 10 de diciembre = 2026-12-10
Le rendez-vous du 3 décembre est reporté au 10 décembre = 2026-12-10
Встреча перенесена с 3 декабря на 10 декабря = 2026-12-10
الموعد تأجل من 3 ديسمبر إلى 10 ديسمبر = 2026-12-10
बैठक 3 दिसंबर से 10 दिसंबर को टाल दी गई = 2026-12-10
会议从12月3日改到12月10日 = 2026-12-10
会議は12月3日から12月10日に延期された = 2026-12-10
회의가 12월 3일에서 12월 10일로 연기됐다 = 2026-12-10
Il concerto è spostato dal 2026-12-03 al 2026-12-10 = 2026-12-10
Mia comes on 3 December and the dentist was moved to 8 December = 2026-12-03, 2026-12-08
The fair moved to Graz, open from 3 to 9 December = 2026-12-03/2026-12-09
In der Nacht vom 3.12. auf den 4.12. wird gewartet = 2026-12-03, 2026-12-04
"""
NTH = """\
Half marathon on the third Saturday of March = 2027-03-20
The 3rd Saturday in March 2027 is the half marathon = 2027-03-20
The fire drill is on the first Monday of December at 10am = 2026-12-07 10:00
Every third Saturday of March the half marathon = 2027-03-20
Last Friday in January: party = 2027-01-29
We met on the third Saturday of October = none
Meeting on the fifth Saturday in February 2027 = none
The fair is on the first Friday after Easter = none
Saturday in March = 2026-11-21
Wahl am ersten Sonntag im Februar um 9 Uhr = 2027-02-07 09:00
Reunión el primer lunes de febrero a las 10:00 = 2027-02-01 10:00
"""
HYPHENS = """\
Mia's flight is on 24-12-2026 at 10:00 = 2026-12-24 10:00
Flug am 24-12-2026 um 10 Uhr = 2026-12-24 10:00
Party on 12-12-2026 = 2026-12-12
Party on 12-24-2026 = 2026-12-24
Party on 5-6-2027 = none
Order 24-12-2026-7 is on its way = none
Holiday 24-12-2026 to 28-12-2026 = 2026-12-24/2026-12-28
"""
DOTTED = """\
The exhibition opens 14.12. in Köln = 2026-12-14
Konzert 12.12. im Gewandhaus = 2026-12-12
Konzert 12. 12. um acht = 2026-12-12 08:00
Konzert 12.12. 20h = 2026-12-12 20:00
We upgraded to Node 18.12. with npm = none
iOS 18.1. and macOS 15.1. = none
Note 1.3. mit Auszeichnung = none
12.12. 20h Konzert = 2026-12-12 20:00
Konzert 12.12. 20 h im Gewandhaus = 2026-12-12 20:00
Konzert 12.12. 20h30 im Gewandhaus = 2026-12-12 20:30
Konzert 12.13. im Gewandhaus = none
Version 4.12. ist da = none
Kapitel 3.2. lesen = none
The ticket costs 12.12. = none
It costs 12.12. In total I paid more = none
IP 10.12.3.4 = none
"""


@pytest.mark.parametrize("line", f"{OFF}{MOVED}{NTH}{HYPHENS}{DOTTED}".splitlines())
def test_words_that_belong_together_name_one_day(line: str) -> None:
    fact, days = line.split(" = ")
    found = [
        f"{each.start}{'' if each.start == each.end else f'/{each.end}'} {each.time}".strip()
        for each in occasions(fact, TOLD)
    ]
    assert (", ".join(found) or "none") == days


@pytest.mark.parametrize(
    "line",
    """\
Gym class every Tuesday at 6pm until December 1 = 17 24 1 at 18:00
Gym class every Tuesday at 6pm through December 1 = 17 24 1 at 18:00
Gym class every Tuesday, until December 1, at 6pm = 17 24 1 at 18:00
Until December 1 gym class every Tuesday at 6pm = 17 24 1 at 18:00
Gym class every Tuesday at 6pm until Friday = 17 at 18:00
Gym class every Tuesday at 6pm from November 24 to December 8 = 24 1 8 at 18:00
Gym class every Tuesday from 2026-11-24 until 2026-12-08 at 6pm = 24 1 8 at 18:00
Gym class every Tuesday at 6pm in December 2026 = 1 8 15 at 18:00
Gym class every Tuesday from 6pm until 8pm = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm until further notice = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm, on holiday from 7 to 9 December = 17 24 1 8 15 7 at 18:00
Gym class every Tuesday at 6pm since March 3 = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm since last month = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm since March 2024 = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm since October = 17 24 1 8 15 at 18:00
Seit letzter Woche habe ich jeden Donnerstag um 19 Uhr Chor = 19 26 3 10 at 19:00
Gym class every Tuesday at 6pm, on December 1 with the boss = 17 24 1 8 15 1 at 18:00
Gym class every Tuesday at 6pm until Christmas = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm until June = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm in January = 17 24 1 8 15 at 18:00
Gym class every Tuesday at 6pm for three weeks = 17 24 1 8 15 at 18:00
Therapy is every Thursday at 4pm except December 3 = 19 26 3 10 3 at 16:00
Therapy is every Thursday at 4pm, but not on December 3 = 19 26 3 10 3 at 16:00
Therapie jeden Donnerstag um 16 Uhr außer am 3. Dezember = 19 26 3 10 3 at 16:00
Painting the fence December 7th thru the 9th, 8am each day = 7 8 9 at 08:00
Inspector comes every day from 7 to 9 December at 10am = 7 8 9 at 10:00
Der Prüfer kommt vom 7. bis 9. Dezember jeden Tag um 10 Uhr = 7 8 9 at 10:00
Chor jeden Donnerstag um 19 Uhr bis zum 3. Dezember = 19 26 3 at 19:00
Chor bis 3.12.2026 jeden Donnerstag um 19 Uhr = 19 26 3 at 19:00
Chor jeden Donnerstag um 19 Uhr bis Weihnachten = 19 26 3 10 at 19:00
Bulk trash every other Tuesday starting December 1 = 1 15
Bulk trash every other Tuesday, starting on the 1st of December, at 7am = 1 15 at 07:00
Starting December 1, bulk trash every other Tuesday = 1 15
Bulk trash every 2 weeks starting December 1 = 1 15
Sperrmüll jeden zweiten Dienstag ab 1. Dezember = 1 15
Sperrmüll ab dem 1.12. alle zwei Wochen dienstags um 7 Uhr = 1 15 at 07:00
Bulk trash every other Tuesday from next week = 24 8""".splitlines(),
)
def test_a_recurrence_keeps_the_bounds_that_are_understood(line: str) -> None:
    fact, days = line.split(" = ")
    due = [
        (day.day, at)
        for each in occasions(fact, TOLD)
        for day, _, at in each.within(date(2026, 11, 17), date(2026, 12, 15))
    ]
    times = " ".join(dict.fromkeys(f" at {at}" for _, at in due if at))
    assert (" ".join(str(day) for day, _ in due) + times or "none") == days


@pytest.mark.parametrize(
    ("fact", "time"),
    [
        ("Dinner on Friday at half past seven", "07:30"),
        ("Dinner on Friday at half past seven in the evening", "19:30"),
        ("Dinner on the 28th at half past seven pm", "19:30"),
        ("Course on Friday from half past six to eight pm", "18:30"),
        ("Train on Friday at a quarter past nine", "09:15"),
        ("Lunch on Friday at quarter to one", "12:45"),
        ("Train on Friday at 10 to 8", "07:50"),
        ("Friday evening at seven o'clock: choir", "19:00"),
        ("Choir every Thursday at half past seven", "07:30"),
        ("Essen am Freitag um halb acht abends", "19:30"),
        ("Essen am Freitag um halb 8 Uhr", "07:30"),
        ("Essen am Freitag um halb eins", "12:30"),
        ("Am Freitag Zug um fünf vor halb acht", "07:25"),
        ("Am Freitag Zug um 5 vor 8 Uhr", "07:55"),
        ("Viertel nach acht am Freitag: Zug", "08:15"),
        ("Am Freitag um zwanzig Uhr Konzert", "20:00"),
        ("15.12., halb acht: Elternabend", "07:30"),
        ("Am Freitag um acht Uhr dreißig Zug", ""),
        ("Am Freitag um 8 Uhr 30 Zug", ""),
        ("Am Freitag um drei viertel 8 Uhr Zug", ""),
        ("On Friday at half 8 pm drinks", ""),
        ("Am Freitag zwei nach vier Leuten", ""),
        ("Course on Friday from 9 to 5", "09:00"),
        ("Half to be paid on Friday", ""),
    ],
)
def test_a_time_of_day_is_read_in_words_too(fact: str, time: str) -> None:
    assert [occasion.time for occasion in occasions(fact, TOLD)] == [time]


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("The house is let from 20 December to 6 January", "2026-06-28"),
        ("The house is let from 20 December to 6 January", "2026-12-01"),
        ("Wir sind 20.12. bis 6.1. weg", "2026-12-01"),
        ("The house is let from 20 December 2026 to 6 January", "2026-03-01"),
    ],
)
def test_a_span_over_new_year_ends_in_the_year_after(fact: str, told: str) -> None:
    (found,) = occasions(fact, told)
    assert (found.start, found.end) == (date(2026, 12, 20), date(2027, 1, 6))
    assert occasions(fact.replace("2026", "9999"), "9999-12-01")


@pytest.mark.parametrize(
    ("fact", "time"),
    [
        ("Call Olav tonight at 8", "20:00"),
        ("This evening at 7: dinner at Bo's", "19:00"),
        ("Concert tonight at 9:30", "21:30"),
        ("Concert tonight, at 8", "20:00"),
        ("Party on Friday night at 8", "20:00"),
        ("Breakfast tomorrow at 8, dinner at 7 in the evening", "08:00"),
        ("The ferry leaves tomorrow at 3 in the morning", "03:00"),
        ("Zahnarzt heute Nachmittag um 3.15", "15:15"),
        ("Tomorrow at 9, about the evening programme", "09:00"),
        ("Dinner this evening was moved; breakfast tomorrow at 8", "08:00"),
        ("The train leaves this evening at 18:40", "18:40"),
        ("Choir every Friday evening with Bo at 8", "20:00"),
        ("Heute Abend um 8 Konzert", "20:00"),
        ("Freitagabend um 7 Kino mit Ada", "19:00"),
        ("Morgen früh um 8 laufen wir", "08:00"),
        ("Heute Nacht um 2 kommen die Meteore", "02:00"),
        ("Rendez-vous vendredi soir à 7h30", "19:30"),
        ("Le dîner est ce soir à 8h", "20:00"),
        ("El lunes a las 8 de la noche cena con Ana", "20:00"),
        ("La reunión es esta tarde a las 5", "17:00"),
        ("Cena il 2026-11-27, 8:30 di sera", "20:30"),
        ("Jantar 2026-11-27, 8:30 da noite", "20:30"),
        ("Eten op 2026-11-27, 's avonds 8:30", "20:30"),
        ("В пятницу в 8 вечера кино", "20:00"),
        ("明天晚上8:30 吃饭", "20:30"),
        ("내일 저녁 8:30 식사", "20:30"),
        ("Tea at 4 tomorrow in the afternoon", "16:00"),
        ("Friday night at 8 the band plays", "20:00"),
        ("At 8 on Friday night the band plays", "20:00"),
        ("Concert on 3 December at 8 in the evening", "20:00"),
        ("Flight on 3 December at 08:15 arriving in the afternoon", "08:15"),
        ("The train leaves on 3 December at 7:15 arriving in the evening", "07:15"),
        ("Flug am 3. Dezember um 08:15 Uhr mit Ankunft am Nachmittag", "08:15"),
        ("Tram on Friday at 9:40 because I work every afternoon", "09:40"),
        ("Tomorrow evening at 08:30 the report must be in", "08:30"),
        ("Tomorrow afternoon at 10: tea", "10:00"),
        ("Dinner ab 3.12. um 9 Uhr", "09:00"),
        ("Zahnarzt am Freitag um 9.15.", "09:15"),
        ("Dentist on Friday at 3", ""),
        ("Zahnarzt am Freitag um 3.15.", ""),
        ("Choir every Tuesday from 4 to 5:30", ""),
        ("The night train leaves on Friday at 03:15", "03:15"),
        ("Dentist on Friday at 3 UTC", ""),
    ],
)
def test_a_time_is_in_the_part_of_the_day_that_is_named_beside_it(fact: str, time: str) -> None:
    assert [occasion.time for occasion in occasions(fact, TOLD)][:1] == [time]


def test_what_comes_round_from_an_unknown_day_is_listed_each_time_and_says_so() -> None:
    for fact, rhythm in (
        ("Choir every other Thursday at 19:30", "every 2 weeks on Thursday"),
        ("Take the pill every other day at 8", "every 2 days"),
        ("The filter is changed every 3 months on the 1st", "on the 1st of every 3 months"),
        ("Müll jeden zweiten Freitag um 6 Uhr", "every 2 weeks on Friday"),
    ):
        (found,) = occasions(fact, TOLD)
        assert found.rhythm == f"{rhythm}, but it does not say from when"
        assert "INTERVAL" not in found.rule
        (known,) = occasions(f"{fact} from 2026-11-20", TOLD)
        assert (known.rhythm, known.start) == (rhythm, date(2026, 11, 20))


@pytest.mark.parametrize(
    "fact", ["The bin is emptied every 10 days", "Alle 3 Tage werden die Blumen gegossen"]
)
def test_days_that_nobody_can_tell_are_not_listed_daily(fact: str) -> None:
    assert occasions(fact, TOLD) == ()


@pytest.mark.parametrize(
    "fact", ["Zahnarzt am 04.12.26", "04.12.26 Zahnarzt", "Dec 4: dentist", "Dentist, 04.12.26"]
)
def test_a_day_is_read_as_notes_write_it(fact: str) -> None:
    assert [occasion.start for occasion in occasions(fact, TOLD)] == [date(2026, 12, 4)]


@pytest.mark.parametrize("fact", ["The train is at Dec 4:30", "Ubuntu 22.04.2 is on the server"])
def test_figures_that_are_no_day_are_read_as_none(fact: str) -> None:
    assert occasions(fact, TOLD) == ()


@pytest.mark.parametrize(
    ("fact", "anchor", "day", "since"),
    [
        ("Our son was born on 3 June 2019", TOLD, "2027-06-03", 2019),
        ("Unser Sohn wurde am 2019-06-03 geboren", None, "2027-06-03", 2019),
        ("Ana's birthday is on 3 June", None, "2027-06-03", 0),
        ("Married on 29 February 2020", TOLD, "2027-02-28", 2020),
        ("The boiler is serviced every year on 5 January", TOLD, "2027-01-05", 0),
        ("The leap club meets every year on 29 February", TOLD, "2027-02-28", 0),
    ],
)
def test_a_day_of_the_year_comes_round(fact: str, anchor: str | None, day: str, since: int) -> None:
    (found,) = occasions(fact, anchor)
    spans = list(found.within(date(2026, 11, 17), date(2027, 11, 16)))
    assert [start.isoformat() for start, *_ in spans] == [day]
    assert found.since == since


@pytest.mark.parametrize(
    "fact",
    [
        "The bus goes every 20 minutes",
        "every hour: look at the inbox",
        "Feed the sourdough every two hours between 9 and 18",
        "Alle 2 Stunden Tee nachgießen",
        "on 2026-11-24 at 09:00 remind me: call the bank",
    ],
)
def test_what_comes_round_within_a_day_is_no_day(fact: str) -> None:
    assert all(occasion.rule == "" for occasion in occasions(fact, "2026-11-24"))


def test_without_the_day_of_writing_only_whole_dates_count() -> None:
    assert occasions("Dentist tomorrow", None) == occasions("Lands on Friday", None) == ()
    assert len(occasions("Dentist on 2 December 2026", None)) == 1


@pytest.mark.parametrize(
    "fact",
    [
        "every 3 months from 2026-12-01: change the filter",
        "Change the filter every 3 months, from 2026-12-01",
        "Filter alle 3 Monate ab 2026-12-01 wechseln",
    ],
)
def test_what_comes_round_after_months_is_listed_each_time(fact: str) -> None:
    (found,) = occasions(fact, TOLD)
    days = [start.isoformat() for start, *_ in found.within(date(2026, 11, 17), date(2027, 7, 1))]
    assert days == ["2026-12-01", "2027-03-01", "2027-06-01"]
    assert found.rhythm == "every 3 months"


@pytest.mark.parametrize(
    "fact", ["Call Ana every Friday at 15:00 UTC", "Call Ana on 31 December 9999 at 23:30 UTC"]
)
def test_the_ends_of_the_calendar_raise_nothing(fact: str) -> None:
    (found,) = occasions(fact, TOLD)
    for first, last in ((date.min, date(1, 2, 1)), (date(9999, 12, 1), date.max)):
        assert all(first <= begin <= last for begin, _, _ in found.within(first, last))
