// Package web serves health and metrics over HTTP.
//
//	/healthz  the process is alive: 200 OK
//	/readyz   it serves: 200, else 503 with the reason
//	/metrics  Prometheus text
//
// What is measured is read from the router when it is asked for; nothing on
// the message path knows that metrics exist.
package web
