"""Servers outside of the machine, in the process of the test.

with outside.echo() as port:
    machine.run(f"… {OUTSIDE} {port}")
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(1 << 16):
            self.request.sendall(data)


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def echo() -> AbstractContextManager[int]:
    """Run a TCP server that sends everything back; yields its port."""
    return _serving(_Server(("127.0.0.1", 0), _Echo))


def sink() -> AbstractContextManager[int]:
    """Run a TCP server that reads everything and says nothing; yields its port."""

    class Sink(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(1 << 16):
                pass

    return _serving(_Server(("127.0.0.1", 0), Sink))


def http(body: bytes) -> AbstractContextManager[int]:
    """Run a web server with one document under every path; yields its port."""

    class Document(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return _serving(ThreadingHTTPServer(("127.0.0.1", 0), Document))
