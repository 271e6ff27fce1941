"""Runs an aioquic client and server over loopback, as one case says, and writes what each
stream had: its bytes and SHA-256 in each direction, as `lockgate quic decrypt` finds them.

    aioquic_capture.py CASE PORT KEYLOG TRUTH

Loss, reordering and a client that moves are made between the two sockets.
"""

import asyncio
import datetime
import hashlib
import json
import os
import random
import ssl
import sys
import tempfile

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

V1, V2 = QuicProtocolVersion.VERSION_1, QuicProtocolVersion.VERSION_2
SUITES = {
    "aes128": CipherSuite.AES_128_GCM_SHA256,
    "aes256": CipherSuite.AES_256_GCM_SHA384,
    "chacha20": CipherSuite.CHACHA20_POLY1305_SHA256,
}

# What differs from the usual: AES-128, version 1, three streams of up to 4 kB.
CASES = {
    "plain": {},
    "aes256": {"suite": "aes256"},
    "chacha20": {"suite": "chacha20"},
    "v2": {"versions": [V2]},
    "v1-to-v2": {"versions": [V2, V1], "first": V1},
    "retry": {"retry": True},
    "retry-v2": {"retry": True, "versions": [V2], "suite": "chacha20"},
    "key-updates": {"updates": 3},
    "ids": {"ids": 3, "updates": 1},
    "long-ids": {"id_bytes": 20},
    "zero-rtt": {"early": True},
    "loss": {"loss": 0.08, "reorder": 0.1, "updates": 2},
    "migration": {"moves": 2, "ids": 1},
    "several": {"connections": 5, "updates": 1},
    "version-negotiation": {"versions": [V2, V1], "first": V1, "server": [V2]},
}


class Truth:
    """What streams carried: this side's view, by connection, stream and sender."""

    def __init__(self):
        self.streams = {}

    def add(self, connection, stream, sender, data, is_last):
        own = self.streams.setdefault((connection, stream, sender), [bytearray(), False])
        own[0].extend(data)
        own[1] |= is_last

    def rows(self):
        return [
            {
                "connection": connection,
                "id": stream,
                "from": sender,
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "is_whole": is_last,
            }
            for (connection, stream, sender), (data, is_last) in sorted(self.streams.items())
        ]


class Lossy:
    """A transport that loses and reorders what one side sends."""

    def __init__(self, transport, rng, loss, reorder):
        self.transport, self.rng, self.loss, self.reorder = transport, rng, loss, reorder
        self.held = []

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def sendto(self, data, addr=None):
        if self.rng.random() < self.loss:
            return
        if self.rng.random() < self.reorder:
            self.held.append((data, addr))
            return
        self.transport.sendto(data, addr)
        for one in self.held:
            self.transport.sendto(*one)
        self.held = []


TRUTH = Truth()


class Server(QuicConnectionProtocol):
    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        own = self._quic.original_destination_connection_id.hex()
        TRUTH.add(own, event.stream_id, "client", event.data, event.end_stream)
        if event.end_stream and event.stream_id % 4 == 0:
            answer = RNG.randbytes(RNG.randrange(1, 4_000))
            self._quic.send_stream_data(event.stream_id, answer, end_stream=True)
            self.transmit()


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.left = set()
        self.done = asyncio.Event()

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        own = self._quic.original_destination_connection_id.hex()
        TRUTH.add(own, event.stream_id, "server", event.data, event.end_stream)
        if event.end_stream:
            self.left.discard(event.stream_id)
            if not self.left:
                self.done.set()

    def ask(self, count):
        self.done.clear()
        for _ in range(count):
            stream = self._quic.get_next_available_stream_id()
            self.left.add(stream)
            data = RNG.randbytes(RNG.randrange(1, 4_000))
            self._quic.send_stream_data(stream, data, end_stream=True)
        self.transmit()

    async def answered(self):
        await asyncio.wait_for(self.done.wait(), 20)


def certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .sign(key, hashes.SHA256())
    )
    paths = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]
    with open(paths[0], "wb") as file:
        file.write(made.public_bytes(serialization.Encoding.PEM))
    with open(paths[1], "wb") as file:
        file.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return paths


async def one(case, port, log, tickets):
    options = QuicConfiguration(
        is_client=True,
        alpn_protocols=["hq-interop"],
        verify_mode=ssl.CERT_NONE,
        connection_id_length=case.get("id_bytes", 8),
        secrets_log_file=log,
        cipher_suites=[SUITES[case.get("suite", "aes128")]],
        supported_versions=case.get("versions", [V1]),
        original_version=case.get("first"),
    )
    if tickets:
        options.session_ticket = tickets[-1]
    early = bool(tickets)
    async with connect(
        "127.0.0.1",
        port,
        configuration=options,
        create_protocol=Client,
        session_ticket_handler=tickets.append,
        wait_connected=not early,
    ) as client:
        if "loss" in case:
            client._transport = Lossy(client._transport, RNG, case["loss"], case["reorder"])
        client.ask(3)
        if early:
            await client.wait_connected()
        await client.answered()
        for _ in range(case.get("updates", 0)):
            client.request_key_update()
            client.ask(2)
            await client.answered()
        for _ in range(case.get("ids", 0)):
            client.change_connection_id()
            client.ask(1)
            await client.answered()
        for _ in range(case.get("moves", 0)):
            loop = asyncio.get_running_loop()
            old = client._transport
            # As behind an address translator that forgot: the same packets, another port.
            new, _ = await loop.create_datagram_endpoint(
                lambda: client, local_addr=old.get_extra_info("sockname")[:1] + (0,)
            )
            client._transport = new
            client.ask(2)
            await client.answered()
        await client.ping()


async def main(name, port, keylog, truth):
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder, open(keylog, "w") as log:
        options = QuicConfiguration(
            is_client=False,
            alpn_protocols=["hq-interop"],
            connection_id_length=case.get("id_bytes", 8),
            supported_versions=case.get("server", [V2, V1]),
        )
        options.load_cert_chain(*certificate(folder))
        known = {}
        server = await serve(
            "127.0.0.1",
            port,
            configuration=options,
            create_protocol=Server,
            retry=case.get("retry", False),
            session_ticket_fetcher=known.get,
            session_ticket_handler=lambda ticket: known.__setitem__(ticket.ticket, ticket),
        )
        if "loss" in case:
            server._transport = Lossy(server._transport, RNG, case["loss"], case["reorder"])
        tickets = []
        for _ in range(case.get("connections", 1)):
            await one(case, port, log, [])
        if case.get("early"):
            await one(case, port, log, tickets)
            await one(case, port, log, tickets)
        await asyncio.sleep(0.3)
        server.close()
    with open(truth, "w") as file:
        json.dump(TRUTH.rows(), file, indent=1)


RNG = random.Random(sys.argv[1])
asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
