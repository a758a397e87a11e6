"""Forms that say where a secret stands: addresses, command lines, files of credentials."""

import re

from assistant.secrets.detection.formats import Format
from assistant.secrets.detection.grades import Grade


def _context(
    kind: str,
    marks: str,
    pattern: str,
    *,
    back: int = 0,
    bar: Grade = Grade.NOTHING,
    after: str = "",
) -> Format:
    return Format(kind, tuple(marks.split("|")), pattern, back, bar, after)


def _flag(flags: str, commands: str, *, joined: bool = False) -> Format:
    """The value of a command's flag, behind a space or joined to it."""
    listed = flags.split("|")
    gap = "" if joined else r"[ =]"
    value = r"(?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\"|([^\s\"'`$-][^\s\"'`]{3,200}))"
    return _context(
        "password",
        "|".join(f" {each.lower()}" for each in listed),
        rf"[ ](?-i:{'|'.join(map(re.escape, listed))}){gap}{value}",
        bar=Grade.COMPOUND,
        after=rf"(?:^|[\s/|;&(])(?:{commands})(?:[ ]|$)",
    )


CONTEXTS = (
    _context(
        "url-password",
        "://",
        r"://[^\s/:@\"'<>]{0,120}:(?!(?:guest|root|admin|postgres|minioadmin)@)"
        r"([^\s/\"'<>]{5,300}?)@(?=[\w.\[{$-]{1,200}(?:[:/?#\s\"'`,;)>\]]|\Z))",
        bar=Grade.WORD,
    ),
    _context(
        "bundle-login",
        "bundle_",
        r"bundle_[a-z_]{3,60}[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?([\w-]{4,64}:[\w-]{4,64})",
    ),
    _context(
        "url-password",
        "://",
        r"://[^\s/:@\"'<>]{1,120}:(?!\d{1,5}/)([^\s\"'<>:@]{16,200})@(?=[\w.-]{1,200})",
        bar=Grade.MIXED,
    ),
    _context(
        "url-token",
        "://",
        r"://([\w.~%-]{20,300})(?::[\w-]{0,20})?@(?=[\w.-]{1,200})",
        bar=Grade.RANDOM,
    ),
    _context(
        "authorization",
        "authorization",
        r"authorization[\"'`\])]{0,3}[ \t]{0,3}[:=,][ \t]{0,3}\\{0,3}[\"'`]?[ \t]{0,3}"
        r"(?:[A-Z][\w-]{1,24}[ \t]{1,3}){0,2}(?:[a-z_]{0,12}token=)?\\{0,3}[\"']?/?"
        r"([\w+/=.~:%|-]{8,4000})",
        bar=Grade.MIXED,
    ),
    _context("bearer", "bearer ", r"bearer[ \t]{1,3}[\"']?([\w+/=.~-]{16,4000})", bar=Grade.RANDOM),
    _context(
        "saml-assertion", "samlresponse", r"samlresponse[\"']?\s?[=:]\s?[\"']?([\w+/%=-]{100,4000})"
    ),
    _context("digest", 'response="', r'response="([0-9a-f]{32,128})"'),
    _context("signature", "x-amz-signature=", r"x-amz-signature=([0-9a-f]{64})"),
    _context("azure-sas", "sig=", r"[?&;]sig=([\w%+/=-]{30,120})", back=1),
    _context(
        "azure-secret", "q~", r"(?<![\w~.-])([\w~.-]{3}\dQ~[\w~.-]{31,36})(?![\w~.-])", back=4
    ),
    _context(
        "telegram-token",
        "|".join(f"{digit}:a" for digit in range(10)),
        r"(?<=\d{7})\d:((?-i:A)[\w-]{34})(?![\w-])",
    ),
    _context(
        "mailchimp-key",
        "|".join(f"-us{digit}" for digit in range(1, 10)),
        r"(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)",
        back=32,
    ),
    _context("terraform-token", ".atlasv1.", r"(?<!\w)\w{14}\.atlasv1\.[\w=-]{50,90}", back=14),
    _context("maxmind-key", "_mmk", r"(?<!\w)\w{6}_\w{29}_mmk(?!\w)", back=36),
    _context(
        "password-hash",
        "$1$|$5$|$6$|$7$|$y$|$gy$|$2a$|$2b$|$2x$|$2y$|$apr1$|$argon2|$scrypt$|$pbkdf2|$p$b|$h$b|"
        "pbkdf2_sha|$sha1$|$bcrypt-sha",
        r"\$?[a-z0-9_-]{1,24}\$[\w./$=,+-]{16,400}",
    ),
    _context("password-hash", "sha}|md5}|crypt}", r"(?:sha|md5|crypt)\}([\w+/=$.]{16,200})"),
    _context(
        "password-hash",
        "grub.pbkdf2.",
        r"grub\.pbkdf2\.sha\d{3}\.\d{1,8}\.([0-9a-f]{32,256}\.[0-9a-f]{32,256})",
    ),
    _context(
        "totp-secret", "otpauth://", r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=([A-Z2-7=]{8,128})"
    ),
    _context("wifi-password", "wifi:", r"wifi:(?:[^;\n]{0,80};){0,4}?P:((?:[^;\\\n]|\\.){4,64});"),
    _context(
        "netrc-password",
        "machine |default login",
        r"(?:machine[ \t]{1,8}\S{1,100}|default)\s{1,20}login\s{1,8}\S{1,100}\s{1,20}"
        r"password\s{1,8}(\S{3,200})",
    ),
    _context(
        "putty-key",
        "private-lines:",
        r"private-lines: \d{1,3}\r?\n([\w+/=\r\n]{16,8000}?)(?=\r?\nPrivate-|\Z)",
    ),
    _context(
        "sasl-password", "]:587|]:465|]:25", r"\]:(?:587|465|25)[ \t]{1,8}[^\s:]{1,100}:(\S{6,100})"
    ),
    _context(
        "password",
        "identified ",
        r"identified (?:with \w{1,40} )?by (?:password )?['\"]([^'\"\n]{4,200})['\"]",
    ),
    _context(
        "password",
        "identify ",
        r"(?<=nickserv )identify (?:[\w-]{1,32} )?(\S{6,100})",
        bar=Grade.TAGGED,
    ),
    _context(
        "password", "securestring ", r"securestring[ ](?:-string )?[\"']([^\"'\n]{4,200})[\"']"
    ),
    _context(
        "password",
        "pass:",
        r"(?<=[\s/:=])pass:([^\s\"']{4,200})",
        bar=Grade.COMPOUND,
        after="openssl|cmdkey",
    ),
    _context(
        "password",
        "/p:",
        r"[ ]/p:[\"']?([^\s\"']{4,200})",
        back=1,
        bar=Grade.COMPOUND,
        after="rdp|runas",
    ),
    _context(
        "password",
        "net use",
        r"net use[^\n/]{0,8}:?[ ]\\\\\S{1,100}[ ]([^\s/\"'][^\s\"']{3,100})",
        bar=Grade.COMPOUND,
    ),
    _context(
        "password", "user ", r"user \S{1,64} (?:on |reset ){1,2}>([^\s\"']{6,200})", bar=Grade.TAGGED
    ),
    _context(
        "password",
        "createuser ",
        r"createuser \S{1,64} (?:md5|sha[\d-]{0,8}) [\"']?([^\s\"']{6,100})",
    ),
    _context(
        "url-password",
        "jdbc:oracle:",
        r"jdbc:oracle:\w{2,5}:[\w.$-]{1,64}/([^\s\"'/]{4,100}?)@(?=[\w/(])",
    ),
    _context("private-address", "/private-", r"/private-([0-9a-f]{32})(?=/)"),
    _context(
        "password",
        "net user ",
        r"net user (?!/)\S{1,64} ([^\s/\"'][^\s\"']{3,100})",
        bar=Grade.COMPOUND,
    ),
    _context(
        "password",
        "assword",
        r"assword[^\n]{0,24}[\s{]{1,8}send(?:line)?[ (]{1,3}(?:-- )?[\"']([^\"'\\\n$]{4,100})",
        bar=Grade.COMPOUND,
    ),
    _context(
        "password",
        "connect(|connection(|login(|mysqli(|pdo(|basicauth(|credential(|credentials(|auth(",
        r"[a-z]{3,11}\((?:[^()\"'\n]{0,60},[ ]?|[\"'][^\"'\n]{0,120}[\"'],[ ]?)?"
        r"[\"'][\w.@+-]{1,64}[\"'],\s{0,8}[\"']([^\"'\n]{6,100})[\"']",
        bar=Grade.TAGGED,
    ),
    _context(
        "key",
        "key: [|key\": [|key = [|key=[|key': [|key': b[|key[] = {|key = {|key={|secret: [|secret = [",
        r"[a-z\"'\[\]]{3,10}\s?[:=]\s?[\[{]\s{0,8}"
        r"((?:0x[0-9a-f]{2}|\d{1,3})(?:,\s{0,20}(?:0x[0-9a-f]{2}|\d{1,3})){15,63}),?\s{0,8}[\]}]",
    ),
    _context(
        "password", "chpasswd", r"chpasswd:\s{1,20}list:\s{0,4}\|?\s{1,20}[\w-]{1,32}:(\S{4,100})"
    ),
    _context(
        "password",
        "echo ",
        r"echo (?:-n )?[\"']?[\w-]{1,32}:([^\s\"'|]{4,100})[\"']?[ ]?\|[ ]?(?:sudo )?chpasswd",
    ),
    _context(
        "password",
        "echo ",
        r"echo (?:-n )?[\"']?([^\s\"'|]{6,100})[\"']?[ ]?\|"
        r"(?:[^|\n]{0,80}-stdin|[ ]?(?:sudo[ ])?(?:cryptsetup|passwd|kinit|vncpasswd|smbpasswd|sudo -S))",
        bar=Grade.COMPOUND,
    ),
    _context(
        "password",
        "htpasswd -",
        r"htpasswd -\w{0,4}b\w{0,4}[ ]\S{1,100}[ ]\S{1,64}[ ][\"']?([^\s\"']{4,100})",
    ),
    _context(
        "password",
        "rabbitmqctl ",
        r"rabbitmqctl (?:add_user|change_password) \S{1,64} [\"']?([^\s\"']{4,100})",
    ),
    _context(
        "password",
        "smbclient|smbget|rpcclient",
        r"[^\n]{0,120}?[ ]-U ?[\"']?[^\s%\"']{1,64}%([^\s\"']{4,100})",
    ),
    _context(
        "password",
        "password |secret |key ",
        r"(?:password|secret|key)[ ](?:[0578]|encrypted)[ ]([^\s\"']{6,200})",
        bar=Grade.COMPOUND,
    ),
    _context(
        "community", "snmp-server community ", r"snmp-server community (\S{4,64})", bar=Grade.TAGGED
    ),
    _context(
        "passphrase",
        "passphrase|diceware|phrase de passe",
        r"(?:passphrases?|diceware|phrase de passe)[^\n:=]{0,48}(?:[:=]| is| ist| est)[ \t]{1,4}"
        r"(?![^\n]{0,100}\b(?:the|and|for|from|with|not|see|ask|same|only|who|der|die|das|les|une)\b)"
        r"([a-z]{3,9}(?:[ -][a-z]{3,9}){3,9})(?=[ \t.,;\"'`*]{0,3}(?:[\r\n]|\Z))",
    ),
    _context(
        "login",
        "login|creds|credential|zugangsdaten|zugang|identifiants|credenciales|account",
        r"(?:logins?|creds?|credentials?|zugang(?:sdaten)?|identifiants|credenciales|account)"
        r"(?:[ ][^\s:=/|]{1,24}){0,3}?[ \t]{0,3}(?:\([^)\n]{1,30}\))?(?:[:=]|[ ]is)[ \t]{1,4}[\w.@+%-]{2,64}"
        r"(?:[ ]?/[ ]?|[ ]?\|[ ]?|:)([^\s\"'`]{6,100})",
        bar=Grade.TAGGED,
    ),
    _context(
        "backup-codes",
        "backup code|recovery code|scratch code|emergency code|backup-code|recovery-code",
        r"(?:backup|recovery|scratch|emergency)[ -]codes?[^\n:=]{0,30}[:=]\s{0,4}"
        r"((?=[^\n]{0,40}\d)[A-Z0-9]{4,12}(?:[-.][A-Z0-9]{4,12}){0,3}"
        r"(?:[,;]?\s{1,4}[A-Z0-9]{4,12}(?:-[A-Z0-9]{4,12}){0,3}){0,15})",
    ),
    _flag("-p", r"mysql\w*|mariadb[\w-]*|7za?|rar|unrar", joined=True),
    _flag(
        "-p",
        r"sshpass|mongo\w*|(?:docker|podman|buildah|nerdctl|registry|az|cf|oc|crane|skopeo) login",
    ),
    _flag("-p", r"sshpass", joined=True),
    _flag("-a", "redis-cli|valkey-cli"),
    _flag("-w|-y", r"ldap\w+|security [\w-]{4,40}"),
    _flag("-P", r"sqlcmd|bcp|ipmitool|zip|unzip|mosquitto_\w+|osql|isql"),
    _flag("-pw", "plink|pscp|psftp|putty"),
    _context(
        "passphrase",
        " -n ",
        r"[ ]-N[ ](?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\")",
        after="ssh-keygen",
    ),
    _context(
        "token",
        " -u| --user",
        r"[ ](?:-u|--user)[ =]?[\"']?([^\s:\"'$]{12,200}):[\"'\s]",
        bar=Grade.MIXED,
        after=r"(?:^|[\s/|;&(`])(?:curl|wget|https?|xh|aria2c)[ ]",
    ),
    _context(
        "password",
        " -u| --user| --proxy-user",
        r"[ ](?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{1,64}:([^\s\"'$][^\s\"']{2,200})",
        bar=Grade.COMPOUND,
        after=r"(?:^|[\s/|;&(`])(?:curl|wget|https?|xh|aria2c)[ ]",
    ),
)
