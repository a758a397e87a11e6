"""The Spanish words for dates."""

from assistant.memory.text.times.languages.vocabulary import DAY, MONTH, WEEK, YEAR, Vocabulary

VOCABULARY = Vocabulary(
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
)
