// Scenarios of rhea against a router:
//
//     node scenarios.js NAME URL [KEY=VALUE ...]
//
// Exit status 0 if what should happen has happened.
'use strict';

const assert = require('assert');
const crypto = require('crypto');
const fs = require('fs');
const rhea = require('rhea');

const [name, text, ...pairs] = process.argv.slice(2);
const url = new URL(text);
const options = Object.fromEntries(pairs.map((p) => [p.slice(0, p.indexOf('=')), p.slice(p.indexOf('=') + 1)]));

const timer = setTimeout(() => fail(new Error('timed out')), 30000);

function fail(err) {
    console.error(err.stack || err);
    process.exit(1);
}
process.on('uncaughtException', fail);

function done(connection) {
    clearTimeout(timer);
    connection.close();
    connection.once('connection_close', () => {
        console.log('ok');
        process.exit(0);
    });
}

// where says how the router is reached: a host and port, or over a WebSocket with
// the subprotocols that rhea's own examples offer.
function where() {
    if (!url.protocol.startsWith('ws')) {
        return { host: url.hostname, port: Number(url.port) };
    }
    const socket = rhea.websocket_connect(require('ws'));
    const security = options.ca ? { ca: [fs.readFileSync(options.ca)] } : {};
    return { connection_details: socket(text, ['binary', 'AMQPWSB10', 'amqp'], security) };
}

function connect(more) {
    const container = rhea.create_container({ id: 'rhea-' + process.pid });
    container.on('error', fail);
    const connection = container.connect(Object.assign({ reconnect: false }, where(), more));
    connection.on('disconnected', (c) => fail(c.error || new Error('disconnected')));
    connection.on('connection_error', (c) => fail(c.connection.error));
    return connection;
}

const scenarios = {
    send_receive() {
        const connection = connect();
        const count = 100;
        let sent = 0, received = 0, accepted = 0;
        const receiver = connection.open_receiver('rhea.queue');
        receiver.on('receiver_open', () => {
            const sender = connection.open_sender('rhea.queue');
            sender.on('sendable', () => {
                while (sender.sendable() && sent < count) {
                    sender.send({
                        message_id: 'm' + sent, subject: 's', durable: true, priority: 7,
                        application_properties: { k: sent }, message_annotations: { 'x-opt-a': 'b' },
                        body: { n: sent++, text: 'äöü' },
                    });
                }
            });
            sender.on('accepted', () => { if (++accepted === count) { assert.strictEqual(received, count); done(connection); } });
        });
        receiver.on('message', (c) => {
            assert.deepStrictEqual(c.message.body, { n: received, text: 'äöü' });
            assert.strictEqual(c.message.message_id, 'm' + received);
            assert.strictEqual(c.message.application_properties.k, received);
            assert.strictEqual(c.message.message_annotations['x-opt-a'], 'b');
            assert.strictEqual(c.message.priority, 7);
            assert.strictEqual(c.message.durable, true);
            received++;
        });
    },

    anonymous() {
        const connection = connect();
        const addresses = ['rhea.x', 'rhea.y'];
        const got = [];
        let open = 0, sent = false;
        for (const address of addresses) {
            const receiver = connection.open_receiver(address);
            receiver.on('message', (c) => { assert.strictEqual(c.message.body, address); got.push(address); });
            receiver.on('receiver_open', () => {
                if (++open < addresses.length) return;
                const sender = connection.open_sender({ target: {} });
                let at = 0;
                const all = addresses.concat('rhea.nobody');
                const next = () => { const to = all[at++]; sender.send({ to, body: to }); };
                sender.on('sendable', () => { if (!sent) { sent = true; next(); } });
                sender.on('accepted', () => { assert(at <= addresses.length, 'a message for nobody was accepted'); next(); });
                sender.on('released', () => {
                    assert.strictEqual(at, all.length);
                    assert.deepStrictEqual(got, addresses);
                    done(connection);
                });
            });
        }
    },

    request_response() {
        const connection = connect();
        const count = 10;
        let n = 0;
        const answers = connection.open_sender({ target: {} });
        const service = connection.open_receiver('rhea.service');
        service.on('message', (c) => answers.send({ to: c.message.reply_to, correlation_id: c.message.correlation_id, body: 'answer' }));
        service.on('receiver_open', () => {
            const replies = connection.open_receiver({ source: { dynamic: true } });
            const requests = connection.open_sender('rhea.service');
            const ask = () => requests.send({ reply_to: replies.source.address, correlation_id: n, body: 'request' });
            replies.on('receiver_open', () => { assert(replies.source.address); ask(); });
            replies.on('message', (c) => {
                assert.strictEqual(c.message.correlation_id, n);
                assert.strictEqual(c.message.body, 'answer');
                if (++n === count) done(connection); else ask();
            });
        });
    },

    drain() {
        const connection = connect();
        let received = 0, sent = false;
        const receiver = connection.open_receiver({ source: 'rhea.drain', credit_window: 0 });
        receiver.on('message', () => received++);
        receiver.on('receiver_drained', () => {
            assert.strictEqual(received, 1);
            assert.strictEqual(receiver.credit, 0);
            done(connection);
        });
        receiver.on('receiver_open', () => {
            const sender = connection.open_sender('rhea.drain');
            let asked = false;
            const look = () => {
                if (!sent) {
                    sent = true;
                    sender.send({ body: 'waiting' });
                } else if (sender.credit > 1 && !asked) {
                    // More credit shows that the message has arrived.
                    asked = true;
                    receiver.drain = true;
                    receiver.add_credit(10);
                }
            };
            sender.on('sendable', look);
            sender.on('sender_flow', look);
        });
    },

    transactions() {
        const connection = connect();
        // What rhea has no words for: the descriptor of a coordinator.
        const types = rhea.types;
        const sender = connection.open_sender({ target: {} });
        sender.local.attach.target = types.described(types.wrap_ulong(0x30), types.wrap_list([]));
        sender.on('sender_error', () => {
            assert.strictEqual(sender.error.condition, 'amqp:not-implemented');
            done(connection);
        });
    },

    presettled() {
        const connection = connect();
        const count = 5000;
        let sent = 0, received = 0;
        const receiver = connection.open_receiver({ source: 'rhea.presettled', snd_settle_mode: 1 });
        receiver.on('receiver_open', () => {
            const sender = connection.open_sender({ target: 'rhea.presettled', snd_settle_mode: 1 });
            sender.on('sendable', () => { while (sender.sendable() && sent < count) sender.send({ body: sent++ }); });
        });
        receiver.on('message', (c) => {
            assert.strictEqual(c.message.body, received);
            assert.strictEqual(c.delivery.remote_settled, true);
            if (++received === count) done(connection);
        });
    },

    large() {
        const connection = connect({ max_frame_size: 65536 });
        const body = Buffer.alloc(64 << 20, crypto.randomBytes(1 << 20));
        const sum = (b) => crypto.createHash('sha256').update(b).digest('hex');
        let received = false, sent = false;
        const receiver = connection.open_receiver('rhea.large');
        receiver.on('receiver_open', () => {
            const sender = connection.open_sender('rhea.large');
            sender.on('sendable', () => {
                if (sent) return;
                sent = true;
                sender.send({ body: rhea.message.data_section(body) });
            });
            sender.on('accepted', () => { assert(received); done(connection); });
        });
        receiver.on('message', (c) => {
            const got = c.message.body.content;
            assert.strictEqual(got.length, body.length);
            assert.strictEqual(sum(got), sum(body));
            received = true;
        });
    },

    outcomes() {
        const connection = connect();
        const seen = [];
        const names = ['accepted', 'rejected', 'released', 'modified'];
        let at = 0, started = false;
        const receiver = connection.open_receiver({ source: 'rhea.outcomes', autoaccept: false });
        receiver.on('message', (c) => {
            switch (c.message.body) {
            case 'accepted': return c.delivery.accept();
            case 'rejected': return c.delivery.reject({ condition: 'test:unwanted', description: 'not this one', info: { line: 7 } });
            case 'released': return c.delivery.release();
            case 'modified': return c.delivery.modified({ delivery_failed: true, undeliverable_here: true, message_annotations: { 'x-opt-why': 'busy' } });
            }
        });
        receiver.on('receiver_open', () => {
            const sender = connection.open_sender({ target: 'rhea.outcomes', treat_modified_as_released: false });
            const next = () => { if (at < names.length) sender.send({ body: names[at++] }); else { assert.deepStrictEqual(seen, names); done(connection); } };
            const saw = (n) => { assert.strictEqual(n, names[at - 1]); seen.push(n); next(); };
            sender.on('sendable', () => { if (!started) { started = true; next(); } });
            sender.on('accepted', () => saw('accepted'));
            sender.on('rejected', (c) => {
                const e = c.delivery.remote_state.error;
                assert.strictEqual(e.condition, 'test:unwanted');
                assert.strictEqual(e.description, 'not this one');
                assert.deepStrictEqual(e.info, { line: 7 });
                saw('rejected');
            });
            sender.on('released', () => saw('released'));
            sender.on('modified', (c) => {
                const m = c.delivery.remote_state;
                assert.strictEqual(m.delivery_failed, true);
                assert.strictEqual(m.undeliverable_here, true);
                assert.strictEqual(m.message_annotations['x-opt-why'], 'busy');
                saw('modified');
            });
        });
    },

    tls_external() {
        exchange(connect({
            transport: 'tls', ca: [fs.readFileSync(options.ca)], cert: fs.readFileSync(options.cert), key: fs.readFileSync(options.key),
            servername: 'localhost', enable_sasl_external: true,
        }));
    },

    plain() { exchange(connect({ username: options.user, password: options.password })); },

    plain_wrong() {
        const container = rhea.create_container();
        const connection = container.connect(Object.assign({ reconnect: false, username: options.user, password: 'wrong' }, where()));
        connection.on('connection_open', () => fail(new Error('a wrong password was accepted')));
        container.on('error', (e) => ended(e));
        connection.on('connection_error', () => ended(connection.error));
        connection.on('disconnected', (c) => ended(c.error));
        function ended(e) {
            assert.match(String(e && (e.condition || e.message || e)), /authent|unauthorized/i);
            console.log('ok');
            process.exit(0);
        }
    },
};

function exchange(connection) {
    const receiver = connection.open_receiver('rhea.secure');
    receiver.on('receiver_open', () => {
        const sender = connection.open_sender('rhea.secure');
        let sent = false;
        sender.on('sendable', () => { if (!sent) { sent = true; sender.send({ body: 'secret' }); } });
        sender.on('accepted', () => done(connection));
    });
    receiver.on('message', (c) => assert.strictEqual(c.message.body, 'secret'));
}

scenarios[name]();
