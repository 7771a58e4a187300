//go:build !linux

package driver

import "net"

func newWire(c net.Conn) wire { return streamWire{c} }
