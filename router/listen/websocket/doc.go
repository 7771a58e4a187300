// Package websocket carries the bytes of an AMQP connection over a WebSocket
// (RFC 6455).
//
// Accept answers an upgrade of an HTTP request. The Conn that it returns is a
// net.Conn like any other to the driver: binary messages are read as a stream,
// of any size and without regard to where they begin and end, and nothing is
// read from the socket while nobody reads from the Conn. What is written goes
// out in binary messages. Compression is off: it would hold memory for each
// connection, and payloads that are worth it are compressed already.
//
// Its memory is two buffers for each connection, of readBuffer and 4 KiB.
package websocket
