"""The Hindi words for dates."""

from assistant.memory.text.times.languages.vocabulary import DAY, MONTH, WEEK, YEAR, Vocabulary

VOCABULARY = Vocabulary(
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
)
