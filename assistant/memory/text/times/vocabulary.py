"""The words for dates in nine languages, as patterns; what one of them means is in `foreign.py`.

In a form, D, M, Y stand for a day, a month, a year, W for a weekday, U for a unit of time, N for a
number, T for a unit or a weekday. A word that only might be a date is in no form.
"""

from dataclasses import dataclass

DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a language. Months and weekdays are in their order, numbers from one up.

    `days` are so many days from today; `shifted` says of a unit or weekday that it is the last
    (-1), this (0) or the next (1); `weeks` and `spans` are whole words for that. `bare` is a
    weekday without any of these, such as one looks forward to. `telling` words are those by which
    the language is known; other texts are asked for full dates alone.
    """

    months: str
    weekdays: str
    units: dict[str, str]
    numbers: str
    days: dict[str, int]
    shifted: tuple[tuple[int, str], ...]
    ago: str
    bare: str
    full: str
    yearless: str
    month: str = ""
    year: str = ""
    any_month: str = ""
    weeks: tuple[tuple[int, str], ...] = ()
    spans: tuple[tuple[int, str, str], ...] = ()
    before: str = r"(?<!\w)"
    after: str = r"(?!\w)"
    telling: str = ""


_MORE = "(?<![一二三四五六七八九十百の])"
"""No part of a longer number."""
_NUMBERED_MONTHS = "0?1 0?2 0?3 0?4 0?5 0?6 0?7 0?8 0?9 10 11 12"

VOCABULARIES = {
    "german": Vocabulary(
        months="januar|jänner|jan februar|feb märz april|apr mai juni|jun juli|jul august|aug"
        " september|sept|sep oktober|okt november|nov dezember|dez",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        units={
            DAY: "tag(?:en|e)?",
            WEEK: "wochen?",
            MONTH: "monat(?:en|e|s)?",
            YEAR: "jahr(?:en|es|e|s)?",
        },
        numbers="ein(?:er|em|en|e)? zwei drei vier fünf sechs sieben acht neun zehn",
        days={
            "vorgestern": -2,
            "gestern": -1,
            "heute": 0,
            "übermorgen": 2,
            r"(?<!heute )(?<!gestern )(?<!guten )(?<!jeden )(?<!am )(?<!der )(?<!den )(?<!dem )"
            r"(?<!diesen )(?<!nächsten )(?<!letzten )(?-i:morgen)": 1,
        },
        shifted=(
            (-1, "(?:letzte|vergangene|vorige)[nrms]? (?!(?:wochen|monaten?|jahren?)\\b)T"),
            (0, "diese[nrms]? T"),
            (1, "(?:nächste|kommende)[nrms]? (?!(?:wochen|monaten?|jahren?)\\b)T"),
        ),
        ago="vor N U",
        bare="(?<!jede[nrms] )(?<!jede )(?<!immer )(?<!an )W"
        "(?:abend|nachmittag|vormittag|mittag|morgen|nacht|früh)?",
        full=r"D\.? ?M\.?,? Y",
        yearless=r"D\. ?M",
        month="M Y",
        year="im jahre? Y",
        any_month="(?:im|anfang|mitte|ende) M",
        telling="""januar jänner februar märz juni juli oktober dezember montag dienstag mittwoch
            donnerstag freitag samstag sonnabend sonntag gestern vorgestern heute übermorgen woche
            wochen monat monaten monats jahr jahren jahres tagen""",
    ),
    "spanish": Vocabulary(
        months="enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre"
        " noviembre diciembre",
        weekdays="lunes martes miércoles jueves viernes sábado domingo",
        units={DAY: "días?", WEEK: "semanas?", MONTH: "mes(?:es)?", YEAR: "años?"},
        numbers="una?|un dos tres cuatro cinco seis siete ocho nueve diez",
        days={
            "anteayer|antes de ayer": -2,
            "ayer": -1,
            "hoy": 0,
            "pasado mañana": 2,
            r"(?<!la )(?<!esta )(?<!cada )(?<!de )(?<!una )(?<!buena )mañana": 1,
        },
        shifted=(
            (-1, "T pasad[oa]"),
            (-1, "pasad[oa] T"),
            (0, "est[ea] T"),
            (1, "próxim[oa] T"),
            (1, "T (?:que viene|próxim[oa])"),
        ),
        ago="hace N U",
        bare="(?<!cada )(?<!los )W",
        full="D de M (?:de|del) Y",
        yearless="D de M",
        month="M (?:de|del) Y",
        year="(?:en|año|durante) Y",
        any_month="en M",
        telling="""enero febrero marzo abril mayo junio julio septiembre setiembre octubre noviembre
            diciembre miércoles jueves viernes sábado anteayer ayer mañana semana semanas meses año
            años días""",
    ),
    "french": Vocabulary(
        months="janvier février mars avril mai juin juillet août|aout septembre octobre novembre"
        " décembre",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        units={DAY: "jours?", WEEK: "semaines?", MONTH: "mois", YEAR: "ans?|années?"},
        numbers="une?|un deux trois quatre cinq six sept huit neuf dix",
        days={
            "avant-hier": -2,
            "(?<!avant-)hier": -1,
            "aujourd['’]hui": 0,
            "après-demain": 2,
            "(?<!après-)demain": 1,
        },
        shifted=(
            (-1, "T (?:derni(?:er|ère)|passée?)"),
            (0, "(?:ce|cet|cette) T"),
            (1, "T prochaine?"),
            (1, "prochaine? T"),
        ),
        ago="il y a N U",
        bare="(?<!chaque )(?<!les )W",
        full="D(?:er)? M,? Y",
        yearless="D(?:er)? M",
        month="M Y",
        year="(?:en|année|depuis) Y",
        any_month="en M",
        telling="""janvier février avril juin juillet août septembre octobre novembre décembre lundi
            mardi mercredi jeudi vendredi samedi dimanche aujourd semaine semaines mois année
            années""",
    ),
    "russian": Vocabulary(
        months="январ[ьяе] феврал[ьяе] марта?|марте апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе]"
        " августа?|августе сентябр[ьяе] октябр[ьяе] ноябр[ьяе] декабр[ьяе]",
        weekdays="понедельника?|понедельнике вторника?|вторнике сред[ауые] четверга?|четверге"
        " пятниц[ауые] суббот[ауые] воскресень[ея]",
        units={
            DAY: "день|дня|дней",
            WEEK: "недел[яюиье]|недель",
            MONTH: "месяц(?:а|ев|е)?",
            YEAR: "год[ау]?|лет",
        },
        numbers="один|одну два|две три четыре пять шесть семь восемь девять десять",
        days={"позавчера": -2, "вчера": -1, "сегодня": 0, "послезавтра": 2, "завтра": 1},
        shifted=(
            (-1, "прошл(?:ый|ая|ое|ую|ой|ого|ом) T"),
            (0, "эт(?:от|ого|ом|о|у) T"),
            (1, "(?:следующ|будущ)(?:ий|ая|ее|ую|ей|его|ем) T"),
        ),
        ago="(?:N )?U назад",
        bare="во? W",
        full="D M Y",
        yearless="D M",
        month="M Y",
        year="Y год[ау]?",
        any_month="в M",
        spans=((0, WEEK, "этой неделе"),),
    ),
    "arabic": Vocabulary(
        months="يناير فبراير مارس أبريل|ابريل|إبريل مايو يونيو|يونيه يوليو|يوليه أغسطس|اغسطس"
        " سبتمبر أكتوبر|اكتوبر نوفمبر ديسمبر",
        weekdays="ال[اإ]ثنين الثلاثاء ال[أا]ربعاء الخميس الجمعة السبت ال[أا]حد",
        units={
            DAY: "يوما|يوم|أيام|ايام|اليوم",
            WEEK: "ال[أا]سبوع|[أا]سبوع|[أا]سابيع",
            MONTH: "الشهر|شهر|[أا]شهر|شهور",
            YEAR: "العام|عام|السنة|سنة|سنوات|[أا]عوام",
        },
        numbers="واحد اثنين|اثنان ثلاثة? [أا]ربعة? خمسة? ستة? سبعة? ثماني(?:ة)? تسعة? عشرة?",
        days={
            "[أا]ول [أا]مس": -2,
            "(?<!أول )(?<!اول )[أا]مس": -1,
            "اليوم(?= *[؟?.،,]?$)|^اليوم": 0,
            "بعد غد|بعد غدا": 2,
            "(?<!بعد )غدا?ً?": 1,
        },
        shifted=((-1, "T الماضي(?:ة)?"), (0, "هذ[اه] T"), (1, "T (?:القادم|المقبل)ة?")),
        ago="(?:قبل|منذ) (?:N )?(?!ال)U(?! من)",
        bare="(?<!كل )يوم W",
        full="D M،? Y",
        yearless="D M",
        month="M Y",
        year="(?:عام|سنة|في) Y",
        before=r"(?<![\w\u064b-\u065f])",
        after=r"(?![\w\u064b-\u065f])",
    ),
    "hindi": Vocabulary(
        months="जनवरी फ़रवरी|फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्टूबर|अक्तूबर"
        " नवंबर|नवम्बर दिसंबर|दिसम्बर",
        weekdays="सोमवार मंगलवार बुधवार गुरुवार|बृहस्पतिवार शुक्रवार शनिवार रविवार|इतवार",
        units={
            DAY: "दिन|दिनों",
            WEEK: "हफ़्ते|हफ्ते|हफ़्ता|हफ्ता|सप्ताह",
            MONTH: "महीने|महीना|माह",
            YEAR: "साल|वर्ष",
        },
        numbers="एक दो तीन चार पाँच|पांच छह|छः सात आठ नौ दस",
        days={"आज": 0, "बीता कल|बीते कल": -1, "आने वाला कल|आने वाले कल": 1},
        shifted=((-1, "(?:पिछले|पिछली|पिछला|गत) T"), (0, "(?:इस) T"), (1, "(?:अगले|अगली|अगला) T")),
        ago="(?<!से )N U पहले",
        bare="(?<!हर )(?<!प्रत्येक )W",
        full="D M,? Y",
        yearless="D M",
        month="M Y",
        year="Y में",
        before=r"(?<![\w\u0900-\u097f])",
        after=r"(?![\w\u0900-\u097f])",
    ),
    "chinese": Vocabulary(
        months=_NUMBERED_MONTHS,
        weekdays="一(?![共直起些个個点定]) 二(?!十) 三(?![十次个個]) 四(?!十) 五(?!十) 六(?!十)"
        " 日(?![本元])|天(?![气氣天])",
        units={
            DAY: "天",
            WEEK: "(?:个|個)?(?:星期|礼拜|禮拜)|周|週",
            MONTH: "(?:个|個)月",
            YEAR: "年",
        },
        numbers="一 二|两|兩 三 四 五 六 七 八 九 十",
        days={
            "(?<![目以之提])前天(?![天气氣])": -2,
            "昨天|昨晚": -1,
            "今天": 0,
            "(?<![聪聰透文光])明天(?![才真])": 1,
            "(?<![以之最然随隨])[后後]天(?![天气氣性])": 2,
        },
        shifted=(),
        ago=_MORE + "N ?U(?:以|之)?前(?![天年半])",
        bare="(?<![每上下这這本个個])(?:周|週|星期|礼拜|禮拜)W",
        full="Y年M月D[日号號]",
        yearless="(?<!年)M月D[日号號]",
        month="Y年M月(?!\\d)",
        year="Y年(?![前来來多间間历歷以])",
        weeks=(
            (-1, "(?<![早晚])上(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?![末边邊围圍年岁歲期刊])(?:W)?"),
            (
                0,
                "(?:这|這|(?<!日)本)(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?![末边邊围圍年岁歲期刊])(?:W)?",
            ),
            (1, "下(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?![末边邊围圍年岁歲期刊])(?:W)?"),
        ),
        spans=(
            (-1, MONTH, "上(?:个|個)月"),
            (0, MONTH, "(?:这|這)(?:个|個)月"),
            (1, MONTH, "下(?:个|個)月"),
            (-1, YEAR, "(?<![过過])去年"),
            (0, YEAR, "今年"),
            (1, YEAR, "(?<![证證说說聪聰透])明年"),
        ),
        before=r"(?<!\d)",
        after="",
    ),
    "japanese": Vocabulary(
        months=_NUMBERED_MONTHS,
        weekdays="月曜 火曜 水曜 木曜 金曜 土曜 日曜",
        units={DAY: "日", WEEK: "週間", MONTH: "[かヶケカ]月", YEAR: "年"},
        numbers="一 二|两|兩 三 四 五 六 七 八 九 十",
        days={
            "一昨日|おととい": -2,
            "(?<!一)昨日|昨夜|きのう(?!え)": -1,
            "今日|(?<!日)本日": 0,
            "明後日|あさって": 2,
            "(?<![説証])明日": 1,
        },
        shifted=(),
        ago=_MORE + "N ?U前(?![半後日年回])",
        bare="(?<!毎週)W日?",
        full="Y年M月D日",
        yearless="(?<!年)M月D日",
        month="Y年M月(?!\\d)",
        year="Y年(?![前来來多间間历歷以])",
        weeks=(
            (-1, "先週(?!末)(?:の?W日?)?"),
            (0, "今週(?!末)(?:の?W日?)?"),
            (1, "来週(?!末)(?:の?W日?)?"),
        ),
        spans=(
            (-1, MONTH, "先月"),
            (0, MONTH, "今月"),
            (1, MONTH, "来月"),
            (-2, YEAR, "一昨年|おととし"),
            (-1, YEAR, "去年|昨年"),
            (0, YEAR, "今年"),
            (1, YEAR, "来年"),
        ),
        before=r"(?<!\d)",
        after="",
    ),
    "korean": Vocabulary(
        months=_NUMBERED_MONTHS,
        weekdays="월요일 화요일 수요일 목요일 금요일 토요일 일요일",
        units={DAY: "일", WEEK: "주일?", MONTH: "개월|달", YEAR: "년"},
        numbers="한 두 세 네 다섯 여섯 일곱 여덟 아홉 열",
        days={"그저께|그제(?![야서])": -2, "어제": -1, "오늘": 0, "모레": 2, "내일": 1},
        shifted=((-1, "지난 ?W"), (1, "다음 W")),
        ago="N ?U 전(?![체화문용자국쟁기통])",
        bare="(?<!매주 )(?<!매주)W",
        full="Y년 ?M월 ?D일",
        yearless="(?<!년)(?<!년 )M월 ?D일",
        month="Y년 ?M월(?! ?\\d)",
        year="Y년(?! ?전)",
        weeks=(
            (-1, "지난 ?주(?![말소문제인차장])(?: ?W)?"),
            (0, "이번 ?주(?![말소문제인차장])(?: ?W)?"),
            (1, "다음 ?주(?![말소문제인차장])(?: ?W)?"),
        ),
        spans=(
            (-1, MONTH, "지난 ?달(?![리걀력])"),
            (0, MONTH, "이번 ?달(?![리걀력])"),
            (1, MONTH, "다음 ?달(?![리걀력])"),
            (-2, YEAR, "재작년"),
            (-1, YEAR, "작년|지난해"),
            (0, YEAR, "올해"),
            (1, YEAR, "내년"),
        ),
        before=r"(?<![\d\uac00-\ud7af])",
        after="",
    ),
}
