"""Forms that say where a secret stands: addresses, headers, files of credentials, calls."""

from assistant.secrets.detection.formats import Format
from assistant.secrets.detection.grades import Grade


def context(
    kind: str,
    marks: str,
    pattern: str,
    *,
    back: int = 0,
    bar: Grade = Grade.NOTHING,
    after: str = "",
) -> Format:
    return Format(kind, tuple(marks.split("|")), pattern, back, bar, after)


_CODE = (
    r"(?:(?=[A-Z]{0,11}\d)[A-Z0-9]{4,12}|[A-Z0-9]{4,12}(?=[-.]))(?:[-.][A-Z0-9]{4,12}){0,3}"
    r"(?![A-Za-z0-9])"
)
"""A code has a digit in it, or a dash."""

CONTEXTS = (
    context(
        "url-password",
        "://",
        r"://[^\s/:@\"'<>]{0,120}:(?!(?:guest|root|admin|postgres|minioadmin)@)"
        r"([^\s/\"'<>]{5,300}?)@(?=[\w.\[{$-]{1,200}(?:[:/?#\s\"'`,;)>\]]|\Z))",
        bar=Grade.WORD,
    ),
    context(
        "url-password",
        "://",
        r"://[^\s/:@\"'<>]{1,120}:(?!\d{1,5}/)([^\s\"'<>:@]{16,200})@(?=[\w.-]{1,200})",
        bar=Grade.MIXED,
    ),
    context("wifi-password", "wifi:", r"wifi:(?:[^;\n]{0,80};){0,4}?P:((?:[^;\\\n]|\\.){4,64});"),
    context(
        "netrc-password",
        "machine |default login",
        r"(?:machine[ \t]{1,8}\S{1,100}|default)\s{1,20}login\s{1,8}\S{1,100}\s{1,20}"
        r"password\s{1,8}(\S{3,200})",
    ),
    context(
        "sasl-password", "]:587|]:465|]:25", r"\]:(?:587|465|25)[ \t]{1,8}[^\s:]{1,100}:(\S{6,100})"
    ),
    context(
        "url-password",
        "jdbc:oracle:",
        r"jdbc:oracle:\w{2,5}:[\w.$-]{1,64}/(?!tiger@)([^\s\"'/]{4,100}?)@(?=[\w/(])",
    ),
    context(
        "password",
        "connect(|connection(|login(|mysqli(|pdo(|basicauth(|credential(|credentials(|auth(|auth=(|wifi.begin(",
        r"[a-z.]{3,11}=?\((?:[^()\"'\n]{0,60},[ ]?|[\"'][^\"'\n]{0,120}[\"'],[ ]?)?"
        r"[\"'][\w.@+-]{1,64}[\"'],\s{0,8}[\"']([^\"'\n]{6,100})[\"']",
        bar=Grade.TAGGED,
    ),
    context(
        "bundle-login",
        "bundle_",
        r"bundle_[a-z_]{3,60}[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?([\w-]{4,64}:[\w-]{4,64})",
    ),
    context(
        "url-token",
        "://",
        r"://([\w.~%-]{20,300})(?::[\w-]{0,20})?@(?=[\w.-]{1,200})",
        bar=Grade.RANDOM,
    ),
    context(
        "authorization",
        "authorization",
        r"authorization[\"'`\])]{0,3}[ \t]{0,3}[:=,][ \t]{0,3}\\{0,3}[\"'`]?[ \t]{0,3}"
        r"(?:[A-Z][\w-]{1,24}[ \t]{1,3}){0,2}(?:[a-z_]{0,12}token=)?\\{0,3}[\"']?/?"
        r"([\w+/=.~:%|-]{8,4000})",
        bar=Grade.MIXED,
    ),
    context("bearer", "bearer ", r"bearer[ \t]{1,3}[\"']?([\w+/=.~-]{16,4000})", bar=Grade.RANDOM),
    context(
        "saml-assertion", "samlresponse", r"samlresponse[\"']?\s?[=:]\s?[\"']?([\w+/%=-]{100,4000})"
    ),
    context("digest", 'response="', r'response="([0-9a-f]{32,128})"'),
    context("signature", "x-amz-signature=", r"x-amz-signature=([0-9a-f]{64})"),
    context("azure-sas", "sig=", r"[?&;]sig=([\w%+/=-]{30,120})", back=1),
    context("azure-secret", "q~", r"(?<![\w~.-])([\w~.-]{3}\dQ~[\w~.-]{31,36})(?![\w~.-])", back=4),
    context(
        "telegram-token",
        "|".join(f"{digit}:a" for digit in range(10)),
        r"(?<=\d{7})\d:((?-i:A)[\w-]{34})(?![\w-])",
    ),
    context(
        "mailchimp-key",
        "|".join(f"-us{digit}" for digit in range(1, 10)),
        r"(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)",
        back=32,
    ),
    context("terraform-token", ".atlasv1.", r"(?<!\w)\w{14}\.atlasv1\.[\w=-]{50,90}", back=14),
    context("maxmind-key", "_mmk", r"(?<!\w)\w{6}_\w{29}_mmk(?!\w)", back=36),
    context(
        "password-hash",
        "$1$|$5$|$6$|$7$|$y$|$gy$|$2a$|$2b$|$2x$|$2y$|$apr1$|$argon2|$scrypt$|$pbkdf2|$p$b|$h$b|"
        "pbkdf2_sha|$sha1$|$bcrypt-sha",
        r"\$?[a-z0-9_-]{1,24}\$[\w./$=,+-]{16,400}",
    ),
    context("password-hash", "sha}|md5}|crypt}", r"(?:sha|md5|crypt)\}([\w+/=$.]{16,200})"),
    context(
        "password-hash",
        "grub.pbkdf2.",
        r"grub\.pbkdf2\.sha\d{3}\.\d{1,8}\.([0-9a-f]{32,256}\.[0-9a-f]{32,256})",
    ),
    context(
        "totp-secret", "otpauth://", r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=([A-Z2-7=]{8,128})"
    ),
    context(
        "putty-key",
        "private-lines:",
        r"private-lines: \d{1,3}\r?\n([\w+/=\r\n]{16,8000}?)(?=\r?\nPrivate-|\Z)",
    ),
    context("private-address", "/private-", r"/private-([0-9a-f]{32})(?=/)"),
    context(
        "key",
        "key: [|key\": [|key = [|key=[|key': [|key': b[|key[] = {|key = {|key={|secret: [|"
        "secret = [",
        r"[a-z\"'\[\]]{3,10}\s?[:=]\s?[\[{]\s{0,8}"
        r"((?:0x[0-9a-f]{2}|\d{1,3})(?:,\s{0,20}(?:0x[0-9a-f]{2}|\d{1,3})){15,63}),?\s{0,8}[\]}]",
    ),
    context(
        "passphrase",
        "passphrase|diceware|phrase de passe",
        r"(?:passphrases?|diceware|phrase de passe)[^\n:=]{0,48}(?:[:=]| is| ist| est)"
        r"[ \t]{1,4}[\"'`“„«]?"
        r"(?![^\n]{0,100}\b(?:the|and|for|from|with|not|see|ask|same|only|who|der|die|das|les|une)\b)"
        r"([a-z]{3,9}(?:[ -][a-z]{3,9}){3,9})(?=[ \t.,;\"'`*]{0,3}(?:[\r\n]|\Z))",
    ),
    context(
        "login",
        "login|creds|credential|zugangsdaten|zugang|identifiants|credenciales|account",
        r"(?:logins?|creds?|credentials?|zugang(?:sdaten)?|identifiants|credenciales|account)"
        r"(?:[ ][^\s:=/|]{1,24}){0,3}?[ \t]{0,3}(?:\([^)\n]{1,30}\))?(?:[:=]|[ ]is)"
        r"[ \t]{1,4}[\w.@+%-]{2,64}(?:[ ]?/[ ]?|[ ]?\|[ ]?|:(?!//))([^\s\"'`]{6,100})",
        bar=Grade.TAGGED,
    ),
    context(
        "backup-codes",
        "backup code|recovery code|scratch code|emergency code|backup-code|recovery-code",
        rf"(?:backup|recovery|scratch|emergency)[ -]codes?[^\n:=]{{0,30}}[:=]"
        rf"(?:[ \t]{{0,4}}|\s{{1,4}}(?=(?:{_CODE}[,; \t\r]{{0,3}}){{1,8}}(?:\n|\Z)))"
        rf"({_CODE}(?:[,;]?\s{{1,4}}{_CODE}){{0,15}})",
    ),
)
