// Package deploy holds what it takes to install sluice and to watch it: a systemd
// unit, an image, example configurations, a Grafana dashboard and alert rules for
// Prometheus. Its tests load every example, and check that dashboard and rules
// name only metrics and labels that there are, so that none of them rots.
package deploy
