"""litellm, imported when it is first needed, and made silent, local and watched."""

import contextlib
import gc
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches its price map when imported
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # else a list of headers at the first call
    "LITELLM_MODE": "PRODUCTION",  # else it reads keys from any .env above it
}
LATE = ("litellm.proxy.openai_files_endpoints.common_utils", "openai.resources")
"""What litellm imports only at its first call: 0.6 s between Enter and the request."""


def warm_up() -> None:
    """Import ahead all that the first call will need. For a thread of its own."""
    preload()
    with _uncollected():
        for name in LATE:
            importlib.import_module(name)


def has_provider(model: str) -> bool:
    """Whether litellm would know whom to ask for a model of this name. Imports litellm."""
    litellm = preload()
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        return False
    return True


def preload() -> Any:
    """Import litellm (about 4 s) and set it up; returns the module."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with _uncollected():
        import litellm

    if litellm.client_session is None:
        _set_up(litellm)
    return litellm


def _set_up(litellm: Any) -> None:
    import httpx

    from assistant.model.provider.transport import WatchedTransport

    if "LITELLM_LOG" not in os.environ:
        logging.getLogger("LiteLLM").disabled = True
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")  # at odd answers
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # a long table repeats itself
    secure = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    transport = WatchedTransport(secure.get_ssl_configuration())
    litellm.sync_transport = transport
    litellm.client_session = httpx.Client(transport=transport)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python's collector from walking all that an import makes, again and again: it finds
    nothing to collect, and takes a fifth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
