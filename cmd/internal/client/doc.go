// Package client connects the commands to a router, or to any other AMQP 1.0
// peer, with go-amqp. It knows URLs, TLS files and SASL, and turns what can go
// wrong into one line that says what to do.
package client
