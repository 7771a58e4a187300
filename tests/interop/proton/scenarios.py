#!/usr/bin/python3
"""Scenarios of Qpid Proton against a router.

    scenarios.py NAME URL [KEY=VALUE ...]

Exit status 0 if what should happen has happened; otherwise the exception says
what did not.
"""

import hashlib
import os
import sys

from proton import Condition, ConnectionException, Delivery, Handler, Message, SSLDomain, Terminus, symbol
from proton.handlers import IncomingMessageHandler, MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container
from proton.utils import BlockingConnection

TIMEOUT = 30


def check(what, got, want):
    if got != want:
        raise AssertionError("%s: %r, want %r" % (what, got, want))


def through(sender, message, receiver):
    """Sends a message, receives and accepts it, and waits until the sender knows.

    BlockingSender.send would wait for an outcome that only this thread gives.
    """
    delivery = sender.link.send(message)
    got = receiver.receive(timeout=TIMEOUT)
    receiver.accept()
    sender.connection.wait(lambda: delivery.settled, timeout=TIMEOUT)
    check("outcome", delivery.remote_state, Delivery.ACCEPTED)
    delivery.settle()
    return got


class Scenario(MessagingHandler):
    """A handler that ends with done() and fails when time is over."""

    def __init__(self, url, options, **kwargs):
        super().__init__(**kwargs)
        self.url, self.options, self.finished = url, options, False

    def on_start(self, event):
        self.timer = event.container.schedule(TIMEOUT, self)
        self.conn = event.container.connect(self.url, reconnect=False)
        self.begin(event.container)

    def done(self):
        self.finished = True
        self.timer.cancel()
        self.conn.close()

    def on_timer_task(self, event):
        event.container.stop()
        raise AssertionError("timed out")

    def on_transport_error(self, event):
        raise AssertionError("transport: %s" % event.transport.condition)


def send_receive(url, options):
    conn = BlockingConnection(url, timeout=TIMEOUT)
    receiver = conn.create_receiver("proton.queue", credit=10)
    sender = conn.create_sender("proton.queue")
    for i in range(100):
        m = Message(id="m%d" % i, subject="s", body={"n": i, "text": "äöü"}, properties={"k": i},
                    annotations={symbol("x-opt-a"): "b"}, priority=7, durable=True)
        got = through(sender, m, receiver)
        check("body", got.body, {"n": i, "text": "äöü"})
        check("id", got.id, "m%d" % i)
        check("properties", got.properties, {"k": i})
        check("annotations", got.annotations, {symbol("x-opt-a"): "b"})
        check("priority", got.priority, 7)
        check("durable", got.durable, True)
    conn.close()


def anonymous(url, options):
    conn = BlockingConnection(url, timeout=TIMEOUT)
    receivers = {a: conn.create_receiver(a, credit=10) for a in ("proton.x", "proton.y")}
    sender = conn.create_sender(None)
    for i in range(10):
        for address, receiver in receivers.items():
            got = through(sender, Message(address=address, body="%s %d" % (address, i)), receiver)
            check("body", got.body, "%s %d" % (address, i))
    try:
        sender.send(Message(address="proton.nobody", body="lost"))
        raise AssertionError("a message for nobody was accepted")
    except Exception as e:
        check("outcome", getattr(e, "state", e), Delivery.RELEASED)
    conn.close()


def request_response(url, options):
    conn = BlockingConnection(url, timeout=TIMEOUT)
    service = conn.create_receiver("proton.service", credit=10)
    answers = conn.create_sender(None)
    replies = conn.create_receiver(None, dynamic=True, credit=10)
    reply_to = replies.link.remote_source.address
    if not reply_to:
        raise AssertionError("no address for the dynamic source")
    requests = conn.create_sender("proton.service")
    for i in range(10):
        request = through(requests, Message(reply_to=reply_to, correlation_id=i, body="request"), service)
        m = Message(address=request.reply_to, correlation_id=request.correlation_id, body="answer")
        answer = through(answers, m, replies)
        check("answer", (answer.correlation_id, answer.body), (i, "answer"))
    conn.close()


class Drain(Scenario):
    """One message waits; a drain of ten brings it and ends with no credit."""

    def __init__(self, url, options):
        super().__init__(url, options, prefetch=0)
        self.received, self.sent, self.draining = 0, False, False

    def begin(self, container):
        self.receiver = container.create_receiver(self.conn, "proton.drain")
        self.sender = None

    def on_link_opened(self, event):
        if event.link.is_receiver:
            self.sender = event.container.create_sender(self.conn, "proton.drain")

    def on_sendable(self, event):
        # More credit shows that the message has arrived. Without waiting for it
        # Proton would write the flow first.
        if not self.sent:
            self.sent = True
            self.sender.send(Message(body="waiting"))
        elif self.sender.credit > 1 and not self.draining:
            self.draining = True
            self.receiver.drain(10)

    def on_message(self, event):
        self.received += 1
        self.look()

    def on_link_flow(self, event):
        self.look()

    def look(self):
        # Proton may tell of the flow before the message that came first.
        if self.draining and self.received == 1 and self.receiver.credit == 0 and not self.receiver.draining():
            if not self.finished:
                self.done()


def drain(url, options):
    run(Drain(url, options))


class Transactions(Scenario):
    def begin(self, container):
        session = self.conn.session()
        session.open()
        self.link = session.sender("coordinator")
        self.link.target.type = Terminus.COORDINATOR
        self.link.open()

    def on_link_error(self, event):
        check("condition", event.link.remote_condition.name, "amqp:not-implemented")
        self.link.close()
        self.done()


def transactions(url, options):
    run(Transactions(url, options))


class Presettled(Scenario):
    COUNT = 5000

    def __init__(self, url, options):
        super().__init__(url, options, prefetch=100)
        self.sent = self.received = 0

    def begin(self, container):
        self.receiver = container.create_receiver(self.conn, "proton.presettled", options=AtMostOnce())

    def on_link_opened(self, event):
        if event.link.is_receiver:
            self.sender = event.container.create_sender(self.conn, "proton.presettled", options=AtMostOnce())

    def on_sendable(self, event):
        while event.sender.credit and self.sent < self.COUNT:
            event.sender.send(Message(body=self.sent))
            self.sent += 1

    def on_message(self, event):
        check("order", event.message.body, self.received)
        check("settled", event.delivery.settled, True)
        self.received += 1
        if self.received == self.COUNT:
            self.done()


def presettled(url, options):
    run(Presettled(url, options))


class Large(Scenario):
    """64 MiB, written and read in pieces.

    Proton moves all bytes that it holds for each frame: in one piece this takes
    it a minute.
    """

    PIECE = 512 << 10

    def __init__(self, url, options):
        super().__init__(url, options, prefetch=1)
        self.handlers[:] = [h for h in self.handlers if not isinstance(h, IncomingMessageHandler)]
        self.body = os.urandom(1 << 20) * 64
        self.wire = memoryview(Message(body=self.body).encode())
        self.at, self.sender, self.received = 0, None, bytearray()

    def begin(self, container):
        self.receiver = container.create_receiver(self.conn, "proton.large")

    def on_link_opened(self, event):
        if event.link.is_receiver:
            self.sender = event.container.create_sender(self.conn, "proton.large")

    def on_sendable(self, event):
        if self.at == 0:
            self.outgoing = self.sender.delivery("one")
            self.write(event.container)

    def write(self, container):
        while self.at < len(self.wire) and self.sender.session.outgoing_bytes < self.PIECE:
            self.at += self.sender.stream(bytes(self.wire[self.at:self.at + self.PIECE]))
        if self.at < len(self.wire):
            container.schedule(0.001, Again(self.write))
        else:
            self.sender.advance()

    def on_delivery(self, event):
        d = event.delivery
        if d.link.is_receiver:
            if d.readable and d.pending:
                self.received += d.link.recv(d.pending)
            if not d.partial:
                m = Message()
                m.decode(bytes(self.received))
                check("size", len(m.body), len(self.body))
                check("checksum", hashlib.sha256(m.body).digest(), hashlib.sha256(self.body).digest())
                d.update(Delivery.ACCEPTED)
                d.settle()
                self.received = None
        elif d.remote_state == Delivery.ACCEPTED:
            check("received before accepted", self.received, None)
            self.done()


class Again(Handler):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def on_timer_task(self, event):
        self.call(event.container)


def large(url, options):
    run(Large(url, options))


class Outcomes(Scenario):
    NAMES = ("accepted", "rejected", "released", "modified")

    def __init__(self, url, options):
        super().__init__(url, options, prefetch=10, auto_accept=False, auto_settle=True)
        self.seen, self.sent = {}, False

    def begin(self, container):
        self.receiver = container.create_receiver(self.conn, "proton.outcomes")

    def on_link_opened(self, event):
        if event.link.is_receiver:
            self.sender = event.container.create_sender(self.conn, "proton.outcomes", options=AtLeastOnce())

    def on_sendable(self, event):
        while event.sender.credit and len(self.seen) < len(self.NAMES):
            name = self.NAMES[len(self.seen)]
            if name in self.seen:
                return
            self.seen[name] = None
            self.names = getattr(self, "names", {})
            self.names[event.sender.send(Message(body=name)).tag] = name

    def on_message(self, event):
        d = event.delivery
        if event.message.body == "accepted":
            d.update(Delivery.ACCEPTED)
        elif event.message.body == "rejected":
            d.local.condition = Condition("test:unwanted", "not this one", {symbol("line"): 7})
            d.update(Delivery.REJECTED)
        elif event.message.body == "released":
            d.update(Delivery.RELEASED)
        else:
            d.local.failed = True
            d.local.undeliverable = True
            d.local.annotations = {symbol("x-opt-why"): "busy"}
            d.update(Delivery.MODIFIED)
        d.settle()

    def on_delivery(self, event):
        d = event.delivery
        if d.link.is_sender and d.updated and d.remote_state:
            name = self.names[d.tag]
            want = {"accepted": Delivery.ACCEPTED, "rejected": Delivery.REJECTED,
                    "released": Delivery.RELEASED, "modified": Delivery.MODIFIED}[name]
            check(name, d.remote_state, want)
            if name == "rejected":
                c = d.remote.condition
                check("error", (c.name, c.description, c.info), ("test:unwanted", "not this one", {symbol("line"): 7}))
            if name == "modified":
                check("failed", d.remote.failed, True)
                check("undeliverable", d.remote.undeliverable, True)
                check("annotations", d.remote.annotations, {symbol("x-opt-why"): "busy"})
            self.seen[name] = True
            d.settle()
            if all(self.seen.get(n) for n in self.NAMES):
                self.done()


def outcomes(url, options):
    run(Outcomes(url, options))


def tls_external(url, options):
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(options["ca"])
    domain.set_credentials(options["cert"], options["key"], None)
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME)
    conn = BlockingConnection(url, timeout=TIMEOUT, ssl_domain=domain, allowed_mechs="EXTERNAL")
    exchange(conn)


def plain(url, options):
    conn = BlockingConnection(url, timeout=TIMEOUT, user=options["user"], password=options["password"],
                              allowed_mechs="PLAIN", allow_insecure_mechs=True)
    exchange(conn)


def plain_wrong(url, options):
    try:
        BlockingConnection(url, timeout=TIMEOUT, user=options["user"], password="wrong",
                           allowed_mechs="PLAIN", allow_insecure_mechs=True)
    except ConnectionException as e:
        if "unauthorized-access" not in str(e):
            raise
        return
    raise AssertionError("a wrong password was accepted")


def exchange(conn):
    receiver = conn.create_receiver("proton.secure", credit=1)
    check("body", through(conn.create_sender("proton.secure"), Message(body="secret"), receiver).body, "secret")
    conn.close()


def run(handler):
    Container(handler).run()
    check("finished", handler.finished, True)


if __name__ == "__main__":
    scenario, url = globals()[sys.argv[1]], sys.argv[2]
    scenario(url, dict(o.split("=", 1) for o in sys.argv[3:]))
    print("ok")
