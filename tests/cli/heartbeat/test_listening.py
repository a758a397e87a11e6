"""The HTTP server of `listen`, in this process."""

import http.client
import threading

from assistant.heartbeat.incoming import Incoming
from assistant.heartbeat.listening import HOST, EventServer


def test_the_sender_of_a_large_refused_request_sees_why() -> None:
    taken: list[Incoming] = []
    with EventServer(0, "secret", lambda event, _: taken.append(event)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in range(5):
            sender = http.client.HTTPConnection(HOST, server.server_address[1], timeout=20)
            sender.request("POST", "/mail", b"x" * 990_000, {"Authorization": "Bearer guessed"})
            assert sender.getresponse().status == 401
            sender.close()
        server.shutdown()
    assert taken == []
