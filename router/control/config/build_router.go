package config

import (
	"unicode"
	"unicode/utf8"
)

// maxIDLength is the longest router id, in bytes: peers reserve no more.
const maxIDLength = 127

func (b *builder) addRouter(e *entity) {
	b.router = e
	r := Router{
		Pos:                     e.pos,
		ID:                      e.text("id"),
		Mode:                    oneOf[Mode](e, "mode"),
		Metadata:                e.text("metadata"),
		HelloInterval:           seconds(e, "helloIntervalSeconds"),
		HelloMaxAge:             seconds(e, "helloMaxAgeSeconds"),
		RAInterval:              seconds(e, "raIntervalSeconds"),
		RAIntervalFlux:          seconds(e, "raIntervalFluxSeconds"),
		RemoteLSMaxAge:          seconds(e, "remoteLsMaxAgeSeconds"),
		WorkerThreads:           int(e.num("workerThreads", 0)),
		AllowUnsettledMulticast: e.yes("allowUnsettledMulticast"),
		AllowResumableLinkRoute: e.yes("allowResumableLinkRoute"),
		DefaultDistribution:     oneOf[Distribution](e, "defaultDistribution"),
		TimestampsInUTC:         e.yes("timestampsInUTC"),
		MemoryLimit:             e.num("memoryLimit", 0),
		ShutdownTimeout:         seconds(e, "shutdownTimeoutSeconds"),
		MetricsSeries:           int(e.num("metricsSeries", 0)),
		StuckDelivery:           seconds(e, "stuckDeliverySeconds"),
	}
	b.checkID(r.ID, e.posOf("id"))
	if r.ID == "" {
		r.ID = b.defaultID
	}
	if r.ID == "" {
		r.ID = map[Mode]string{Standalone: "Standalone_", Interior: "Interior_", EdgeMode: "Edge_"}[r.Mode] + randomSuffix()
		b.generated = true
	}
	b.config.Router = r
}

// checkID reports what is wrong with a router id.
func (b *builder) checkID(id string, pos Position) {
	if len(id) > maxIDLength {
		b.mistake(pos, "a shorter id", "", "router id %s exceeds the maximum allowed length (%d characters)", quoted(id), maxIDLength)
		return
	}
	for _, c := range id {
		if !validIDRune(c) {
			b.mistake(pos, "an id without blanks and control characters", "", "character %q in router id %s is not allowed", c, quoted(id))
			return
		}
	}
}

// validIDRune reports whether c may be part of a router id: it is in neither of
// the Unicode categories C (control and the like) and Z (separators).
func validIDRune(c rune) bool {
	return c != utf8.RuneError && !unicode.In(c, unicode.C, unicode.Z)
}
