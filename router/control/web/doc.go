// Package web serves HTTP: health, metrics, files, and the requests that become
// WebSockets.
//
//	/healthz  the process is alive: 200 OK
//	/readyz   it serves: 200, else 503 with the reason
//	/metrics  Prometheus text
//	/         files, if there is a directory of them; else what there is
//
// What is measured is read from the router when it is asked for; nothing on
// the message path knows that metrics exist.
package web
