package management

import (
	"sluice/router/control/schema"
)

func (d *Desk) addressKind() *kind {
	k := &kind{schema: schema.ByName("router.address"), numbered: true}
	k.columns = order(k.schema, served)
	k.list = d.router.Addresses
	k.row = func(key string, to []any) ([]any, bool) {
		a, ok := d.router.Address(key)
		if !ok {
			return nil, false
		}
		return fill(k, to, addressValues(&a)), true
	}
	k.named = func(name string) (string, bool) { return name, true }
	return k
}

func addressValues(a *Address) map[string]any {
	return map[string]any{
		"name": a.Key, "identity": a.Key, "type": schema.Prefix + "router.address", "key": a.Key,
		"distribution": a.Distribution, "inProcess": uint32(a.InProcess), "subscriberCount": uint32(a.Subscribers),
		"remoteCount": uint32(a.Remotes), "containerCount": uint32(0), "remoteHostRouters": texts(a.RemoteRouters),
		"deliveriesIngress": a.Ingress, "deliveriesEgress": a.Egress, "deliveriesTransit": a.Transit,
		"deliveriesToContainer": a.ToContainer, "deliveriesFromContainer": a.FromContainer,
		"deliveriesRedirectedToFallback": uint64(0), "deliveriesEgressRouteContainer": uint64(0), "deliveriesIngressRouteContainer": uint64(0),
		"priority":    int32(a.Priority),
		"senderCount": uint32(a.Senders), "gate": a.Gate, "waitingCount": uint32(a.Waiting), "waitingBytes": a.WaitingBytes,
		"retainedBytes": a.RetainedBytes, "droppedNoDestination": a.DroppedNoDestination, "droppedExpired": a.DroppedExpired,
		"droppedSlow": a.DroppedSlow, "redelivered": a.Redelivered, "fullCount": a.FullTimes,
	}
}
