"""The languages whose words for dates are known, beside English."""

from assistant.memory.text.times.languages import (
    arabic,
    chinese,
    french,
    german,
    hindi,
    japanese,
    korean,
    russian,
    spanish,
)

VOCABULARIES = {
    "german": german.VOCABULARY,
    "spanish": spanish.VOCABULARY,
    "french": french.VOCABULARY,
    "russian": russian.VOCABULARY,
    "arabic": arabic.VOCABULARY,
    "hindi": hindi.VOCABULARY,
    "chinese": chinese.VOCABULARY,
    "japanese": japanese.VOCABULARY,
    "korean": korean.VOCABULARY,
}
