"""Tokens that are known by their own form, whatever stands around them.

The forms are the providers' own, as their documentation and the rules of gitleaks tell them; the
table is ours because detect-secrets, the library for it, scans files for a report and does not
rewrite text.
"""

import re

from assistant.secrets.detection.formats import Format

_A = "[A-Za-z0-9]"
_W = r"[\w-]"
_HEX = "[0-9a-f]"
_B64 = "[A-Za-z0-9+/]"


def _token(kind: str, marks: str, rest: str, *, inside: str = r"\w") -> Format:
    """A token that begins with one of the marks, with no `inside` before it."""
    listed = marks.split(" ")
    start = "|".join(map(re.escape, listed))
    pattern = f"(?<!{inside})(?:{start}){rest}"
    return Format(kind, tuple(each.lower() for each in listed), pattern, is_token=True)


TOKENS = (
    _token("anthropic-key", "sk-ant-", rf"{_W}{{20,200}}", inside=_A),
    _token(
        "openai-key",
        "sk-",
        rf"(?:[a-z]{{2,8}}\d?-){{0,3}}(?=[A-Za-z_]{{0,80}}\d)(?:{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}|"
        rf"(?![a-z]+-){_A}{{2}}{_A}{{18,}}{_W}{{0,200}}|{_W}{{60,200}})",
        inside=_A,
    ),
    _token("groq-key", "gsk_", rf"{_A}{{40,80}}"),
    _token("xai-key", "xai-", rf"{_A}{{40,100}}"),
    _token("perplexity-key", "pplx-", rf"{_A}{{40,80}}"),
    _token("replicate-token", "r8_", rf"{_A}{{30,60}}"),
    _token("huggingface-token", "hf_ api_org_", rf"{_A}{{30,60}}"),
    _token("langsmith-key", "lsv2_pt_ lsv2_sk_", r"\w{32,60}"),
    _token("pinecone-key", "pcsk_", r"\w{50,100}"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_A}{{30,255}}"),
    _token("github-pat", "github_pat_", r"\w{22,100}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-",
        r"[\w.-]{20,320}",
    ),
    _token("gitlab-runner", "GR1348941", rf"{_W}{{20}}"),
    _token("bitbucket-token", "ATBB", rf"{_A}{{28,60}}"),
    _token("atlassian-token", "ATATT3 ATCTT3", r"[\w=-]{50,300}"),
    _token(
        "slack-token", "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxe- xoxc- xoxd-", r"[\w%-]{10,250}"
    ),
    _token("slack-token", "xoxe.xoxb- xoxe.xoxp-", rf"{_W}{{10,250}}"),
    _token("slack-app-token", "xapp-", rf"\d-{_W}{{20,120}}"),
    _token("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/([\w/]{20,90})"),
    _token("discord-webhook", "/api/webhooks/", rf"(\d{{16,20}}/{_W}{{40,90}})", inside="[ ]"),
    _token("teams-webhook", "webhook.office.com/", r"webhookb2/([\w@/-]{60,300})", inside="[ ]"),
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?!\w)"),
    _token("aws-bedrock-key", "ABSK", rf"{_B64}{{100,280}}={{0,2}}"),
    _token("google-api-key", "AIza", rf"{_W}{{35}}", inside=_A),
    _token("google-oauth-secret", "GOCSPX-", rf"{_W}{{20,60}}"),
    _token("google-oauth-token", "ya29.", r"[\w.-]{20,1100}"),
    _token("google-refresh-token", "1//0", rf"{_W}{{30,200}}", inside=r"[\w/]"),
    _token("firebase-key", "APA91b", rf"{_W}{{100,200}}"),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_", rf"{_A}{{10,200}}"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{20,90}"),
    _token("twilio-key", "SK", rf"{_HEX}{{32}}(?!\w)"),
    _token("sendgrid-key", "SG.", rf"{_W}{{16,30}}\.{_W}{{16,60}}"),
    _token("mailgun-key", "key- pubkey-", rf"{_HEX}{{32}}(?!\w)"),
    _token("brevo-key", "xkeysib- xsmtpsib-", rf"{_HEX}{{64}}-{_A}{{16}}"),
    _token("resend-key", "re_", rf"{_A}{{8}}_{_A}{{20,30}}(?!\w)"),
    _token("npm-token", "npm_", rf"{_A}{{36}}"),
    _token("pypi-token", "pypi-", rf"{_W}{{50,1000}}"),
    _token("rubygems-key", "rubygems_", rf"{_HEX}{{40,60}}"),
    _token("crates-token", "cio", rf"{_A}{{32}}(?!\w)"),
    _token("docker-token", "dckr_pat_ dckr_oat_", rf"{_W}{{20,60}}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64}}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[0-9A-Fa-f]{32}"),
    _token("square-token", "sq0atp- sq0csp- sq0idp-", rf"{_W}{{22,60}}"),
    _token("square-token", "EAAAE EAAAl", rf"{_W}{{55,65}}(?!\w)"),
    _token("facebook-token", "EAA", rf"{_A}{{80,300}}"),
    _token("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-\d)?(?!\w)"),
    _token("newrelic-key", "NRAK- NRII- NRJS- NRAA-", r"[\w-]{19,40}"),
    _token("posthog-key", "phx_ phs_", rf"{_A}{{32,60}}"),
    _token("nvidia-key", "nvapi-", rf"{_W}{{40,90}}"),
    _token("tavily-key", "tvly-", rf"{_W}{{28,60}}"),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", r"\w{40,100}"),
    _token("buildkite-token", "bkua_ bkct_", rf"{_HEX}{{40}}"),
    _token("cloudflare-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{100,200}}"),
    _token("linear-key", "lin_api_ lin_oauth_", rf"{_A}{{32,70}}"),
    _token("notion-token", "ntn_", rf"{_A}{{40,60}}"),
    _token("notion-secret", "secret_", rf"{_A}{{43}}(?!\w)"),
    _token("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _token("grafana-token", "glsa_ glc_", r"[\w+/=]{32,400}"),
    _token("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{40,60}"),
    _token("vault-token", "hvs. hvb. hvr.", rf"{_W}{{24,300}}"),
    _token("dynatrace-token", "dt0c01. dt0s01. dt0s02.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("age-key", "AGE-SECRET-KEY-1", "[0-9A-Za-z]{50,60}"),
    _token("nostr-key", "nsec1", "[02-9ac-hj-np-z]{58}(?!\\w)"),
    _token("airtable-token", "pat", rf"{_A}{{14}}\.{_HEX}{{64}}"),
    _token("figma-token", "figd_ figo_ figu_", rf"{_W}{{30,60}}"),
    _token("supabase-token", "sbp_ sb_secret_", rf"{_W}{{30,60}}"),
    _token("pulumi-token", "pul-", rf"{_HEX}{{40}}(?!\w)"),
    _token("tailscale-key", "tskey-", rf"{_W}{{16,80}}"),
    _token("sentry-token", "sntrys_ sntryu_", r"[\w+/=.-]{30,400}"),
    _token("heroku-key", "HRKU-", rf"{_W}{{30,80}}"),
    _token("fly-token", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=-]{40,800}"),
    _token("netlify-token", "nfp_ nfo_ nfu_ nfc_", rf"{_A}{{36,60}}"),
    _token("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{30,70}"),
    _token("sonar-token", "sqp_ squ_ sqa_", rf"{_HEX}{{40}}"),
    _token("sourcegraph-token", "sgp_", r"\w{40,64}"),
    _token("openshift-token", "sha256~", rf"{_W}{{43}}(?!\w)"),
    _token("artifactory-key", "AKCp", rf"{_A}{{60,80}}"),
    _token("artifactory-token", "cmVmd", rf"{_A}{{59}}(?!\w)"),
    _token("alibaba-key", "LTAI", rf"{_A}{{16,24}}(?!\w)"),
    _token("easypost-key", "EZAK EZTK", rf"{_A}{{54}}"),
    _token("dropbox-token", "sl.", rf"(?:u\.)?{_W}{{100,1200}}"),
    _token("readme-key", "rdme_", "[a-z0-9]{70}"),
    _token("prefect-key", "pnu_ pnb_", rf"{_A}{{36}}"),
    _token("typeform-token", "tfp_", r"[\w.=-]{40,80}"),
    _token("adobe-secret", "p8e- p8-", rf"{_A}{{32}}(?!\w)"),
    _token("duffel-token", "duffel_test_ duffel_live_", r"[\w=-]{43}"),
    _token("shippo-token", "shippo_live_ shippo_test_", rf"{_HEX}{{40}}"),
    _token("flutterwave-key", "FLWSECK", r"[\w-]{12,50}"),
    _token("infracost-key", "ico-", rf"{_A}{{32}}(?!\w)"),
    _token("octopus-key", "API-", "[A-Z0-9]{26}(?!\\w)"),
    _token("matrix-token", "syt_", r"\w{20,80}"),
    _token("1password-key", "A3-", r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){3,6}"),
    _token("1password-token", "ops_eyJ", r"[\w+/=-]{100,2000}"),
    _token("extended-key", "xprv yprv zprv tprv", r"[1-9A-HJ-NP-Za-km-z]{90,120}"),
    _token("mapbox-token", "sk.eyJ", rf"{_W}{{20,200}}\.{_W}{{20,60}}"),
    _token("intra42-secret", "s-s4t2ud- s-s4t2af-", rf"{_HEX}{{64}}"),
    _token("jwt", "ZXlKaGJHY2lPaU ZXlKMGVYQWlPa ZXlKcmFXUWlPa", r"[\w+/=-]{40,4000}"),
    _token(
        "jwt", "eyJ", rf"{_W}{{8,4000}}\.eyJ{_W}{{8,8000}}(?:\.{_W}{{8,2000}})?", inside=r"[\w-]"
    ),
)
