"""The Korean words for dates."""

from assistant.memory.text.times.languages.vocabulary import (
    DAY,
    MONTH,
    NUMBERED_MONTHS,
    WEEK,
    YEAR,
    Vocabulary,
)

VOCABULARY = Vocabulary(
    months=NUMBERED_MONTHS,
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
)
