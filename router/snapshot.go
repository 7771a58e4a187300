package router

import (
	"time"

	"sluice/amqp/transport"
	"sluice/buffers"
	"sluice/links"
	"sluice/router/control/web"
	"sluice/router/forward"
)

// snapshot adds up what connections and addresses count.
func (r *Router) snapshot() web.Snapshot {
	s := web.Snapshot{
		ConnectionsTotal: r.total.Load(),
		AttachesTotal:    r.shared.Attaches.Load(),
		RefusalsTotal:    r.shared.Refusals.Load(),
		LogLinesDropped:  r.logs.Lost(),
		ChunkBytes:       buffers.InUse(),
		Mesh:             r.meshSnapshot(),
		Edge:             r.edgeSnapshot(),
	}
	r.shared.Table.All(func(a *forward.Address) {
		v := a.View()
		s.Addresses++
		s.ContentBytes += v.WaitingBytes + v.Retained
		s.Waiting += v.Waiting
		if v.Gate == links.GateFull {
			s.AddressesFull++
		}
		addStats(&s, &a.Stats)
	})
	addStats(&s, &r.shared.Table.Past)
	for _, c := range r.connections() {
		s.Connections++
		c.driver.Do(func(tc *transport.Conn) {
			tc.Sessions(func(ss *transport.Session) {
				ss.Links(func(l transport.Link) { addLink(&s, l) })
			})
		})
	}
	return s
}

func addStats(s *web.Snapshot, st *forward.Stats) {
	s.GateClosedTotal += st.GateClosed.Load()
	s.Ingress += st.Ingress.Load()
	s.Egress += st.Egress.Load()
	s.DroppedNoDestination += st.DroppedNoDestination.Load()
	s.DroppedTTL += st.DroppedExpired.Load()
	s.DroppedSlow += st.DroppedSlow.Load()
	s.DroppedAstray += st.DroppedAstray.Load()
	s.Redelivered += st.Redelivered.Load()
	s.Accepted += st.Accepted.Load()
	s.Rejected += st.Rejected.Load()
	s.Released += st.Released.Load()
	s.Modified += st.Modified.Load()
	s.Preset += st.Presettled.Load()
	s.TimedOut += st.TimedOut.Load()
}

func addLink(s *web.Snapshot, l transport.Link) {
	s.Links++
	switch l := l.(type) {
	case *links.Receiver:
		s.SessionBytes += l.Waiting()
		if l.Held() {
			s.LinksHeld++
		}
		if l.Credit() == 0 {
			s.LinksNoCredit++
		}
		s.Accepted += l.Counters.Accepted
		s.Rejected += l.Counters.Rejected
		s.Released += l.Counters.Released
		s.Modified += l.Counters.Modified
		s.Preset += l.Counters.Presettled
	case *links.Sender:
		s.OutgoingBytes += l.Outgoing()
		s.TimedOut += l.Counters.TimedOut
		if at := l.Oldest(); at != 0 {
			s.OldestUnsettled = max(s.OldestUnsettled, time.Since(time.Unix(0, at)))
		}
	}
}
