package stat

var config = &View{
	Name: "config", Also: []string{"configuration"}, About: "listeners, connectors, addresses, ssl-profiles and log-modules together",
	parts: []*View{listeners, connectors, configAddresses, sslProfiles, logModules},
}

var listeners = &View{
	Name: "listeners", Also: []string{"listener"}, About: "where connections are accepted",
	title: "Listeners", typ: "listener", names: []string{"name", "host"}, order: []string{"name"},
	columns: []Column{
		of(text, "name", "name").cut(16),
		of(text, "host", "host").cut(12),
		of(text, "port", "port"),
		of(text, "role", "role"),
		of(flagged, "http", "http").rank(1),
		of(text, "tls", "sslProfile").cut(8),
		of(flagged, "tls-only", "requireSsl").rank(2),
		of(flagged, "auth", "authenticatePeer").rank(1),
		of(text, "sasl", "saslMechanisms").cut(9).rank(2),
		of(count, "cost", "cost").rank(4),
		of(count, "capacity", "linkCapacity").rank(5),
		of(age, "idle", "idleTimeoutSeconds").unlessZero().rank(5),
		of(size, "frame", "maxFrameSize").rank(6),
		of(text, "strip", "stripAnnotations").onlyWide(),
		of(size, "session", "sessionBytes").onlyWide(),
		of(size, "link", "linkBytes").onlyWide(),
		of(size, "high", "outgoingHighBytes").onlyWide(),
		of(size, "low", "outgoingLowBytes").onlyWide(),
		of(size, "max-message", "maxMessageSize").unlessZero().onlyWide(),
	},
}

var connectors = &View{
	Name: "connectors", Also: []string{"connector"}, About: "peers to stay connected to, and whether it works",
	title: "Connectors", typ: "connector", names: []string{"name", "host"}, order: []string{"name"},
	columns: []Column{
		of(text, "name", "name").cut(16),
		of(text, "host", "host").cut(12),
		of(text, "port", "port"),
		of(text, "role", "role"),
		of(text, "status", "connectionStatus"),
		of(text, "message", "connectionMsg").cut(20).rank(1),
		of(text, "tls", "sslProfile").cut(8).rank(2),
		of(text, "user", "saslUsername").cut(8).rank(3),
		of(count, "cost", "cost").rank(4),
		of(count, "capacity", "linkCapacity").rank(5),
		of(age, "idle", "idleTimeoutSeconds").unlessZero().rank(5),
		of(text, "failover", "failoverUrls").onlyWide(),
		of(flagged, "verify-host", "verifyHostname").onlyWide(),
		of(size, "frame", "maxFrameSize").onlyWide(),
	},
}

var configAddresses = &View{
	Name: "config-addresses", Also: []string{"config-address"}, About: "how addresses are to be treated",
	title: "Addresses", typ: "router.config.address", names: []string{"name", "prefix", "pattern"}, order: []string{"match"},
	columns: []Column{
		made(text, "match", func(r *Record) any {
			if p := r.text("pattern"); p != "" {
				return p
			}
			if p := r.text("prefix"); p != "" {
				return p + " (prefix)"
			}
			return nil
		}, "prefix").cut(16),
		of(text, "distrib", "distribution"),
		made(count, "pri", priority, "priority").rank(3),
		of(flagged, "waypoint", "waypoint").rank(5),
		made(text, "phases", func(r *Record) any {
			return shown(r.get("ingressPhase")) + "→" + shown(r.get("egressPhase"))
		}, "ingressPhase", "egressPhase").rank(6),
		of(flagged, "redeliver", "redeliver").rank(1),
		of(age, "unsettled", "unsettledTimeoutSeconds").unlessZero().rank(2),
		of(age, "patience", "multicastPatienceSeconds").unlessZero().rank(4),
		of(size, "high", "waitingHighBytes").rank(3),
		of(size, "low", "waitingLowBytes").onlyWide(),
		of(count, "high-count", "waitingHighCount").rank(3),
		of(count, "low-count", "waitingLowCount").onlyWide(),
		of(text, "name", "name").cut(10).rank(7),
	},
}

var sslProfiles = &View{
	Name: "ssl-profiles", Also: []string{"sslprofiles", "ssl-profile", "sslProfile"}, About: "certificates, and rules for TLS",
	title: "SSL Profiles", typ: "sslProfile", names: []string{"name"}, order: []string{"name"},
	columns: []Column{
		of(text, "name", "name").cut(12),
		of(text, "certificate", "certFile").cut(16),
		of(text, "key", "privateKeyFile").cut(16).rank(2),
		of(text, "trusts", "caCertFile").cut(16).rank(1),
		of(text, "protocols", "protocols").cut(8).rank(3),
		of(text, "ciphers", "ciphers").cut(10).rank(4),
		of(text, "uid", "uidFormat").rank(5),
	},
}

var logModules = &View{
	Name: "log-modules", Also: []string{"log-module"}, About: "what each module logs",
	title: "Log", typ: "log", names: []string{"module"}, order: []string{"module"},
	columns: []Column{
		of(text, "module", "module"),
		of(text, "enable", "enable"),
		of(text, "output", "outputFile").cut(16),
		of(flagged, "source", "includeSource").rank(1),
		of(flagged, "time", "includeTimestamp").rank(2),
	},
}
