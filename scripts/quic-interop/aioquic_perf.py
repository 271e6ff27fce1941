"""Transfers by aioquic, as draft-banks-quic-performance has them.

    aioquic_perf.py server PORT CASE          CERTIFICATES holds cert.pem and key.pem
    aioquic_perf.py client PORT CASE BYTES    fails unless so many bytes come back

Cases: transfer, key-update, retry, 0-rtt, migration.
"""

import asyncio
import os
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.asked = {}

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        own = self.asked.setdefault(event.stream_id, bytearray())
        if len(own) < 8:
            own.extend(event.data[: 8 - len(own)])
        if event.end_stream:
            if CASE == "key-update":
                self._quic.request_key_update()
            count = int.from_bytes(own, "big")
            self._quic.send_stream_data(event.stream_id, bytes(count), end_stream=True)
            self.transmit()


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.got = 0
        self.some, self.all = asyncio.Event(), asyncio.Event()

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.got += len(event.data)
            self.some.set()
            if event.end_stream:
                self.all.set()

    def ask(self, count):
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, count.to_bytes(8, "big"), end_stream=True)
        self.transmit()


async def transfer(port, count, tickets, is_early):
    options = QuicConfiguration(
        is_client=True, alpn_protocols=["perf"], verify_mode=ssl.CERT_NONE, server_name="localhost"
    )
    if is_early:
        options.session_ticket = tickets[-1]
    async with connect(
        "127.0.0.1",
        port,
        configuration=options,
        create_protocol=Client,
        session_ticket_handler=tickets.append,
        wait_connected=not is_early,
    ) as client:
        client.ask(count)
        await asyncio.wait_for(client.some.wait(), 20)
        if CASE == "key-update":
            for _ in range(3):
                client.request_key_update()
                await client.ping()
        if CASE == "migration":
            loop = asyncio.get_running_loop()
            old = client._transport
            client._transport, _ = await loop.create_datagram_endpoint(
                lambda: client, local_addr=old.get_extra_info("sockname")[:1] + (0,)
            )
            await client.ping()
        await asyncio.wait_for(client.all.wait(), 40)
        if client.got != count:
            sys.exit(f"{client.got} bytes came, {count} were asked for")
        if is_early and not client._quic.tls.early_data_accepted:
            sys.exit("the server did not take what was sent in 0-RTT")
        await client.ping()


async def main(role, port):
    if role == "client":
        tickets = []
        await transfer(port, int(sys.argv[4]), tickets, False)
        if CASE == "0-rtt":
            await transfer(port, int(sys.argv[4]), tickets, True)
        return
    options = QuicConfiguration(is_client=False, alpn_protocols=["perf"])
    folder = os.environ["CERTIFICATES"]
    options.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
    known = {}
    await serve(
        "127.0.0.1",
        port,
        configuration=options,
        create_protocol=Server,
        retry=CASE == "retry",
        session_ticket_fetcher=known.get,
        session_ticket_handler=lambda ticket: known.__setitem__(ticket.ticket, ticket),
    )
    print("listening", flush=True)
    await asyncio.Future()


CASE = sys.argv[3]
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
