"""The server: one page and one WebSocket on the loopback, for who has the token and comes from this page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket as sockets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BlocksimError
from .lanes import Lanes
from .protocol import MESSAGE_BYTES, Answer, pack
from .session import FIRST_DIAGRAM, Session

PAGE_FOLDER = Path(__file__).parent / "page"
HOST = "127.0.0.1"
NEEDS = "the studio needs starlette, uvicorn and websockets: pip install 'blocksim[studio]'."
#: What the page may load: itself, and nothing from anywhere else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FORBIDDEN = 4403
#: Seconds after which a thread gives way: the loop under the hand waits for slow identifiers beside it no longer than that.
SWITCH = 0.0005


def make_app(name: str, token: str, port: int, allow_outside: bool = False) -> Any:
    """The application: everything lies below /TOKEN/, and what comes without it, or from elsewhere, gets no answer."""
    try:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Mount, Route, WebSocketRoute
        from starlette.staticfiles import StaticFiles
        from starlette.types import ASGIApp, Receive, Scope, Send
        from starlette.websockets import WebSocket
    except ImportError as error:
        raise BlocksimError(NEEDS) from error
    hosts = {f"{host}:{port}" for host in (HOST, "localhost")}

    async def talk(socket: WebSocket) -> None:
        if socket.headers.get("origin") not in {f"http://{host}" for host in hosts}:
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        await attend(socket, Session(name=name, allow_outside=allow_outside))

    async def icon(request: Request) -> Response:
        return Response((PAGE_FOLDER / "icon.svg").read_bytes(), media_type="image/svg+xml")

    class Guard:
        """Ask for the token and for a host of this machine, and put the headers on every answer."""

        def __init__(self, inner: ASGIApp):
            self.inner = inner

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                return await self.inner(scope, receive, send)
            head = dict(scope["headers"])
            host = head.get(b"host", b"").decode("latin-1")
            part = scope["path"].split("/")[1] if scope["path"].count("/") > 1 else ""
            if host not in hosts or not secrets.compare_digest(part.encode(), token.encode()):
                if scope["type"] == "websocket":
                    await receive()
                    return await send({"type": "websocket.close", "code": FORBIDDEN})
                words = "The address of the studio ends in a token; take the whole address from the terminal.\n"
                return await PlainTextResponse(words, 403, HEADERS)(scope, receive, send)

            async def with_headers(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] += [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                await send(message)

            await self.inner(scope, receive, with_headers)

    routes = [
        Route(f"/{token}/favicon.ico", icon),
        WebSocketRoute(f"/{token}/socket", talk),
        Mount(f"/{token}", StaticFiles(directory=PAGE_FOLDER, html=True)),
    ]
    return Guard(Starlette(routes=routes))


async def attend(socket: Any, session: Session) -> None:
    """Serve one tab until it leaves: requests to the lanes, answers from their threads back to it."""
    from starlette.websockets import WebSocketDisconnect

    loop, outbox = asyncio.get_running_loop(), asyncio.Queue[str | bytes]()

    def deliver(answer: Answer, kind: str, number: int | None) -> None:
        message = pack(answer, kind, number)
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is there to hear it
            loop.call_soon_threadsafe(outbox.put_nowait, message)

    async def write() -> None:
        while True:
            message = await outbox.get()
            await (socket.send_bytes(message) if isinstance(message, bytes) else socket.send_text(message))

    session.push = lambda kind, answer: deliver(answer, kind, None)
    lanes = Lanes(session, deliver)
    writer = asyncio.create_task(write())
    try:
        while True:
            request = json.loads(await socket.receive_text())
            lanes.put(request if isinstance(request, dict) else {})
    except (WebSocketDisconnect, json.JSONDecodeError, KeyError, RuntimeError):
        pass
    finally:
        lanes.clear()
        writer.cancel()
        for act in session.at_end.values():
            act()


def free_port(port: int) -> sockets.socket:
    """A listening socket on the loopback; port 0 takes a free one."""
    listener = sockets.socket()
    listener.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # a browser that is told the address early waits, and is not turned away
    except OSError as error:
        raise BlocksimError(f"port {port} cannot be used: {error.strerror}. Leave --port out for a free one.") from None
    return listener


def serve_studio(
    name: str = "", port: int = 0, allow_outside: bool = False, ready: Callable[[str], None] | None = None, token: str = ""
) -> None:
    """Serve the studio until it is interrupted. `ready` is told the address once the port is there."""
    try:
        import uvicorn
        import websockets  # noqa: F401  (uvicorn speaks WebSocket through it)
    except ImportError as error:
        raise BlocksimError(NEEDS) from error
    from ..diagram.files import find_diagram

    find_diagram(name or FIRST_DIAGRAM)
    token = token or secrets.token_urlsafe(24)
    listener = free_port(port)
    number = listener.getsockname()[1]
    app = make_app(name, token, number, allow_outside)
    sys.setswitchinterval(SWITCH)
    limits: dict[str, Any] = {"ws_max_size": MESSAGE_BYTES, "ws_ping_interval": 20.0, "timeout_graceful_shutdown": 1}
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws_per_message_deflate=False, **limits)
    if ready is not None:
        ready(f"http://{HOST}:{number}/{token}/")
    uvicorn.Server(config).run(sockets=[listener])
