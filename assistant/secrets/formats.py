"""Tokens that are known by their format alone.

The formats are our own table: detect-secrets, the library for it, scans files for a report and
does not rewrite text, and its entropy rules strike the hashes and identifiers that ordinary work
is full of.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of token. Group 1 of `pattern`, if any, is the secret.

    Text without the `mark`, or in which `hint` finds nothing, is not searched: it is quick.
    """

    name: str
    mark: str
    pattern: re.Pattern[str]
    hint: re.Pattern[str] | None = None

    def may_be_in(self, text: str) -> bool:
        """Whether it is worth a search."""
        return self.mark in text and (self.hint is None or self.hint.search(text) is not None)


_WORD = r"[\w-]"
_LETTERS = r"[A-Za-z0-9]"


def _format(name: str, mark: str, rest: str, *, inside: str = _LETTERS) -> Format:
    """A token of `mark`, then `rest`, and no `inside` before it.

    What comes before is looked at after the mark: a pattern that starts with letters is searched
    for ten times as fast.
    """
    mark_itself = re.escape(mark)
    return Format(name, mark, re.compile(f"{mark_itself}(?<!{inside}{mark_itself}){rest}"))


_HEX = r"[0-9a-f]"
FORMATS = (
    _format("anthropic-key", "sk-ant-", _WORD + "{20,}"),
    _format("openai-key", "sk-", r"(?!ant-)(?:[a-z]+\d?-)*(?=[\w-]*\d)[\w-]{20,}"),
    _format("groq-key", "gsk_", _LETTERS + "{40,}"),
    _format("xai-key", "xai-", _LETTERS + "{40,}"),
    _format("perplexity-key", "pplx-", _LETTERS + "{40,}"),
    _format("replicate-token", "r8_", _LETTERS + "{30,}"),
    _format("huggingface-token", "hf_", _LETTERS + "{30,}"),
    _format("github-token", "gh", r"[pousr]_[A-Za-z0-9]{30,}", inside=r"\w"),
    _format("github-pat", "github_pat_", r"\w{22,}"),
    _format("gitlab-token", "gl", r"(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w.-]{20,}", inside=r"\w"),
    _format("bitbucket-token", "ATBB", _LETTERS + "{28,}"),
    _format("atlassian-token", "ATATT3", r"[\w=-]{50,}"),
    _format("slack-token", "xox", r"[abeoprs](?:\.xox[bp])?-[\w-]{10,}", inside=r"\w"),
    _format("slack-app-token", "xapp-", r"\d-[\w-]{20,}"),
    _format("slack-webhook", "hooks.slack.com/", r"(?:services|workflows)/([\w/]{20,})"),
    Format(
        "discord-webhook",
        "/api/webhooks/",
        re.compile(r"discord(?:app)?\.com/api/webhooks/(\d+/[\w-]{40,})"),
    ),
    Format(
        "discord-token",
        ".",
        re.compile(r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}(?!\w)"),
        hint=re.compile(r"\.[\w-]{6}\.[\w-]{27}"),
    ),
    Format(
        "telegram-token",
        ":",
        re.compile(r"(?<![\w.])\d{8,10}:[A-Za-z][\w-]{34}(?![\w-])"),
        hint=re.compile(r":[A-Za-z][\w-]{34}"),
    ),
    _format("aws-access-key", "A", r"(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?!\w)", inside=r"\w"),
    _format("google-api-key", "AIza", _WORD + "{35}"),
    _format("google-oauth-secret", "GOCSPX-", _WORD + "{20,}"),
    _format("google-oauth-token", "ya29.", r"[\w.-]{20,}"),
    _format("google-refresh-token", "1//0", _WORD + "{30,}"),
    Format(
        "azure-storage-key", "AccountKey=", re.compile(r"AccountKey=([A-Za-z0-9+/]{60,}={0,2})")
    ),
    Format("stripe-key", "k_", re.compile(r"[rsp]k_(?<!\w\wk_)(?:live|test)_[A-Za-z0-9]{16,}")),
    _format("webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{20,}"),
    _format("twilio-key", "SK", _HEX + r"{32}(?!\w)", inside=r"\w"),
    _format("sendgrid-key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _format("mailgun-key", "key-", _HEX + r"{32}(?!\w)"),
    Format("mailchimp-key", "-us", re.compile(r"(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)")),
    _format("npm-token", "npm_", _LETTERS + "{36}"),
    _format("pypi-token", "pypi-", _WORD + "{50,}"),
    _format("rubygems-key", "rubygems_", _HEX + "{40,}"),
    _format("docker-token", "dckr_pat_", _WORD + "{20,}"),
    Format("digitalocean-token", "_v1_", re.compile(r"(?<!\w)do[opr]_v1_[0-9a-f]{64}")),
    _format("shopify-token", "shp", r"(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}", inside=r"\w"),
    _format("square-token", "sq0", r"(?:atp|csp|idp)-[\w-]{22,}", inside=r"\w"),
    _format("databricks-token", "dapi", _HEX + r"{32}(?:-\d)?(?!\w)"),
    _format("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    _format("linear-key", "lin_api_", _LETTERS + "{32,}"),
    _format("notion-token", "ntn_", _LETTERS + "{40,}"),
    _format("notion-secret", "secret_", _LETTERS + r"{43}(?!\w)"),
    _format("postman-key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _format("grafana-token", "glsa_", r"\w{32,}"),
    _format("doppler-token", "dp.", r"(?:pt|st|ct|sa)\.[\w.-]{40,}"),
    _format("vault-token", "hv", r"[sbr]\.[\w-]{24,}", inside=r"\w"),
    Format(
        "terraform-token",
        ".atlasv1.",
        re.compile(r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    ),
    _format("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{50,}"),
    _format("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _format("figma-token", "figd_", _WORD + "{30,}"),
    _format("supabase-token", "sbp_", _HEX + "{40}"),
    _format("pulumi-token", "pul-", _HEX + r"{40}(?!\w)"),
    _format("tailscale-key", "tskey-", _WORD + "{16,}"),
    _format("sentry-token", "sntrys_", r"[\w+/=.-]{30,}"),
    _format("jwt", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    Format(
        "private-key",
        "PRIVATE KEY",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[\w+/=\s\\,:.()-]{40,}?"
            r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{64,})"
        ),
    ),
    Format("url-password", "://", re.compile(r"://[^\s/:@]*:([^\s/:@\[\]]{3,})@[\w.-]")),
    Format(
        "authorization",
        "uthorization",
        re.compile(r"uthorization[\"']?\s*[:=]\s*[\"']?(?:Bearer|Basic|Token)\s+([\w+/=.~-]{8,})"),
    ),
    Format(
        "assigned-variable",
        "=",
        re.compile(
            r"(?<![\w\[])(?:[A-Z][A-Z0-9_]*_)?(?:\w*PASSWORD|PASSWD|SECRET|TOKEN|\w*KEY)="
            r"[\"']?([^\s\"'$<>(){}\[\];,]{8,})"
        ),
    ),
    Format(
        "assigned-secret",
        "",
        re.compile(
            r"(?i)(?<!\[)(?:api_?-?key|access_?-?key|secret|token|passw(?:or)?d|passphrase)"
            r"[\"']?\s*(?:=|:|=>)\s*[\"']?"
            r"((?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[A-Za-z0-9+/_.~!@#%^&*=-]{10,})"
        ),
        hint=re.compile(r"[=:>]\s*[\"']?(?=[^\s\"']*[0-9])[A-Za-z0-9+/_.~!@#%^&*=-]{10}"),
    ),
)
