// Sluice is an AMQP 1.0 message router: it moves messages between clients,
// brokers and other routers by address, without storing them.
//
//	sluice run                       a router with the default configuration
//	sluice run -c router.conf        with an existing qdrouterd.conf, or .yaml, .json
//	sluice check router.conf         every mistake of a configuration, and what it would run
//	sluice send queue "hello"        send a message
//	sluice receive queue --count 1   receive it
//	sluice bench                     how fast it is from here
//	sluice stat links --stuck        what a router has, and what waits for what
//	sluice manage query --type log   what it is made of, and change it
//
// The exit status is 0 if all went well, 1 if the command failed, 2 if it was
// used wrongly, 3 if the connection could not be made or was lost, and 4 if the
// router refused the link, or messages were lost, not accepted, or did not arrive
// in time, or a router did not answer.
package main
