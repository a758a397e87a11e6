"""The Japanese words for dates."""

from assistant.memory.text.times.languages.vocabulary import (
    DAY,
    MONTH,
    NO_LONGER_NUMBER,
    NUMBERED_MONTHS,
    WEEK,
    YEAR,
    Vocabulary,
)

VOCABULARY = Vocabulary(
    months=NUMBERED_MONTHS,
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
    ago=NO_LONGER_NUMBER + "N ?U前(?![半後日年回])",
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
)
