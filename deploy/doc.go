// Package deploy holds what it takes to install sluice: a systemd unit, an image
// and example configurations. Its tests load every example, so that none of
// them rots.
package deploy
