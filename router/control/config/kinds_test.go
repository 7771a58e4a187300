package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What people write who come from other programs, other releases and other
// syntaxes is told so, with what is right, all of it in one run.
func TestKindsOfMistakes(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, file, text string
		want             []string // without file and severity
	}{
		{"YAML in a .conf", "x.conf", "# a router\nrouter:\n  mode: interor\n  id: A\nlistener:\n  - host: ::1\n    port: x y\n", []string{
			`2:1: the file is in YAML, and its name does not end so; expected a file name that ends in .yaml`,
			`3:9: "interor" is no valid mode; expected one of standalone, interior, edge; did you mean interior?`,
			`7:11: "x y" is no port; expected a number from 0 to 65535, or the name of a service`,
		}},
		{"flow YAML in a .conf", "x.conf", "router: {id: A}\n", []string{`1:1: the file is in YAML, and its name does not end so; expected a file name that ends in .yaml`}},
		{"JSON in a .conf", "x.conf", "{\"router\": {\"mode\": \"egde\"}}\n", []string{
			`1:1: the file is in JSON, and its name does not end so; expected a file name that ends in .json`,
			`1:21: "egde" is no valid mode; expected one of standalone, interior, edge; did you mean edge?`,
		}},
		{"a list of entities in a .conf", "x.conf", "[\n[\"router\", {\"id\": \"A\"}]]\n", []string{`1:1: the file is in JSON, and its name does not end so; expected a file name that ends in .json`}},
		{"conf in a .yaml", "x.yaml", "router {\n  mod: interior\n}\n", []string{
			`1:1: the file is in the syntax of qdrouterd.conf, and its name does not end so; expected a file name that ends in .conf`,
			`2:3: unknown attribute "mod" of router; did you mean mode?`,
		}},
		{"conf in a .json", "x.json", "router {\n  id: A\n}\n", []string{`1:1: the file is in the syntax of qdrouterd.conf, and its name does not end so; expected a file name that ends in .conf`}},
		{"sections of an INI file", "x.conf", "[router]\nid=A\n", []string{
			`1:1: line is not understood: "[router]"; expected router {, and } behind its attributes`,
			`2:1: no colon after "id"; expected a colon: id: A`,
		}},
		{"comments of other languages", "x.conf", "// a\nrouter {\n; b\n-- c\n/* d */\nid: A\n}\n", []string{
			`1:1: line is not understood: "// a"; expected comments to begin with #`,
			`3:1: line is not understood: "; b"; expected comments to begin with #`,
			`4:1: line is not understood: "-- c"; expected comments to begin with #`,
			`5:1: line is not understood: "/* d */"; expected comments to begin with #`,
		}},
		{"a comment in JSON", "x.json", "{\n// a\n}\n", []string{`2:1: "/" is not valid here; expected comments to begin with #, and a name in double quotes`}},
		{"single quotes in JSON", "x.json", "{'router': {}}", []string{`1:2: "'" is not valid here; expected a name in double quotes: single quotes are none in JSON`}},
		{"an include", "x.conf", "include /etc/a.conf\nrouter {\nid: A\n}\n", []string{`1:1: files cannot include others; expected several files on the command line, as in sluice run -c A.conf -c B.conf`}},
		{"a brace too many", "x.conf", "router {\nid: A\n}\n}\n", []string{`4:1: } closes nothing; expected one } for each {`}},
		{"a file put behind another that does not end with a line", "x.conf", "router {\nid: A\n}listener {\nhost: ::1\nprot: 1\n} }\n", []string{
			`3:1: text after } is not understood; expected } on a line of its own`,
			`5:1: unknown attribute "prot" of listener; did you mean port?`,
			`6:1: text after } is not understood; expected } on a line of its own`,
			`6:3: } closes nothing; expected one } for each {`,
		}},
		{"a brace too few", "x.conf", "router {\nid: A\nlistener {\nhost: ::1\n}\n", []string{`3:1: router, which began on line 1, is not closed; expected }`}},
		{"sections in capitals", "x.conf", "Router {\nmode: interor\n}\n", []string{
			`1:1: unknown section "Router"; did you mean router?`,
			`2:7: "interor" is no valid mode; expected one of standalone, interior, edge; did you mean interior?`,
		}},
		{"sections in the plural", "x.yaml", "listeners:\n- host: ::1\n  prot: 5672\n", []string{
			`2:3: unknown section "listeners"; did you mean listener?`,
			`3:3: unknown attribute "prot" of listener; did you mean port?`,
		}},
		{"sections of older releases", "x.conf", "container {\ncontainerName: A\n}\nfixedAddress {\nprefix: a\nfanout: multiple\n}\n", []string{
			`1:1: unknown section "container"; did you mean router?`,
			`4:1: unknown section "fixedAddress"; did you mean address?`,
		}},
		{"attributes of older releases", "x.conf", "router {\nrouterId: A\n}\nlistener {\naddr: ::1\ncert-db: x\n}\naddress {\nprefix: a\nfanout: multiple\n}\n", []string{
			`2:1: unknown attribute "routerId" of router; did you mean id?`,
			`5:1: unknown attribute "addr" of listener; did you mean host?`,
			`6:1: unknown attribute "cert-db" of listener; did you mean sslProfile?`,
			`10:1: unknown attribute "fanout" of address; did you mean distribution: multicast?`,
		}},
		{"the address of a connector", "x.conf", "connector {\naddress: h.example\n}\n", []string{
			`2:1: unknown attribute "address" of connector; did you mean host?`,
		}},
		{"attributes of other sections", "x.conf", "listener {\nhost: ::1\nverifyHostname: no\nhelloMaxAgeSeconds: 3\n}\naddress {\nprefix: a\nport: 1\n}\n", []string{
			`3:1: unknown attribute "verifyHostname" of listener; expected it in connector`,
			`4:1: unknown attribute "helloMaxAgeSeconds" of listener; expected it in router`,
			`8:1: unknown attribute "port" of address; expected it in authServicePlugin, listener or connector`,
		}},
		{"a host with its port", "x.conf", "listener {\nhost: 127.0.0.1:5672\n}\nconnector {\nhost: amqps://h.example:5671/x\nport: 5671\n}\nconnector {\nhost: amqp://h.example\nport: 1\n}\n", []string{
			`2:7: host "127.0.0.1:5672" has a colon; expected host: 127.0.0.1 and, in a line of its own, port: 5672`,
			`5:7: host "amqps://h.example:5671/x" is a URL; expected host: h.example and, in a line of its own, port: 5671`,
			`9:7: host "amqp://h.example" is a URL; expected host: h.example`,
		}},
		{"variables", "x.conf", "router {\nhelloIntervalSeconds: ${HELLO}\n}\nlistener {\nhost: ::1\nport: %PORT%\nauthenticatePeer: {{ auth }}\n}\n", []string{
			`2:23: "${HELLO}" of helloIntervalSeconds is no integer; expected an integer from 1 to 86400, in seconds and without a unit; ${HELLO} is not replaced by anything`,
			`6:7: "%PORT%" is no port; expected a number from 0 to 65535, or the name of a service; %PORT% is not replaced by anything`,
			`7:19: text after { is not understood; expected nothing after the brace; attributes follow one to a line; {{ auth }} is not replaced by anything`,
		}},
		{"a boolean that is misspelled", "x.conf", "listener {\nhost: ::1\nauthenticatePeer: ture\nhttp: enabled\n}\n", []string{
			`3:19: "ture" of authenticatePeer is no boolean; expected yes or no; did you mean true?`,
			`4:7: "enabled" of http is no boolean; expected yes or no`,
		}},
		{"numbers with units", "x.conf", "router {\nhelloMaxAgeSeconds: 3s\n}\nlistener {\nhost: ::1\nsessionBytes: 1 MB\n}\n", []string{
			`2:21: "3s" of helloMaxAgeSeconds is no integer; expected an integer from 1 to 86400, in seconds and without a unit`,
		}},
		{"numbers out of range", "x.conf", "listener {\nhost: ::1\nlinkCapacity: 99999999999\nidleTimeoutSeconds: -1\n}\n", []string{
			`3:15: "99999999999" of linkCapacity is out of range; expected an integer from 0 to 1000000`,
			`4:21: "-1" of idleTimeoutSeconds is out of range; expected an integer from 0 to 4294967, in seconds and without a unit`,
		}},
		{"punctuation", "x.conf", "router {\nid: 'A'\nmetadata: x;\n}\nlistener {\nhost: '::1'\n}\n", []string{
			`2:5: warning: the single quotes are part of id 'A'; double quotes would not be`,
			`3:11: warning: the ; is part of metadata x;; a line ends without it`,
			`6:7: host "'::1'" has a colon; expected a host name or IP address; the port is an attribute of its own`,
			`6:7: warning: the single quotes are part of host '::1'; double quotes would not be`,
		}},
		{"files that are not there", "x.conf", "sslProfile {\nname: s\ncaCertFile: no-such/ca.pem\n}\nlistener {\nhost: ::1\nsaslUsersFile: /no/such\n}\n", []string{
			`3:13: caCertFile: cannot open no-such/ca.pem: no such file or directory; expected the path of a file that this user may read; it is looked for in ` + dir,
			`7:16: saslUsersFile: cannot open /no/such: no such file or directory; expected the path of a file that this user may read`,
		}},
		{"profiles that are not there", "x.conf", "sslProfile {\nname: server-tls\n}\nconnector {\nhost: h\nport: 1\nsslProfile: server_tls\n}\n", []string{
			`7:13: there is no sslProfile "server_tls"; expected one of server-tls; did you mean server-tls?`,
		}},
		{"files that have no end", "x.conf", "sslProfile {\nname: s\ncaCertFile: /dev/zero\ncertFile: /dev/null\nprivateKeyFile: /dev/zero\npasswordFile: /dev/zero\n}\n" +
			"listener {\nhost: ::1\nsaslUsersFile: /dev/zero\n}\nconnector {\nhost: ::1\nport: 1\nsaslUsername: u\nsaslPassword: file:/dev/zero\n}\n", []string{
			`1:1: password: cannot read /dev/zero: it is a device, not a regular file; expected env:NAME of a variable that is set, file:PATH of a file with the password, or pass:TEXT`,
			`3:13: caCertFile: cannot read /dev/zero: it is a device, not a regular file; expected certificates of authorities in PEM form`,
			`4:11: certFile: cannot read /dev/null: it is a device, not a regular file; expected a certificate in PEM form, with those of its chain behind it, and its key in privateKeyFile`,
			`5:17: privateKeyFile: cannot read /dev/zero: it is a device, not a regular file; expected the key of certFile in PEM form, and its password if it has one`,
			`10:16: saslUsersFile: cannot read /dev/zero: it is a device, not a regular file; expected a line for each user, as htpasswd -nB NAME prints it`,
			`16:15: saslPassword: cannot read /dev/zero: it is a device, not a regular file; expected env:NAME of a variable that is set, file:PATH of a file with the password, or pass:TEXT`,
		}},
		{"connectors that cannot log in", "x.conf", "connector {\nhost: ::1\nport: 0\nsaslMechanisms: PLAIN\n}\nconnector {\nhost: ::1\nport: 1\nsaslMechanisms: EXTERNAL\n}\n" +
			"connector {\nhost: ::1\nport: 2\nsaslPassword: pass:x\nsaslMechanisms: EXTERNAL FOO BAR PLAIN\n}\nconnector {\nhost: ::1\nport: 3\nsaslUsername: u\n}\n", []string{
			`3:7: port 0 is nowhere to connect to; expected the port that the other side listens on`,
			`4:17: PLAIN is the only mechanism, and there is no saslUsername: it could not log in; expected saslUsername and saslPassword, or other mechanisms, too`,
			`9:17: EXTERNAL is the only mechanism, and there is no sslProfile: it could not log in; expected an sslProfile with a certificate, or other mechanisms, too`,
			`15:17: unknown SASL mechanism "FOO"; expected some of ANONYMOUS, PLAIN, EXTERNAL`,
			`15:17: unknown SASL mechanism "BAR"; expected some of ANONYMOUS, PLAIN, EXTERNAL`,
		}},
		{"all that is wrong with a log", "x.conf", "log {\nmodule: SERVR\nenable: inof+\noutputFile: /no/such/dir/x\n}\nlog {\nenable: debgu\n}\n", []string{
			`2:9: "SERVR" is no valid module; did you mean SERVER?`,
			`3:9: "inof+" is no log level; did you mean info?`,
			`4:13: outputFile: cannot stat /no/such/dir: no such file or directory; expected a file in a directory that there is, stderr or stdout`,
			`6:1: log lacks the required attribute module; expected module: ROUTER | ROUTER_CORE | ROUTER_HELLO | ROUTER_LS | ROUTER_MA | MESSAGE | SERVER | AGENT | AUTHSERVICE | CONTAINER | ERROR | POLICY | HTTP | CONN_MGR | PYTHON | PROTOCOL | DEFAULT`,
			`7:9: "debgu" is no log level; did you mean debug?`,
		}},
		{"several words of a list", "x.conf", "sslProfile {\nname: s\nprotocols: TLSv8 TLSv9\nciphers: NOSUCH1:AES128-SHA:NOSUCH2\n}\n", []string{
			`3:12: protocols: "TLSv8", "TLSv9" are no protocol; expected TLSv1.2, TLSv1.3 or both`,
			`4:10: ciphers: "NOSUCH1", "NOSUCH2" are no cipher suite or group of suites; expected names that OpenSSL has for cipher suites or groups of them, such as HIGH:!aNULL or ECDHE-RSA-AES256-GCM-SHA384`,
		}},
		{"tabs in YAML", "x.yaml", "router:\n\tid: A\n", []string{`2:1: found character '	' that cannot start any token; expected blanks to indent with: YAML takes no tabs`}},
		{"a colon in a value of YAML", "x.yaml", "router:\n  id: A\n  metadata: a: b\n", []string{`3:13: mapping value is not allowed in this context; expected quotes around a value that has a colon and a blank in it`}},
		{"uneven lines of YAML", "x.yaml", "router:\n  id: A\n mode: interior\n", []string{`3:2: value is not allowed in this context; expected lines of one section to be indented alike`}},
		// What is no mistake: byte order marks, tabs, carriage returns, commas at the
		// end of lists, comments in JSON, names in kebab-case.
		{"an editor's habits", "x.conf", "\ufeffrouter\t{\r\n\tid:\tA\r\n\thello-interval-seconds: 2\r\n}\r\n", nil},
		{"commas and comments in JSON", "x.json", "# c\n{\"router\": {\"id\": \"A\",}, \"listener\": [{\"host\": \"::1\",},],}\n", nil},
	} {
		_, problems := LoadText(test.file, test.text, Options{})
		var got []string
		for _, p := range problems {
			line := strings.Replace(strings.TrimPrefix(p.String(), test.file+":"), ": error: ", ": ", 1)
			if test.name != "punctuation" && p.Warning {
				continue
			}
			got = append(got, line)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot\n\t%s\nwant\n\t%s", test.name, strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}
}
