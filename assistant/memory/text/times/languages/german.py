"""The German words for dates."""

from assistant.memory.text.times.languages.vocabulary import DAY, MONTH, WEEK, YEAR, Vocabulary

VOCABULARY = Vocabulary(
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
)
