"""The Chinese words for dates."""

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
    ago=NO_LONGER_NUMBER + "N ?U(?:以|之)?前(?![天年半])",
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
)
