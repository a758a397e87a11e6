"""The times of day that facts name in ten languages: the right one, or none."""

import pytest

from assistant.memory.text.times.occasions import occasions

TOLD = "2026-11-17"
"""A Tuesday, on which the facts were written."""
UNDERSTOOD = """\
Dentist on Friday at nine = 2026-11-20 09:00
Tomorrow at eight thirty the parcel comes = 2026-11-18 08:30
Tonight at nine forty-five: the film = 2026-11-17 21:45
Call Bo tomorrow at two fifteen in the afternoon = 2026-11-18 14:15
On 10 December at eleven the notary = 2026-12-10 11:00
Dinner on 10 December at seven thirty pm = 2026-12-10 19:30
The bus leaves on Friday at 16:05 = 2026-11-20 16:05
Morgen um 14 Uhr Friseur = 2026-11-18 14:00
Morgen kommen die Handwerker = 2026-11-18
Morgen 7:15 Blutabnahme = 2026-11-18 07:15
Morgen, 10 Uhr: Werkstatt = 2026-11-18 10:00
Am Samstag mittags um eins Essen = 2026-11-21 13:00
Morgen Elternabend in der Schule = 2026-11-18
Morgen Zahnarzt, 9 Uhr = 2026-11-18 09:00
Das Auto ist kaputt. Morgen um 9 holt es die Werkstatt = 2026-11-18 09:00
Morgen Abend um sieben Chor = 2026-11-18 19:00
Elternsprechtag morgen 17:20 = 2026-11-18 17:20
Tierarzt morgen = 2026-11-18
Freitagabend um zehn Konzert = 2026-11-20 22:00
Am 10. Dezember um elf Notar = 2026-12-10 11:00
Am Freitag um neun und um elf Kurs = 2026-11-20 09:00
Am Freitag um neun dreißig Abnahme = 2026-11-20 09:30
Kino am 10. Dezember um halb neun abends = 2026-12-10 20:30
Mañana a las ocho de la tarde hay teatro = 2026-11-18 20:00
El viernes a las 6 y cuarto de la tarde, fisio = 2026-11-20 18:15
La cita es el 10 de diciembre a las once menos diez = 2026-12-10 10:50
El concierto es el viernes a las 10 por la noche = 2026-11-20 22:00
La cita es mañana a la una y media de la tarde = 2026-11-18 13:30
El tren sale el 3 de diciembre a las 17 horas = 2026-12-03 17:00
El desayuno es el viernes a las 9 y 20 de la mañana = 2026-11-20 09:20
La cena es el viernes a las 8 p. m. = 2026-11-20 20:00
El viernes 9:30 a. m. médico = 2026-11-20 09:30
El 10 de diciembre a mediodía comida = 2026-12-10 12:00
Hoy a las 20:15 ensayo = 2026-11-17 20:15
Demain à 14h30 coiffeur = 2026-11-18 14:30
Plombier demain 8h = 2026-11-18 08:00
Le concert est vendredi à 9 heures et demie du soir = 2026-11-20 21:30
Rendez-vous le 10 décembre à trois heures de l'après-midi = 2026-12-10 15:00
Le train part demain à 8 heures moins le quart = 2026-11-18 07:45
Réunion lundi 14 heures avec Paul = 2026-11-23 14:00
Le film est vendredi à 20 h 45 = 2026-11-20 20:45
Le dîner est ce soir vers huit heures = 2026-11-17 20:00
La visite est le 10 décembre à 7 heures 15 du matin = 2026-12-10 07:15
Demain à midi déjeuner = 2026-11-18 12:00
Réunion vendredi de 14 heures à 16 heures = 2026-11-20 14:00
завтра в 10 часов утра врач = 2026-11-18 10:00
10 декабря в полдень обед = 2026-12-10 12:00
В пятницу в семь вечера театр = 2026-11-20 19:00
10 декабря в 4 часа дня собрание = 2026-12-10 16:00
Поезд завтра в 15 часов 20 минут = 2026-11-18 15:20
завтра вечером в 8 часов кино = 2026-11-18 20:00
موعد الطبيب غدا الساعة 10 صباحا = 2026-11-18 10:00
العشاء غدا الساعة 8 مساءً = 2026-11-18 20:00
اجتماع يوم الجمعة الساعة الرابعة والنصف عصرا = 2026-11-20 16:30
اجتماع غدا في الساعة 3 بعد الظهر = 2026-11-18 15:00
المقابلة 10 ديسمبر الساعة 16:30 = 2026-12-10 16:30
القطار غدا الساعة ٧:١٥ صباحًا = 2026-11-18 07:15
12 दिसंबर को शाम 7 बजे खाना = 2026-12-12 19:00
शुक्रवार को सुबह 9:30 बजे डॉक्टर = 2026-11-20 09:30
12 दिसंबर को रात साढ़े आठ बजे फ़िल्म = 2026-12-12 20:30
शुक्रवार को 16 बजे बैठक = 2026-11-20 16:00
明天上午9点半看牙医 = 2026-11-18 09:30
后天晚上八点吃饭 = 2026-11-19 20:00
12月3日下午3点15分开会 = 2026-12-03 15:15
周五14点体检 = 2026-11-20 14:00
12月3日18:30聚餐 = 2026-12-03 18:30
明晚七点一刻看电影 = 2026-11-18 19:15
明天下午九点开会 = 2026-11-18 21:00
明日の朝9時に歯医者 = 2026-11-18 09:00
明後日午後2時半に会議 = 2026-11-19 14:30
12月3日19時30分 コンサート = 2026-12-03 19:30
金曜日の夜8時に夕食 = 2026-11-20 20:00
今夜8時に映画 = 2026-11-17 20:00
12月3日正午に昼食 = 2026-12-03 12:00
明日午前十一時に面接 = 2026-11-18 11:00
내일 오전 10시 치과 = 2026-11-18 10:00
모레 오후 2시 30분 회의 = 2026-11-19 14:30
12월 3일 16시 회의 = 2026-12-03 16:00
금요일 저녁 일곱 시 반에 식사 = 2026-11-20 19:30
12월 3일 오후 9시에 영화 = 2026-12-03 21:00
Cena il 2026-12-10 alle 20:30 = 2026-12-10 20:30
Jantar 2026-12-10 às 20:30 = 2026-12-10 20:30
"""
UNSURE = """\
The film is on Friday at 12 at night
Meet on Friday at one point of the coast
On Friday at nine hotels the rates rise
Die Frist wurde um zehn Tage auf den 10. Dezember verschoben
Am Freitag steigt der Preis um zwölf Prozent
Am Freitag um acht Uhr dreißig Zug
La cita es el viernes a las 9 menos algo de la noche
El viernes a las 12 de la noche hay baile
La excursión del viernes es de 8 horas
La réunion de vendredi dure 8 heures
La réunion de vendredi est une réunion de 2 heures
Le bal est vendredi à 12 heures du soir
В пятницу в 8 с половиной вечера театр
Le repas est vendredi à midi et demi
В пятницу дорога займет 8 часов
В пятницу в пять домов придет врач
اجتماع يوم الجمعة لمدة 3 ساعات
शुक्रवार को 9 घंटे काम
明天开8小时会
周五他有10点意见
周五晚上12点出发
明天下午3点二十分开会
明日は8時間働く
明日の試験で10点を取る
明日の午後4時間会議
내일 8시간 근무
내일 9시즌 시작
Cena il 2026-12-10 alle 8 e mezza di sera
Jantar 2026-12-10 às 8 e meia da noite
"""
NONE = """\
Guten Morgen, die Post war da
Guten Morgen um 9
Morgen, Lisa! Wie war es um 9 Uhr?
Am Morgen um 8 Uhr trinkt er Tee
Herr Morgen kommt um 9 Uhr
Frau Dr. Morgen ist um 10 Uhr im Haus
Prof. Morgen kommt um 10 Uhr
Morgen ist der Nachname meiner Vermieterin
Morgen heißt unser Nachbar
Morgen & Söhne liefert Heizöl
Morgen GmbH liefert das Heizöl
Morgen für Morgen um 7 läuft er
Die Nachbarn heißen Morgen
Unser Acker hat drei Morgen um das Haus
Morgens um 8 nimmt er eine Tablette
Morgen Harris lives in Cardiff
Ms Morgen wakes at nine
Goede morgen om 9:30
Hver morgen kl. 8:30 løper hun
Elke morgen om 8:30 loopt ze
Das Lied steht auf Seite 9:40
Chris Hoy raced at nine thirty
La panadería abre a las ocho de la mañana
Le matin à 8 heures il boit du thé
По утрам в 8 часов он пьет чай
他早上8点喝茶
彼は朝8時に起きる
그는 아침 8시에 일어난다
يستيقظ الساعة 7 صباحا
वह सुबह 8 बजे चाय पीता है
"""


@pytest.mark.parametrize("line", UNDERSTOOD.splitlines())
def test_a_time_is_read_as_it_is_said(line: str) -> None:
    fact, due = line.split(" = ")
    found = [f"{each.start} {each.time}".strip() for each in occasions(fact, TOLD)]
    assert found == [due]


@pytest.mark.parametrize("fact", UNSURE.splitlines())
def test_a_time_that_is_not_understood_in_full_is_none(fact: str) -> None:
    found = occasions(fact, TOLD)
    assert found and {each.time for each in found} == {""}


@pytest.mark.parametrize("fact", NONE.splitlines())
def test_a_time_without_a_day_is_nothing_to_come(fact: str) -> None:
    assert occasions(fact, TOLD) == ()
