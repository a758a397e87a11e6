"""Secrets as they stand on command lines and in what is typed into a console."""

import re

from assistant.secrets.detection.contexts import context
from assistant.secrets.detection.formats import Format
from assistant.secrets.detection.grades import Grade


def _flag(flags: str, commands: str, *, joined: bool = False) -> Format:
    """The value of a command's flag, behind a space or joined to it."""
    listed = flags.split("|")
    gap = "" if joined else r"[ =]"
    value = r"(?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\"|([^\s\"'`$-][^\s\"'`]{3,200}))"
    return context(
        "password",
        "|".join(f" {each.lower()}" for each in listed),
        rf"[ ](?-i:{'|'.join(map(re.escape, listed))}){gap}{value}",
        bar=Grade.COMPOUND,
        after=rf"(?<![\w.])(?:{commands})(?:[ ]|$)",
    )


COMMANDS = (
    context(
        "password",
        "identified ",
        r"identified (?:with \w{1,40} )?by (?:password )?['\"]([^'\"\n]{4,200})['\"]",
    ),
    context(
        "password",
        "identify ",
        r"(?<=nickserv )identify (?:[\w-]{1,32} )?(\S{6,100})",
        bar=Grade.TAGGED,
    ),
    context(
        "password", "securestring ", r"securestring[ ](?:-string )?[\"']([^\"'\n]{4,200})[\"']"
    ),
    context(
        "password",
        "pass:",
        r"(?<=[\s/:=])pass:([^\s\"']{4,200})",
        bar=Grade.COMPOUND,
        after="openssl|cmdkey",
    ),
    context(
        "password",
        "/p:",
        r"[ ]/p:[\"']?([^\s\"']{4,200})",
        back=1,
        bar=Grade.COMPOUND,
        after="rdp|runas",
    ),
    context(
        "password",
        "net use",
        r"net use[^\n/]{0,8}:?[ ]\\\\\S{1,100}[ ](?:/user:\S{1,64}[ ])?([^\s/\"'][^\s\"']{3,100})",
        bar=Grade.COMPOUND,
    ),
    context(
        "password",
        "user ",
        r"user \S{1,64} (?:on |reset ){1,2}>([^\s\"']{6,200})",
        bar=Grade.TAGGED,
    ),
    context(
        "password",
        "createuser ",
        r"createuser \S{1,64} (?:md5|sha[\d-]{0,8}) [\"']?([^\s\"']{6,100})",
    ),
    context(
        "password",
        "net user ",
        r"net user (?!/)\S{1,64} ([^\s/\"'][^\s\"']{3,100})",
        bar=Grade.TAGGED,
    ),
    context(
        "password",
        "assword",
        r"assword[^\n]{0,24}[\s{]{1,8}send(?:line)?[ (]{1,3}(?:-- )?[\"']([^\"'\\\n$]{4,100})",
        bar=Grade.COMPOUND,
    ),
    context(
        "password", "chpasswd", r"chpasswd:\s{1,20}list:\s{0,4}\|?\s{1,20}[\w-]{1,32}:(\S{4,100})"
    ),
    context(
        "password",
        "echo ",
        r"echo (?:-n )?[\"']?[\w-]{1,32}:([^\s\"'|]{4,100})[\"']?[ ]?\|[ ]?(?:sudo )?chpasswd",
    ),
    context(
        "password",
        "echo |printf ",
        r"(?:echo|printf) (?:-n )?[\"']?([^\s\"'|]{6,100})[\"']?[ ]?\|"
        r"(?:[^|\n]{0,80}-(?:stdin|with-token)"
        r"|[ ]?(?:sudo[ ])?(?:\w{4,8} secret create|cryptsetup|passwd|kinit|vncpasswd"
        r"|smbpasswd|sudo -S))",
        bar=Grade.COMPOUND,
    ),
    context(
        "password",
        "htpasswd -",
        r"htpasswd -\w{0,4}b\w{0,4}[ ]\S{1,100}[ ]\S{1,64}[ ][\"']?([^\s\"']{4,100})",
    ),
    context(
        "password",
        "rabbitmqctl ",
        r"rabbitmqctl (?:add_user|change_password) \S{1,64} [\"']?([^\s\"']{4,100})",
    ),
    context(
        "password",
        "smbclient|smbget|rpcclient",
        r"[^\n]{0,120}?[ ]-U ?[\"']?[^\s%\"']{1,64}%([^\s\"']{4,100})",
    ),
    context(
        "password",
        "password |secret |key ",
        r"(?:password|secret|key)[ ](?:[0578]|encrypted)[ ]([^\s\"']{6,200})",
        bar=Grade.COMPOUND,
    ),
    context(
        "community",
        "snmp-server community ",
        r"snmp-server community (\S{4,64})",
        bar=Grade.COMPOUND,
    ),
    _flag("-p", r"mysql\w*|mariadb[\w-]*|7za?|rar|unrar", joined=True),
    _flag(
        "-p",
        r"sshpass|mongo\w*|ncftp\w*"
        r"|(?:docker|podman|buildah|nerdctl|registry|az|cf|oc|crane|skopeo) login",
    ),
    _flag("-p", r"sshpass", joined=True),
    _flag("-k|-K", "openssl"),
    context(
        "password",
        "lftp ",
        r"lftp [^\n]{0,40}?-u [^\s,]{1,64},([^\s\"']{4,100})",
        bar=Grade.COMPOUND,
    ),
    context(
        "password",
        "wpa_passphrase ",
        r"wpa_passphrase [\"']?[^\n\"']{1,32}?[\"']? [\"']?([^\s\"']{8,63})",
        bar=Grade.TAGGED,
    ),
    context(
        "login",
        "auth plain |auth login ",
        r"auth (?:plain|login) ([\w+/]{8,400}={0,2})",
        bar=Grade.MIXED,
    ),
    _flag("-a", "redis-cli|valkey-cli"),
    _flag("-w|-y", r"ldap\w+|security [\w-]{4,40}"),
    _flag("-P", r"sqlcmd|bcp|ipmitool|zip|unzip|mosquitto_\w+|osql|isql"),
    _flag("-pw", "plink|pscp|psftp|putty"),
    context(
        "passphrase",
        " -n ",
        r"[ ]-N[ ](?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\")",
        after="ssh-keygen",
    ),
    context(
        "token",
        " -u| --user",
        r"[ ](?:-u|--user)[ =]?[\"']?([^\s:\"'$]{12,200}):[\"'\s]",
        bar=Grade.MIXED,
        after=r"(?<![\w.])(?:curl|wget|https?|xh|aria2c)[ ]",
    ),
    context(
        "password",
        " -u| --user| --proxy-user| -a| --auth",
        r"[ ](?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?"
        r"[^\s:\"'$]{1,64}:([^\s\"'$][^\s\"']{2,200})",
        bar=Grade.COMPOUND,
        after=r"(?<![\w.])(?:curl|wget|https?|xh|aria2c)[ ]",
    ),
)
