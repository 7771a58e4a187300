package stat

import (
	"fmt"

	"sluice/cmd/internal/management/agenttest"
)

// What two routers have: one serves all attributes that sluice has, the other
// those of Qpid Dispatch.

var client7 = map[string]any{
	"name": "connection/127.0.0.1:50007", "identity": "7", "host": "127.0.0.1:50007", "container": "orders-consumer", "role": "normal",
	"dir": "in", "isEncrypted": true, "sslProto": "TLSv1.3", "sslCipher": "TLS_AES_128_GCM_SHA256", "isAuthenticated": true,
	"user": "alice", "sasl": "PLAIN", "lastDlvSeconds": uint32(2), "uptimeSeconds": uint32(11045),
	"properties": map[string]any{"product": "a-client", "version": "1.2"},
}

var client12 = like(client7, "name", "connection/127.0.0.1:50012", "identity", "12", "host", "127.0.0.1:50012", "container", "orders-producer",
	"isEncrypted", false, "isAuthenticated", false, "user", nil, "sasl", nil, "lastDlvSeconds", nil, "uptimeSeconds", uint32(61))

var edge3 = like(client12, "name", "connection/127.0.0.1:50003", "identity", "3", "host", "127.0.0.1:50003", "container", "E1", "role", "edge",
	"isAuthenticated", true, "user", "anonymous", "sasl", "ANONYMOUS", "active", true, "uptimeSeconds", uint32(400_000))

func own(e map[string]any, links, bytes int) map[string]any {
	return like(e, "linkCount", uint32(links), "bytesIn", uint64(bytes), "bytesOut", uint64(bytes/3), "blocked", false)
}

var link21 = map[string]any{
	"name": "l", "identity": "21", "linkName": "l", "linkType": "endpoint", "linkDir": "in", "owningAddr": "M0orders", "capacity": uint32(250),
	"connectionId": "12", "undeliveredCount": uint64(40), "unsettledCount": uint64(210), "deliveryCount": uint64(1_234_567), "presettledCount": uint64(0),
	"droppedPresettledCount": uint64(0), "acceptedCount": uint64(1_234_357), "rejectedCount": uint64(3), "releasedCount": uint64(0), "modifiedCount": uint64(1),
	"deliveriesStuck": uint64(12), "priority": uint32(4), "settleRate": uint32(0), "creditAvailable": uint32(0), "zeroCreditSeconds": uint32(95),
	"adminStatus": "enabled", "operStatus": "up", "deliveriesDelayed1Sec": uint64(5), "deliveriesDelayed10Sec": uint64(2),
}

var link9 = like(link21, "identity", "9", "linkDir", "out", "connectionId", "7", "undeliveredCount", uint64(250), "creditAvailable", uint32(10),
	"zeroCreditSeconds", uint32(0), "acceptedCount", uint64(1_200_000))

var link10 = like(link9, "identity", "10", "owningAddr", "Ltemp.x", "deliveriesStuck", uint64(0), "undeliveredCount", uint64(0), "unsettledCount", uint64(0), "deliveryCount", uint64(7))

func stages(l map[string]any, window, in, message, out int, waitsFor any, whom any, waited any) map[string]any {
	return like(l, "sessionWindow", uint32(window), "incomingBytes", uint64(in), "messageBytes", uint64(message), "outgoingBytes", uint64(out),
		"transferredBytes", uint64(5<<30), "waitsFor", waitsFor, "waitsForPeer", whom, "waitsSeconds", waited, "oldestUnsettledSeconds", waited,
		"deliveriesDelayed1Sec", nil, "deliveriesDelayed10Sec", nil)
}

var ordersAddress = map[string]any{
	"name": "M0orders", "identity": "M0orders", "key": "M0orders", "distribution": "balanced", "inProcess": uint32(0), "subscriberCount": uint32(1), "remoteCount": uint32(2),
	"containerCount": uint32(0), "deliveriesIngress": uint64(1_234_567), "deliveriesEgress": uint64(1_200_000), "deliveriesTransit": uint64(12),
	"deliveriesToContainer": uint64(0), "deliveriesFromContainer": uint64(0), "priority": int32(7), "remoteHostRouters": []any{"B", "C"},
}

var routerA = map[string]any{
	"name": "A", "identity": "1", "id": "A", "mode": "interior", "version": "1.19.0", "hostName": "host", "uptimeSeconds": uint32(3723), "workerThreads": int32(4),
	"memoryUsage": uint64(411521024), "nodeCount": uint64(2), "connectionCount": uint64(3), "linkCount": uint64(1032), "addrCount": uint64(22),
	"linkRouteCount": uint64(0), "autoLinkCount": uint64(0), "deliveriesIngress": uint64(1_234_567), "deliveriesEgress": uint64(1_200_000),
	"deliveriesTransit": uint64(12), "presettledDeliveries": uint64(0), "droppedPresettledDeliveries": uint64(0), "acceptedDeliveries": uint64(1_234_357),
	"rejectedDeliveries": uint64(3), "releasedDeliveries": uint64(0), "modifiedDeliveries": uint64(1), "deliveriesStuck": uint64(24), "linksBlocked": uint32(1),
}

var nodeA = map[string]any{
	"name": "router.node/A", "identity": "router.node/A", "id": "A", "protocolVersion": int32(1), "instance": int32(1796011658), "linkState": []any{"B"},
	"nextHop": "(self)", "validOrigins": []any{}, "address": "amqp:/_topo/0/A", "routerLink": nil, "cost": nil, "lastTopoChange": nil,
}

func dispatch() *agenttest.Agent {
	return &agenttest.Agent{Nodes: []string{"A", "B"}, NamesUnknown: true, NoPages: false, Tables: map[string]*agenttest.Table{
		"router":         rows(routerA),
		"connection":     rows(client12, client7, edge3),
		"router.link":    rows(link21, link9, link10),
		"router.address": rows(ordersAddress, like(ordersAddress, "key", "RB", "identity", "RB", "priority", int32(-1))),
		"router.node": rows(nodeA, like(nodeA, "name", "router.node/B", "identity", "router.node/B", "id", "B", "nextHop", nil, "linkState", []any{"A", "C"}, "cost", int32(1), "routerLink", int32(0)),
			like(nodeA, "name", "router.node/C", "identity", "router.node/C", "id", "C", "nextHop", "B", "linkState", []any{"B"}, "cost", int32(3), "validOrigins", []any{"A", "B"})),
		"allocator": rows(
			map[string]any{"name": "allocator/small", "identity": "allocator/small", "typeName": "small", "typeSize": int32(64), "totalAllocFromHeap": int32(320), "heldByThreads": int32(320)},
			map[string]any{"name": "allocator/large", "identity": "allocator/large", "typeName": "large", "typeSize": int32(4096), "totalAllocFromHeap": int32(128), "heldByThreads": int32(12)}),
	}}
}

func sluice() *agenttest.Agent {
	a := dispatch()
	a.NamesUnknown = false
	a.Tables["connection"] = rows(own(client12, 2, 5<<20), own(client7, 1, 700), own(edge3, 20, 1<<30))
	a.Tables["router.link"] = rows(
		stages(link21, 61, 4<<20, 1<<20, 0, "receiver", "orders-consumer", uint32(95)),
		stages(link9, 2048, 0, 2<<20, 600<<10, "socket", "orders-consumer", uint32(130)),
		stages(link10, 2048, 0, 0, 0, nil, nil, nil),
	)
	a.Tables["router.address"] = rows(like(ordersAddress, "senderCount", uint32(1), "gate", "full", "waitingCount", uint32(40), "waitingBytes", uint64(16<<20), "retainedBytes", uint64(0),
		"droppedNoDestination", uint64(1), "droppedExpired", uint64(2), "droppedSlow", uint64(0), "redelivered", uint64(4), "fullCount", uint64(9)))
	a.Tables["router"] = rows(like(routerA, "incomingBytes", uint64(4<<20), "messageBytes", uint64(3<<20), "outgoingBytes", uint64(600<<10), "bufferBytes", uint64(12<<20), "memoryLimit", int32(0),
		"residentMemory", int64(31<<20), "residentMemoryParts", map[string]any{"buffers": int64(12 << 20), "pools": int64(1 << 20), "connections": int64(17 << 10), "links": int64(1290 << 10),
			"addresses": int64(44 << 10), "objects": int64(2 << 20), "heap_unused": int64(1 << 20), "heap_free": int64(0), "stacks": int64(640 << 10), "runtime": int64(3 << 20), "binary": int64(10 << 20)}))
	a.Tables["allocator"] = &agenttest.Table{Attributes: []string{"name", "identity"}}
	a.Tables["listener"] = rows(map[string]any{"name": "listener/0.0.0.0:amqp", "identity": "listener/0.0.0.0:amqp", "host": "0.0.0.0", "port": "amqp", "role": "normal", "http": false,
		"sslProfile": nil, "requireSsl": false, "authenticatePeer": true, "saslMechanisms": "PLAIN EXTERNAL", "cost": int32(1), "linkCapacity": int32(250), "idleTimeoutSeconds": int32(16), "maxFrameSize": int32(16384)})
	a.Tables["connector"] = rows(map[string]any{"name": "to-b", "identity": "connector/b:5671:to-b", "host": "b.example.com", "port": "5671", "role": "inter-router", "connectionStatus": "CONNECTING",
		"connectionMsg": "dial tcp 192.0.2.1:5671: connect: connection refused", "sslProfile": "mesh", "saslUsername": nil, "cost": int32(10)})
	a.Tables["router.config.address"] = rows(map[string]any{"name": "o", "identity": "1", "prefix": "orders", "pattern": nil, "distribution": "balanced", "waypoint": false,
		"ingressPhase": int32(0), "egressPhase": int32(0), "priority": int32(-1), "redeliver": true, "unsettledTimeoutSeconds": int32(30), "waitingHighBytes": int32(16 << 20)})
	a.Tables["sslProfile"] = &agenttest.Table{Attributes: []string{"name", "identity", "certFile"}}
	a.Tables["log"] = rows(map[string]any{"name": "log/DEFAULT", "identity": "log/DEFAULT", "module": "DEFAULT", "enable": "info+", "outputFile": "stderr"})
	a.Log = [][]any{
		{"SERVER", "notice", "Listening on 0.0.0.0:amqp", nil, nil, int32(1796045000)},
		{"POLICY", "warning", "two\nlines", "policy.go", int32(7), int32(1796045001)},
	}
	return a
}

// many is an agent with n links, on ten connections.
func many(n int) *agenttest.Agent {
	t := &agenttest.Table{Attributes: []string{"name", "identity", "linkName", "linkDir", "owningAddr", "connectionId", "deliveryCount", "acceptedCount", "creditAvailable"}, N: n}
	t.Make = func(i int) []any {
		return []any{"l", fmt.Sprint(i), "l", "in", fmt.Sprintf("M0queue.%d", i%1000), fmt.Sprint(i % 10), uint64(i), uint64(i / 2), uint32(250)}
	}
	var connections []map[string]any
	for i := range 10 {
		connections = append(connections, like(client7, "identity", fmt.Sprint(i), "container", fmt.Sprint("client-", i)))
	}
	return &agenttest.Agent{Tables: map[string]*agenttest.Table{"router.link": t, "connection": rows(connections...)}}
}
