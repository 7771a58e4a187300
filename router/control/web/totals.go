package web

import "github.com/prometheus/client_golang/prometheus"

// Totals are the counts of the router entity of the management schema. They have the
// names, kinds and meanings of the metrics of Qpid Dispatch, for the dashboards and
// alerts that there are.
type Totals struct {
	Connections, Links, Addresses, Routers int
	Stuck                                  int // deliveries, on both of their links
	Blocked                                int // links without credit for ten seconds

	Presettled, DroppedPresettled          uint64
	Accepted, Released, Rejected, Modified uint64
	Ingress, Egress, Transit               uint64
	ContainerIn, ContainerOut              uint64 // on connections of role route-container
	Delayed, VeryDelayed                   uint64 // settled a second, ten seconds after they had come
}

func entity(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("qdr_"+name, help, nil, nil)
}

// What goes up and down there has names that end in total, too.
var (
	descQConnections = entity("connections_total", "Connections that are open.")
	descQLinks       = entity("links_total", "Links that are attached, those of the control plane included.")
	descQAddresses   = entity("addresses_total", "Addresses, those of services of the router included.")
	descQRouters     = entity("routers_total", "Other routers with a path.")
	descQLinkRoutes  = entity("link_routes_total", "Link routes: there are none.")
	descQAutoLinks   = entity("auto_links_total", "Auto-links: there are none.")
	descQStuck       = entity("deliveries_stuck_total", "Deliveries that have not been settled for ten seconds, on the links on which they came and on which they went.")
	descQBlocked     = entity("links_blocked_total", "Links that have had no credit for ten seconds.")
	descQPresettled  = entity("presettled_deliveries_total", "Deliveries that were sent settled.")
	descQDropped     = entity("dropped_presettled_deliveries_total", "Those that found no receiver.")
	descQAccepted    = entity("accepted_deliveries_total", "Deliveries that were accepted.")
	descQReleased    = entity("released_deliveries_total", "Deliveries that were released.")
	descQRejected    = entity("rejected_deliveries_total", "Deliveries that were rejected.")
	descQModified    = entity("modified_deliveries_total", "Deliveries that were modified.")
	descQIngress     = entity("deliveries_ingress_total", "Deliveries that have entered the network here.")
	descQEgress      = entity("deliveries_egress_total", "Deliveries that have left the network here.")
	descQTransit     = entity("deliveries_transit_total", "Deliveries sent on to other routers.")
	descQRCIn        = entity("deliveries_ingress_route_container_total", "Deliveries from connections of role route-container.")
	descQRCOut       = entity("deliveries_egress_route_container_total", "Deliveries to connections of role route-container.")
	descQDelayed     = entity("deliveries_delayed_1sec_total", "Deliveries settled a second after they had come, or later.")
	descQVeryDelayed = entity("deliveries_delayed_10sec_total", "Deliveries settled ten seconds after they had come, or later.")
	descQFallback    = entity("deliveries_redirected_to_fallback_total", "Deliveries to fallback destinations: there are none.")
)

func (t *Totals) collect(c *collection) {
	c.gauge(descQConnections, float64(t.Connections))
	c.gauge(descQLinks, float64(t.Links))
	c.gauge(descQAddresses, float64(t.Addresses))
	c.gauge(descQRouters, float64(t.Routers))
	c.gauge(descQLinkRoutes, 0)
	c.gauge(descQAutoLinks, 0)
	c.count(descQPresettled, t.Presettled)
	c.count(descQDropped, t.DroppedPresettled)
	c.count(descQAccepted, t.Accepted)
	c.count(descQReleased, t.Released)
	c.count(descQRejected, t.Rejected)
	c.count(descQModified, t.Modified)
	c.count(descQIngress, t.Ingress)
	c.count(descQEgress, t.Egress)
	c.count(descQTransit, t.Transit)
	c.count(descQRCIn, t.ContainerIn)
	c.count(descQRCOut, t.ContainerOut)
	c.count(descQDelayed, t.Delayed)
	c.count(descQVeryDelayed, t.VeryDelayed)
	c.gauge(descQStuck, float64(t.Stuck))
	c.gauge(descQBlocked, float64(t.Blocked))
	c.count(descQFallback, 0)
}
