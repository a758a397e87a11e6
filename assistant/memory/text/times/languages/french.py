"""The French words for dates."""

from assistant.memory.text.times.languages.vocabulary import DAY, MONTH, WEEK, YEAR, Vocabulary

VOCABULARY = Vocabulary(
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
)
