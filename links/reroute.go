package links

import "sluice/amqp/transport"

// Reroute finds another link for a copy whose link has gone before it was begun,
// and charges it again. It returns false if there is none now. It is called
// under the lock of the address.
func (d *Dest) Reroute(c *Copy, by *transport.Conn) bool {
	s := d.route(c.d, by)
	if s == nil {
		return false
	}
	c.d.mu.Lock()
	c.to, c.account = s, c.d.account(d, s)
	c.charged, c.dead = c.d.Content.Size(), false
	c.account.budget.Charge(c.charged)
	c.d.mu.Unlock()
	return true
}
