package management

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sluice/amqp/encoding"
	"sluice/router/control/config"
	"sluice/router/control/schema"
)

// Requests and their answers, as the tools of the existing family have them.
func TestAnswers(t *testing.T) {
	for _, e := range []struct {
		ap     string
		body   encoding.Map
		status int32
		answer string // "…" stands for anything
	}{
		{"operation=QUERY, type=org.amqp.management, name=self, entityType=...router.address, offset=1, count=1",
			m("attributeNames", []any{"name", "distribution", "subscriberCount"}), 200,
			`{attributeNames:["name","distribution","subscriberCount"],results:[["M0$management","closest",uint(0)]]}`},
		{"operation=QUERY, type=...router.address", m("attributeNames", []any{"name"}), 200, `{attributeNames:["name"],results:[["Lqdhello"],["M0$management"]]}`},
		{"operation=query, entityType=router.node", nil, 200,
			`{attributeNames:["id","protocolVersion","instance","linkState","nextHop","validOrigins","address","routerLink","cost","lastTopoChange","index","name","identity","type"],` +
				`results:[["A",int(1),int(1796011658),["B"],"(self)",[],"amqp:/_topo/0/A",null,null,int(1796011666),int(0),"router.node/A","router.node/A","...router.node"],` +
				`["B",int(1),null,null,null,[],"amqp:/_topo/0/B",int(0),int(3),null,int(1),"router.node/B","router.node/B","...router.node"]]}`},
		{"operation=READ, identity=router.node/B", nil, 200, `{id:"B",protocolVersion:int(1),validOrigins:[],…`},
		{"operation=READ, name=router.node/B, type=router.node", nil, 200, `{id:"B",…`},
		{"operation=READ, type=...connection, identity=5", nil, 200,
			`{name:"connection/127.0.0.1:36690",identity:"5",host:"127.0.0.1:36690",role:"inter-router",protocol:"amqp",dir:"in",container:"B",sasl:"ANONYMOUS",` +
				`isAuthenticated:true,user:"anonymous",isEncrypted:false,sslProto:null,sslCipher:null,properties:{product:"qpid-dispatch-router",qd.conn-id:int(2)},` +
				`sslSsf:long(0),tenant:null,type:"...connection",ssl:false,opened:true,active:true,adminStatus:"enabled",operStatus:"up",uptimeSeconds:uint(25),lastDlvSeconds:uint(1),enableProtocolTrace:false,…`},
		{"operation=READ, type=...router.link, identity=10", nil, 200,
			`{name:"qdlink.q",identity:"10",type:"...router.link",linkName:"qdlink.q",linkType:"endpoint",linkDir:"in",owningAddr:null,capacity:uint(250),peer:null,undeliveredCount:ulong(0),…`},
		{"operation=READ, type=router, name=router/A", nil, 200, `{name:"A",identity:"1",id:"A",type:"...router",mode:"interior",area:"0",version:"1",metadata:"test router",addrCount:ulong(99),linkCount:ulong(99),…`},
		{"operation=READ, identity=router/A", nil, 200, `{name:"A",identity:"1",id:"A",…`},
		{"operation=READ, name=self", nil, 200, `{name:"self",identity:"self",type:"...management"}`},
		{"operation=READ", nil, 200, `{name:"self",identity:"self",type:"...management"}`},
		{"operation=CREATE, type=...router.config.address, name=fooaddr", m("prefix", "foo", "distribution", "closest"), 201,
			`{name:"fooaddr",identity:"2",type:"...router.config.address",prefix:"foo",distribution:"closest",waypoint:false,ingressPhase:int(0),egressPhase:int(0),pattern:null,priority:int(-1),fallback:false,enableFallback:false,…`},
		{"operation=CREATE, type=...router.config.address", m("pattern", "/a/*/b/", "priority", uint64(7), "redeliver", "yes"), 201,
			`{name:"address/1",identity:"2",type:"...router.config.address",prefix:null,distribution:"balanced",waypoint:false,ingressPhase:int(0),egressPhase:int(0),pattern:"a/*/b",priority:int(7),…`},
		{"operation=CREATE, type=...listener, name=new2", m("port", int32(22042), "host", "127.0.0.1", "maxFrameSize", "4096", "http", "no"), 201,
			`{host:"127.0.0.1",port:"22042",role:"normal",cost:int(1),authenticatePeer:false,requireEncryption:false,requireSsl:false,maxFrameSize:int(4096),…`},
		{"operation=CREATE, type=...connector", m("name", "c2", "port", "22043", "saslPassword", "pass:x", "verifyHostName", false), 201, `{host:"127.0.0.1",port:"22043",role:"normal",…`},
		{"operation=UPDATE, type=...log, identity=log/HTTP", m("enable", "warning+"), 200, `{module:"HTTP",enable:"warning+",name:"log/HTTP",identity:"log/HTTP",type:"...log"}`},
		{"operation=UPDATE, type=...router.link, identity=10", m("adminStatus", "enabled"), 200, `{name:"qdlink.q",…`},
		{"operation=UPDATE, type=...router.link, identity=10", m("adminStatus", "disabled"), 200, `{name:null,identity:"10",…`},
		{"operation=UPDATE, type=...connection, identity=5", m("adminStatus", "enabled"), 200, `{name:"connection/127.0.0.1:36690",…`},
		{"operation=DELETE, type=...listener, name=amqp-in", nil, 204, `{}`},
		{"operation=DELETE, identity=listener/127.0.0.1:22010:amqp-in", nil, 204, `{}`},
		{"operation=DELETE, type=connector, name=brk", nil, 204, `{}`},
		{"operation=DELETE, type=...router.config.address, name=mc", nil, 204, `{}`},
		{"operation=DELETE, type=...router.config.address, identity=1", nil, 204, `{}`},
		{"operation=GET-TYPES, entityType=listener", nil, 200, `{...listener:["...configurationEntity","...entity"]}`},
		{"operation=get-operations, entityType=...listener", nil, 200, `{...listener:["CREATE","DELETE","READ"]}`},
		{"operation=CREATE, type=dummy, name=d1", m("arg1", "x", "num1", int64(1<<40), "num2", uint32(3)), 201,
			`{arg1:"x",num1:long(1099511627776),num2:int(3),name:"d1",identity:"dummy/0",type:"...dummy"}`},
		{"operation=GET-OPERATIONS, entityType=dummy", nil, 200, `{...dummy:["CREATE","READ","UPDATE","DELETE","CALLME"]}`},
		{"operation=READ, name=log/DEFAULT", nil, 200, `{module:"DEFAULT",enable:"info+",includeTimestamp:true,includeSource:false,outputFile:"stderr",…`},
		{"operation=GET-OPERATIONS, entityType=vhost", nil, 200, `{...vhost:["READ"]}`},
		{"operation=GET-ATTRIBUTES, entityType=sslProfile", nil, 200,
			`{...sslProfile:["ciphers","protocols","caCertFile","certFile","privateKeyFile","passwordFile","password","uidFormat","uidNameMappingFile","name","identity","type"]}`},
		{"operation=GET-ANNOTATIONS", nil, 200, `{}`},
		{"operation=GET-MGMT-NODES", nil, 200, `["amqp:/_topo/0/A/$management","amqp:/_topo/0/B/$management"]`},
		{"operation=GET-LOG, limit=1", nil, 200, `[["AGENT","info","something n=1",null,null,int(…`},
		{"operation=GET-LOG, limit=0", nil, 200, `[]`},
		{"operation=QUERY, entityType=allocator", m("attributeNames", []any{"identity", "typeName", "typeSize", "totalAllocFromHeap", "heldByThreads", "transferBatchSize"}), 200,
			`{attributeNames:["identity","typeName","typeSize","totalAllocFromHeap","heldByThreads","transferBatchSize"],results:[["allocator/buffer_000256","buffer_000256",int(256),int(8),int(3),null],["allocator/buffer_262144","buffer_262144",int(262144),int(2),int(0),null]]}`},
		{"operation=READ, type=policy, identity=policy/policy", nil, 200, `{enableVhostPolicy:false,…`},
		{"operation=QUERY, entityType=...router.config.linkRoute", m("attributeNames", []any{"prefix", "dir"}), 200, `{attributeNames:["prefix","dir"],results:[]}`},
		{"operation=QUERY, entityType=listener, count=1", m("attributeNames", []any{"name", "port"}), 200, `{attributeNames:["name","port"],results:[["amqp-in","22010"]]}`},
		{"operation=QUERY, entityType=connector", m("attributeNames", []any{"saslUsername", "saslPassword", "connectionStatus", "identity"}), 200,
			`{attributeNames:["saslUsername","saslPassword","connectionStatus","identity"],results:[["fred",null,"CONNECTING","connector/127.0.0.1:22090:brk"]]}`},
		{"operation=QUERY, entityType=...router.link", m("attributeNames", []any{"name", "deliveriesDelayed1Sec", "connectionId"}), 200, `{attributeNames:["name","deliveriesDelayed1Sec","connectionId"],results:[["qdlink.q",ulong(0),"5"]]}`},
		{"operation=QUERY, entityType=router.address", m("attributeNames", []any{"name", "trackedDeliveries"}), 200, `{attributeNames:["name"],results:[…`},
	} {
		f := newFake(t)
		f.logs = loggedOnce(t)
		d := NewDesk(f)
		var body any
		if e.body != nil {
			body = e.body
		}
		status, text, answer := ask(t, d, properties(e.ap), body)
		got := show(answer)
		want, open := strings.CutSuffix(e.answer, "…")
		if status != e.status || text != statusWords[e.status] || got != want && (!open || !strings.HasPrefix(got, want)) {
			t.Errorf("%s %v:\ngot  %d %s %s\nwant %d %s", e.ap, e.body, status, text, got, e.status, e.answer)
		}
	}
}

// The columns of a QUERY for all are in the order of the schema, those of the
// agent of numbered entities first.
func TestColumns(t *testing.T) {
	d := NewDesk(newFake(t))
	for _, k := range d.kinds {
		core := -1
		for _, name := range k.columns {
			a := k.schema.Attribute(name)
			if a == nil {
				t.Fatalf("%s: no attribute %s", k.name(), name)
			}
			if k.numbered && a.CoreColumn >= 0 && name == a.Name {
				if a.CoreColumn < core {
					t.Errorf("%s.%s comes too late", k.name(), name)
				}
				core = a.CoreColumn
			}
		}
		row, ok := []any(nil), false
		for _, id := range k.list() {
			if row, ok = k.row(id, row); !ok {
				t.Errorf("%s: %s is listed and not there", k.name(), id)
			}
			if row[k.column("identity")] == nil || row[k.column("type")] != k.full() {
				t.Errorf("%s: the row has no identity or another type: %v", k.name(), row)
			}
			if !k.numbered {
				continue
			}
			for i, v := range row {
				a := k.schema.Attribute(k.columns[i])
				if typ := strings.TrimPrefix(fmt.Sprintf("%T", v), "encoding."); v != nil && a.CoreType != "" && !wireType(a.CoreType, typ) {
					t.Errorf("%s.%s is a %s, want %s", k.name(), a.Name, typ, a.CoreType)
				}
			}
		}
	}
}

func wireType(want, got string) bool {
	names := map[string]string{"uint64": "ulong", "uint32": "uint", "int32": "int", "int64": "long", "bool": "boolean", "string": "string", "[]interface {}": "list", "Map": "map"}
	return strings.HasPrefix(want, names[got]) && names[got] != ""
}

// A list of all types has the counts of its own rows, identities that say their
// type, and no row without a value.
// A row has each attribute once, and none that no type could have.
func TestManyAttributeNames(t *testing.T) {
	d := NewDesk(newFake(t))
	many := make([]any, 80_000)
	for i := range many {
		many[i] = "x"
	}
	for i, name := range []any{"name", "identity", "name"} {
		many[1000*i] = name
	}
	_, _, answer := ask(t, d, properties("operation=QUERY"), m("attributeNames", many))
	if got := show(answer); !strings.HasPrefix(got, `{attributeNames:["name","x","identity"],`) {
		t.Errorf("names that come twice: %.200s", got)
	}
	for i := range many {
		many[i] = fmt.Sprint("x", i)
	}
	for _, ap := range []string{"operation=QUERY", "operation=QUERY, entityType=listener"} {
		if status, text, _ := ask(t, d, properties(ap), m("attributeNames", many)); status != 400 || !strings.Contains(text, "attributes all types have") || len(text) > 200 {
			t.Errorf("%s: %d %.300s", ap, status, text)
		}
	}
}

func TestQueryAll(t *testing.T) {
	d := NewDesk(newFake(t))
	_, _, body := ask(t, d, properties("operation=QUERY"), m("attributeNames", []any{"type", "identity", "linkCount", "addrCount", "name"}))
	rows := body.(encoding.Map)[1].Value.([]any)
	names := map[any]bool{}
	for _, r := range rows {
		row := r.([]any)
		short := strings.TrimPrefix(row[0].(string), schema.Prefix)
		switch id := row[1].(string); short {
		case "management":
			if id != "self" {
				t.Errorf("identity %s", id)
			}
		case "connection":
			if id != "5" {
				t.Errorf("identity %s", id)
			}
		default:
			if !strings.HasPrefix(id, short+"/") {
				t.Errorf("the identity of a %s is %s", short, id)
			}
		}
		if short == "router" && (row[2] != uint64(1) || row[3] != uint64(2)) {
			t.Errorf("the router has %v links and %v addresses", row[2], row[3])
		}
		names[row[4]] = true
	}
	for _, name := range []string{"router/A", "log/DEFAULT", "self", "amqp-in", "mc"} {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
	_, _, body = ask(t, d, properties("operation=QUERY"), m("attributeNames", []any{"saslUsername"}))
	if got := show(body); got != `{attributeNames:["saslUsername"],results:[["fred"]]}` {
		t.Errorf("got %s", got)
	}
	_, _, body = ask(t, d, properties("operation=QUERY, offset=1, count=2"), m("attributeNames", []any{"port"}))
	if got := show(body); got != `{attributeNames:["port"],results:[["22011"],["22090"]]}` {
		t.Errorf("got %s", got)
	}
	_, _, body = ask(t, d, properties("operation=QUERY, entityType=configurationEntity"), m("attributeNames", []any{"mode"}))
	if got := show(body); got != `{attributeNames:["mode"],results:[["interior"]]}` {
		t.Errorf("got %s", got)
	}
}

// Pages look at no more entities than they have rows, and together they are the
// whole; what is too large says how to ask.
func TestPages(t *testing.T) {
	f := newFake(t)
	f.addresses = map[string]Address{}
	for i := range 50000 {
		key := fmt.Sprintf("M0address.%05d", i)
		f.addresses[key] = Address{Key: key, Distribution: "balanced"}
	}
	d := NewDesk(f)
	ap := func(offset, count any) encoding.Map {
		return m("operation", "QUERY", "entityType", "org.apache.qpid.dispatch.router.address", "offset", offset, "count", count)
	}
	_, _, body := ask(t, d, ap(uint32(49900), int64(500)), m("attributeNames", []any{"name"}))
	rows := body.(encoding.Map)[1].Value.([]any)
	if len(rows) != 100 || rows[0].([]any)[0] != "M0address.49900" || f.looked != 100 {
		t.Errorf("%d rows, %d looked at", len(rows), f.looked)
	}
	for _, odd := range []any{int32(-1), uint64(1 << 63), "60000"} {
		_, _, body := ask(t, d, ap(odd, int32(1)), m("attributeNames", []any{"name"}))
		if rows := body.(encoding.Map)[1].Value.([]any); len(rows) > 1 {
			t.Errorf("offset %v: %d rows", odd, len(rows))
		}
	}
	if status, _, body := ask(t, d, ap(nil, int32(0)), nil); status != 200 || len(body.(encoding.Map)[1].Value.([]any)) != 50000 {
		t.Error("a list of all should fit")
	}
	long := strings.Repeat("x", 1000)
	for i := range 50000 {
		key := fmt.Sprintf("M0address.%05d", i)
		f.addresses[key] = Address{Key: key, Gate: long}
	}
	if status, text, _ := ask(t, d, ap(nil, nil), nil); status != 400 || !strings.Contains(text, "offset and count") {
		t.Errorf("%d %s", status, text)
	}
}

// An entity that goes while it is listed is not in the list.
func TestEntitiesThatGo(t *testing.T) {
	f := newFake(t)
	d := NewDesk(f)
	k, _ := d.kind("router.address")
	row := k.row
	k.row = func(id string, to []any) ([]any, bool) {
		delete(f.addresses, "M0$management")
		return row(id, to)
	}
	_, _, body := ask(t, d, properties("operation=QUERY, entityType=router.address"), m("attributeNames", []any{"name"}))
	if got := show(body); got != `{attributeNames:["name"],results:[["Lqdhello"]]}` {
		t.Errorf("got %s", got)
	}
}

// The schema has all types, as maps and as text.
func TestSchema(t *testing.T) {
	d := NewDesk(newFake(t))
	_, _, body := ask(t, d, properties("operation=GET-SCHEMA"), nil)
	top := body.(encoding.Map)
	if top[0].Value != "org.apache.qpid.dispatch" || len(top[1].Value.(encoding.Map)) != 29 {
		t.Errorf("got %v and %d types", top[0].Value, len(top[1].Value.(encoding.Map)))
	}
	_, _, body = ask(t, d, properties("operation=get-json-schema, indent=2"), nil)
	var parsed struct {
		EntityTypes map[string]struct {
			Attributes map[string]map[string]any
			Operations []string
			Type       string `json:"fullyQualifiedType"`
		}
	}
	if err := json.Unmarshal([]byte(body.(string)), &parsed); err != nil {
		t.Fatal(err)
	}
	l := parsed.EntityTypes["listener"]
	if l.Type != "org.apache.qpid.dispatch.listener" || l.Attributes["port"]["default"] != "amqp" || l.Attributes["http"]["type"] != "boolean" || len(l.Operations) != 3 {
		t.Errorf("got %+v", l)
	}
	if role := l.Attributes["role"]; fmt.Sprint(role["type"]) != "[normal inter-router route-container edge]" || role["required"] != nil {
		t.Errorf("got %v", role)
	}
	if parsed.EntityTypes["address"].Type != "org.apache.qpid.dispatch.router.config.address" {
		t.Error("address is missing")
	}
	if !strings.Contains(body.(string), "\n  \"") {
		t.Error("it is not indented")
	}
	for _, op := range []string{"GET-TYPES", "GET-ATTRIBUTES", "GET-OPERATIONS"} {
		if _, _, body := ask(t, d, properties("operation="+op), nil); len(body.(encoding.Map)) != 29 {
			t.Errorf("%s: %d types", op, len(body.(encoding.Map)))
		}
	}
}

// Roles that a router's mode does not have are refused while it runs, too.
func TestRoles(t *testing.T) {
	for mode, want := range map[config.Mode]string{
		config.Standalone: "role='standalone' not allowed to connect to or accept connections from other routers.",
		config.EdgeMode:   "role='inter-router' only allowed with router mode='interior'",
		config.Interior:   "Created",
	} {
		f := newFake(t)
		f.self.Mode = mode
		for _, typ := range []string{"listener", "connector"} {
			_, text, _ := ask(t, NewDesk(f), properties("operation=CREATE, name=x, type=..."+typ), m("port", "7", "role", "inter-router"))
			if text != want {
				t.Errorf("%s: %s", mode, text)
			}
		}
	}
	f := newFake(t)
	f.self.Mode = config.EdgeMode
	if _, text, _ := ask(t, NewDesk(f), properties("operation=CREATE, name=x, type=...listener"), m("port", "7", "role", "edge")); text != "role='edge' only allowed with router mode='interior'" {
		t.Error(text)
	}
}

// What the router cannot do is the answer to a request.
func TestRouterRefuses(t *testing.T) {
	f := newFake(t)
	f.refuse = fmt.Errorf("cannot listen on 127.0.0.1:1: address already in use")
	if status, text, _ := ask(t, NewDesk(f), properties("operation=CREATE, name=x, type=...listener"), m("port", "1")); status != 400 || text != f.refuse.Error() {
		t.Errorf("%d %s", status, text)
	}
}

// A log's settings are changed and given back to those of DEFAULT.
func TestUpdateLog(t *testing.T) {
	f := newFake(t)
	d := NewDesk(f)
	file := filepath.Join(t.TempDir(), "log")
	ap := properties("operation=UPDATE, name=log/HTTP, type=...log")
	_, _, body := ask(t, d, ap, m("enable", "debug,error", "timestamp", "no", "includeSource", true, "outputFile", file, "module", "HTTP"))
	if got, want := show(body), fmt.Sprintf(`{module:"HTTP",enable:"debug,error",includeTimestamp:false,includeSource:true,outputFile:%q,name:"log/HTTP",identity:"log/HTTP",type:"...log"}`, file); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, _, body = ask(t, d, ap, m("enable", nil, "includeSource", nil, "includeTimestamp", nil, "outputFile", nil))
	if got, want := show(body), `{module:"HTTP",name:"log/HTTP",identity:"log/HTTP",type:"...log"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, _, body = ask(t, d, properties("operation=QUERY, entityType=logStats"), m("attributeNames", []any{"name", "infoCount"}))
	if got := show(body); !strings.Contains(got, `["AGENT",int(0)]`) {
		t.Errorf("got %s", got)
	}
}

// Dummies can be changed, called and deleted.
func TestDummy(t *testing.T) {
	d := NewDesk(newFake(t))
	ask(t, d, properties("operation=CREATE, type=...dummy, name=d1"), m("arg1", "x"))
	if status, text, _ := ask(t, d, properties("operation=CREATE, type=...dummy, name=d1"), m()); status != 400 {
		t.Errorf("%d %s", status, text)
	}
	_, _, body := ask(t, d, properties("operation=UPDATE, type=dummy, name=d1"), m("num1", int32(42), "arg1", nil, "name", "d1", "identity", "dummy/0"))
	if got := show(body); got != `{num1:int(42),name:"d1",identity:"dummy/0",type:"...dummy"}` {
		t.Errorf("got %s", got)
	}
	_, _, body = ask(t, d, properties("operation=CALLME, type=...dummy, name=d1, x=y"), nil)
	if got := show(body); got != `{operation:"CALLME",type:"...dummy",name:"d1",x:"y"}` {
		t.Errorf("got %s", got)
	}
	ask(t, d, properties("operation=DELETE, identity=dummy/0"), nil)
	if status, _, _ := ask(t, d, properties("operation=READ, name=d1"), nil); status != 404 {
		t.Errorf("got %d", status)
	}
}

// An address without a name has one that is made of its number.
func TestUnnamedAddress(t *testing.T) {
	f := newFake(t)
	d := NewDesk(f)
	ask(t, d, properties("operation=CREATE, type=...router.config.address"), m("prefix", "x"))
	if status, _, body := ask(t, d, properties("operation=READ, type=...router.config.address, name=address/1"), nil); status != 200 {
		t.Errorf("%d %s", status, show(body))
	}
	for _, name := range []string{"address/0", "address/7", "address/x", "address/-1", "address/18446744073709551615"} {
		if status, _, _ := ask(t, d, properties("operation=READ, type=...router.config.address, name="+name), nil); status != 404 {
			t.Errorf("%s: %d", name, status)
		}
	}
}
