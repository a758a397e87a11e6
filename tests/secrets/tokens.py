"""Fifty kinds of tokens, made up in their providers' formats."""

import base64
import json
import random
import string

HEX = "0123456789abcdef"
WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"


def tokens(seed: int) -> dict[str, str]:
    """One made-up token of each kind, in its provider's format."""
    dice = random.Random(seed)

    def some(count: int, letters: str = WORD) -> str:
        return "".join(dice.choice(letters) for _ in range(count - 1)) + "7"

    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    pem = "\n".join(some(64) for _ in range(6))
    return {
        "Anthropic": f"sk-ant-api03-{some(93)}",
        "OpenAI": f"sk-{some(48)}",
        "OpenAI project": f"sk-proj-{some(120)}",
        "OpenRouter": f"sk-or-v1-{some(64, HEX)}",
        "Groq": f"gsk_{some(52)}",
        "xAI": f"xai-{some(80)}",
        "Hugging Face": f"hf_{some(34)}",
        "Replicate": f"r8_{some(37)}",
        "GitHub": f"ghp_{some(36)}",
        "GitHub server": f"ghs_{some(36)}",
        "GitHub fine-grained": f"github_pat_{some(22)}_{some(59)}",
        "GitLab": f"glpat-{some(20)}",
        "Atlassian": f"ATATT3xFfGF0{some(180)}",
        "Slack bot": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
        "Slack app": f"xapp-1-A{some(10)}-{some(13, string.digits)}-{some(64, HEX)}",
        "Slack webhook": f"https://hooks.slack.com/services/T{some(8)}/B{some(8)}/{some(24)}",
        "Discord bot": f"M{some(25)}.{some(6)}.{some(38)}",
        "Discord webhook": f"https://discord.com/api/webhooks/{some(18, string.digits)}/{some(68)}",
        "Telegram": f"{some(9, string.digits)}:A{some(34)}",
        "AWS access key": f"AKIA{some(16, UPPER)}",
        "AWS secret key": f"aws_secret_access_key = {some(40, WORD + '+/')}",
        "Google API": f"AIza{some(35)}",
        "Google OAuth": f"GOCSPX-{some(28)}",
        "Azure storage": f"DefaultEndpointsProtocol=https;AccountKey={some(86, WORD + '+/')}==",
        "Stripe": f"sk_live_{some(24)}",
        "Stripe restricted": f"rk_test_{some(99)}",
        "Twilio": f"SK{some(32, HEX)}",
        "SendGrid": f"SG.{some(22)}.{some(43)}",
        "Mailgun": f"key-{some(32, HEX)}",
        "Mailchimp": f"{some(32, HEX)}-us12",
        "npm": f"npm_{some(36)}",
        "PyPI": f"pypi-AgEIcHlwaS5vcmc{some(130)}",
        "Docker": f"dckr_pat_{some(27)}",
        "DigitalOcean": f"dop_v1_{some(64, HEX)}",
        "Shopify": f"shpat_{some(32, HEX)}",
        "Databricks": f"dapi{some(32, HEX)}",
        "New Relic": f"NRAK-{some(27, string.ascii_uppercase + string.digits)}",
        "Linear": f"lin_api_{some(40)}",
        "Notion": f"ntn_{some(46)}",
        "Grafana": f"glsa_{some(32)}_{some(8, HEX)}",
        "Vault": f"hvs.{some(90)}",
        "age": f"AGE-SECRET-KEY-1{some(58, string.ascii_uppercase + string.digits)}",
        "JWT": f"{encoded({'alg': 'HS256'})}.{encoded({'sub': some(10)})}.{some(43)}",
        "RSA key": f"-----BEGIN RSA PRIVATE KEY-----\n{pem}\n-----END RSA PRIVATE KEY-----",
        "SSH key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{pem}\n-----END OPENSSH PRIVATE KEY-----",
        "database URL": f"postgres://app:{some(20)}@db.example.com:5432/app",
        "bearer": f"Authorization: Bearer {some(40)}",
        "basic": f"Authorization: Basic {some(32)}==",
        "assigned password": f'DB_PASSWORD="{some(18)}"',
        "assigned words": "export APP_SECRET=correct-horse-battery-staple-xxxxxxxx",
        "assigned key": f"api_key: {some(32, HEX)}",
    }


def core(token: str) -> str:
    """The part of a token that is nobody's business, which is its end."""
    lines = token.split("\n")
    text = lines[1] if len(lines) > 1 else token.partition("@")[0].rstrip('"=')
    return text[-14:]
