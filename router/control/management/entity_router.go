package management

import (
	"maps"
	"slices"
	"time"

	"sluice/amqp/encoding"
	"sluice/router/control/config"
	"sluice/router/control/schema"
)

// routerID is the identity of the router entity.
const routerID = "1"

// notMeasured are attributes of the schema of which sluice has no value. What
// counts deliveries to things that are not there, such as fallback destinations,
// is 0.
var notMeasured = map[string]bool{
	"blockedLinkCount": true,
	"debugDumpFile":    true, "saslConfigDir": true, "saslConfigName": true, "timestampFormat": true,
	"trackedDeliveries": true,
}

func served(a *schema.Attribute) bool { return !notMeasured[a.Name] }

func (d *Desk) routerKind() *kind {
	k := &kind{schema: schema.ByName("router"), numbered: true}
	k.columns = order(k.schema, served)
	k.list = func() []string { return []string{routerID} }
	k.row = func(id string, to []any) ([]any, bool) {
		c := d.router.Self()
		if id != routerID && id != c.ID {
			return nil, false
		}
		o := d.router.Overview()
		return fill(k, to, routerValues(&c, &o)), true
	}
	k.named = func(name string) (string, bool) {
		id := d.router.Self().ID
		return routerID, name == id || name == "router/"+id
	}
	return k
}

func routerValues(c *config.Router, o *Overview) map[string]any {
	v := map[string]any{
		"name": c.ID, "identity": routerID, "id": c.ID, "type": schema.Prefix + "router", "mode": string(c.Mode), "area": "0",
		"version": o.Version, "metadata": orNil(c.Metadata), "hostName": orNil(o.Host),
		"addrCount": uint64(o.Addresses), "linkCount": uint64(o.Links), "nodeCount": uint64(o.Nodes),
		"linkRouteCount": uint64(0), "autoLinkCount": uint64(0), "connectionCount": uint64(o.Connections),
		"presettledDeliveries": o.Presettled, "droppedPresettledDeliveries": o.DroppedPresettled,
		"acceptedDeliveries": o.Accepted, "rejectedDeliveries": o.Rejected, "releasedDeliveries": o.Released, "modifiedDeliveries": o.Modified,
		"deliveriesStuck": uint64(o.Stuck), "deliveriesDelayed1Sec": o.Delayed, "deliveriesDelayed10Sec": o.VeryDelayed,
		"deliveriesIngress": o.Ingress, "deliveriesEgress": o.Egress, "deliveriesTransit": o.Transit,
		"deliveriesRedirectedToFallback": uint64(0), "deliveriesIngressRouteContainer": o.ContainerIn, "deliveriesEgressRouteContainer": o.ContainerOut,
		"linksBlocked": uint32(o.BlockedLinks), "uptimeSeconds": uint32(seconds(o.Started)), "memoryUsage": nil,
		"workerThreads":        int32(c.WorkerThreads),
		"helloIntervalSeconds": wholeSeconds(c.HelloInterval), "helloMaxAgeSeconds": wholeSeconds(c.HelloMaxAge),
		"raIntervalSeconds": wholeSeconds(c.RAInterval), "raIntervalFluxSeconds": wholeSeconds(c.RAIntervalFlux),
		"remoteLsMaxAgeSeconds": wholeSeconds(c.RemoteLSMaxAge), "defaultDistribution": string(c.DefaultDistribution),
		"allowResumableLinkRoute": c.AllowResumableLinkRoute, "allowUnsettledMulticast": c.AllowUnsettledMulticast,
		"timestampsInUTC": c.TimestampsInUTC,
		"memoryLimit":     small(c.MemoryLimit), "shutdownTimeoutSeconds": wholeSeconds(c.ShutdownTimeout),
		"metricsSeries": int64(c.MetricsSeries), "stuckDeliverySeconds": wholeSeconds(c.StuckDelivery),
		"incomingBytes": o.IncomingBytes, "messageBytes": o.MessageBytes, "outgoingBytes": o.OutgoingBytes, "bufferBytes": o.BufferBytes,
		"managed": texts(o.Managed),
	}
	if o.MemoryUsage > 0 {
		v["memoryUsage"] = o.MemoryUsage
	}
	if o.Resident > 0 {
		parts := make(encoding.Map, 0, len(o.MemoryParts))
		for _, name := range slices.Sorted(maps.Keys(o.MemoryParts)) {
			parts = append(parts, encoding.MapEntry{Key: name, Value: o.MemoryParts[name]})
		}
		v["residentMemory"], v["residentMemoryParts"] = o.Resident, parts
	}
	return v
}

// fill makes a row of values by name.
func fill(k *kind, to []any, values map[string]any) []any {
	to = to[:0]
	for _, name := range k.columns {
		to = append(to, values[name])
	}
	return to
}

// seconds is how long ago something was, in whole seconds.
func seconds(t time.Time) int64 { return int64(max(time.Since(t), 0) / time.Second) }

func wholeSeconds(d time.Duration) any { return small(int64(d / time.Second)) }
