package management

import (
	"strconv"
	"strings"

	"sluice/router/control/config"
	"sluice/router/control/schema"
)

func (d *Desk) configAddressKind() *kind {
	k := &kind{schema: schema.ByName("router.config.address"), numbered: true}
	k.columns = order(k.schema, served)
	k.list = func() []string { return numbers(d.router.ConfigAddresses()) }
	k.row = func(identity string, to []any) ([]any, bool) {
		id, err := strconv.ParseUint(identity, 10, 64)
		if err != nil {
			return nil, false
		}
		a, ok := d.router.ConfigAddress(id)
		if !ok {
			return nil, false
		}
		return fill(k, to, configAddressValues(id, &a)), true
	}
	k.named = func(name string) (string, bool) {
		id, ok := d.router.ConfigAddressNamed(name)
		if number, unnamed := strings.CutPrefix(name, "address/"); !ok && unnamed {
			n, err := strconv.ParseUint(number, 10, 32)
			a, known := d.router.ConfigAddress(n + 1)
			id, ok = n+1, err == nil && known && a.Name == ""
		}
		return strconv.FormatUint(id, 10), ok
	}
	k.create = d.createAddress
	k.remove = func(identity string) error {
		id, _ := strconv.ParseUint(identity, 10, 64)
		return d.router.DeleteAddress(id)
	}
	return k
}

func configAddressValues(id uint64, a *config.Address) map[string]any {
	identity := strconv.FormatUint(id, 10)
	v := map[string]any{
		"name": a.Name, "identity": identity, "type": schema.Prefix + "router.config.address",
		"prefix": orNil(strings.Trim(a.Prefix, "./")), "pattern": orNil(strings.Trim(a.Pattern, "./")), "distribution": string(a.Distribution),
		"waypoint": a.Waypoint, "ingressPhase": int32(max(a.IngressPhase, 0)), "egressPhase": int32(max(a.EgressPhase, 0)),
		"priority": int32(a.Priority), "fallback": a.Fallback, "enableFallback": a.Fallback,
		"waitingHighBytes": small(a.WaitingHighBytes), "waitingLowBytes": small(a.WaitingLowBytes),
		"waitingHighCount": small(int64(a.WaitingHighCount)), "waitingLowCount": small(int64(a.WaitingLowCount)),
		"unsettledTimeoutSeconds": wholeSeconds(a.UnsettledTimeout), "redeliver": a.Redeliver,
		"multicastPatienceSeconds": wholeSeconds(a.MulticastPatience),
	}
	if a.Name == "" {
		v["name"] = "address/" + strconv.FormatUint(id-1, 10) // they are counted from 0 by name, from 1 by identity
	}
	return v
}

// createAddress makes an address entity. What one agent of the existing family
// checks comes first, in its words.
func (d *Desk) createAddress(name string, a attributes) (string, error) {
	prefix, hasPrefix := a["prefix"].(string)
	pattern, hasPattern := a["pattern"].(string)
	switch {
	case hasPrefix && hasPattern:
		return "", badRequest("Cannot specify both a 'prefix' and a 'pattern' attribute")
	case !hasPrefix && !hasPattern:
		return "", badRequest("Either a 'prefix' or 'pattern' attribute must be provided")
	case hasPrefix && prefix == "":
		return "", badRequest("Prefix must be a non-empty string type")
	case hasPattern && pattern == "":
		return "", badRequest("Pattern must be a non-empty string type")
	case hasPrefix && strings.Trim(prefix, "./") == "":
		return "", badRequest("Prefix invalid - no tokens")
	case hasPattern && strings.Trim(pattern, "./") == "":
		return "", badRequest("Pattern invalid - no tokens")
	}
	for _, phase := range []string{"ingressPhase", "egressPhase"} {
		if n, ok := a[phase].(int64); ok && (n < 0 || n > 9) {
			return "", badRequest("Phase values must be between 0 and 9")
		}
	}
	if n, ok := a["priority"].(int64); ok && (n < 0 || n > 9) {
		if n != -1 {
			return "", badRequest("Priority value, if present, must be between 0 and QDR_MAX_PRIORITY (9)")
		}
		delete(a, "priority")
	}
	ingress, _ := a["ingressPhase"].(int64)
	egress, _ := a["egressPhase"].(int64)
	if a["enableFallback"] == true && (a["waypoint"] == true || ingress != 0 || egress != 0) {
		return "", badRequest("Fallback cannot be specified with waypoint or non-zero ingress and egress phases")
	}
	if name != "" {
		if _, taken := d.router.ConfigAddressNamed(name); taken {
			return "", badRequest("Name conflicts with an existing entity")
		}
	}
	c, err := d.load(section{"address", a})
	if err != nil {
		return "", err
	}
	id, err := d.router.CreateAddress(c.Addresses[0])
	return strconv.FormatUint(id, 10), err
}
