package management

import (
	"strconv"
	"strings"
	"time"

	"sluice/amqp/messaging"
	"sluice/router/control/schema"
)

func (d *Desk) linkKind() *kind {
	k := &kind{schema: schema.ByName("router.link"), numbered: true}
	k.columns = order(k.schema, served)
	k.list = func() []string { return numbers(d.router.Links()) }
	k.row = func(identity string, to []any) ([]any, bool) {
		id, err := strconv.ParseUint(identity, 10, 64)
		if err != nil {
			return nil, false
		}
		l, ok := d.router.Link(id)
		if !ok {
			return nil, false
		}
		return fill(k, to, linkValues(&l)), true
	}
	k.update = func(identity string, a attributes) error {
		id, _ := strconv.ParseUint(identity, 10, 64)
		switch a["adminStatus"] {
		case nil:
			return badRequest("adminStatus is all that can be changed of a link")
		case "disabled":
			return d.router.DetachLink(id)
		}
		return nil
	}
	return k
}

func linkValues(l *Link) map[string]any {
	v := map[string]any{
		"name": l.Name, "identity": strconv.FormatUint(l.ID, 10), "type": schema.Prefix + "router.link",
		"linkName": l.Name, "linkType": l.Type, "linkDir": direction(l.In), "owningAddr": orNil(l.Key),
		"capacity": l.Capacity, "undeliveredCount": uint64(l.Undelivered), "unsettledCount": uint64(l.Unsettled), "deliveryCount": l.Deliveries,
		"connectionId": strconv.FormatUint(l.Connection, 10), "adminStatus": "enabled", "operStatus": "up",
		"presettledCount": l.Presettled, "droppedPresettledCount": l.DroppedPresettled, "acceptedCount": l.Accepted,
		"rejectedCount": l.Rejected, "releasedCount": l.Released, "modifiedCount": l.Modified,
		"deliveriesStuck": uint64(l.Stuck), "deliveriesDelayed1Sec": l.Delayed, "deliveriesDelayed10Sec": l.VeryDelayed, "priority": linkPriority(l), "settleRate": l.Rate,
		"creditAvailable": l.Credit, "zeroCreditSeconds": uint32(l.NoCredit / time.Second),
		"sessionWindow": l.Window, "incomingBytes": l.IncomingBytes, "messageBytes": l.MessageBytes, "outgoingBytes": l.OutgoingBytes,
		"transferredBytes": l.TransferredBytes, "waitsFor": orNil(l.WaitsFor), "waitsForAddress": orNil(l.WaitsForAddress), "waitsForPeer": orNil(strings.Join(l.WaitsForPeer, ", ")),
	}
	if !l.Counted {
		for _, name := range counters {
			v[name] = nil
		}
	}
	if l.WaitsFor != "" {
		v["waitsSeconds"] = uint32(l.Waits / time.Second)
	}
	if !l.Oldest.IsZero() {
		v["oldestUnsettledSeconds"] = uint32(seconds(l.Oldest))
	}
	return v
}

// counters are the attributes that links of the control plane do not have. Delays
// are 0 there, because tools add them up.
var counters = []string{
	"capacity", "undeliveredCount", "unsettledCount", "deliveryCount", "presettledCount", "droppedPresettledCount", "acceptedCount", "rejectedCount",
	"releasedCount", "modifiedCount", "deliveriesStuck", "settleRate", "creditAvailable", "sessionWindow", "incomingBytes", "messageBytes",
	"outgoingBytes", "transferredBytes",
}

// linkPriority is the priority of what a link carries, the default where it
// carries all, as tools expect.
func linkPriority(l *Link) uint32 {
	switch {
	case l.Priority >= 0:
		return uint32(l.Priority)
	case l.Type == "router-control":
		return 9
	}
	return messaging.DefaultPriority
}
