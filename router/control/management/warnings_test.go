package management

import (
	"strings"
	"testing"

	"sluice/amqp/messaging"
	"sluice/router/control/config"
	"sluice/router/control/logging"
)

// What is made over management gets the warnings that a configuration file would
// get, in the reply and in the log; those of other entities stay out.
func TestWarningsAboutWhatIsMade(t *testing.T) {
	for _, test := range []struct {
		typ  string
		body []any
		want string // empty: no warning
	}{
		{"listener", []any{"host", "0.0.0.0", "port", "7"}, "LISTENER 0.0.0.0:7 IS OPEN TO EVERYONE who can reach it: it is not on loopback and does not authenticate peers; set authenticatePeer: yes, or allowInsecure: yes if this is intended"},
		{"listener", []any{"host", "::", "port", "7"}, "LISTENER [::]:7 IS OPEN TO EVERYONE"},
		{"listener", []any{"host", "0.0.0.0", "port", "7", "allowInsecure", true}, ""},
		{"listener", []any{"host", "127.0.0.1", "port", "7"}, ""},
		{"listener", []any{"host", "127.0.0.1", "port", "7", "sslProfile", "old"}, "sslProfile \"old\" has no certificate"},
		{"connector", []any{"host", "h", "port", "7", "sslProfile", "old"}, ""},
		{"connector", []any{"host", "h", "port", "7", "saslUsername", "u"}, "THE PASSWORD CROSSES THE NETWORK IN CLEAR TEXT"},
		{"router.config.address", []any{"prefix", "a", "waypoint", true}, "waypoint is not supported yet"},
		{"router.config.address", []any{"prefix", "a"}, ""},
		{"sslProfile", []any{"protocols", "TLSv1 TLSv1.2"}, "versions before TLSv1.2 are not offered"},
		{"sslProfile", []any{"uidFormat", "n"}, ""},
	} {
		f := newFake(t)
		var log strings.Builder
		f.logs = logging.New(logging.Options{Stderr: &log, Stdout: &log})
		old := config.SSLProfile{}
		old.Name, old.Protocols = "old", "TLSv1 TLSv1.2" // of which a file has warned already
		f.profiles = append(f.profiles, old)
		q, err := decode(message(t, properties("operation=CREATE, name=x, type=..."+test.typ), m(test.body...)))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := messaging.DecodeMessage(NewDesk(f).answer(q).message(q))
		if err != nil {
			t.Fatal(err)
		}
		got, text := "", ""
		for _, e := range reply.ApplicationProperties {
			switch e.Key {
			case "warnings":
				got = e.Value.(string)
			case "statusDescription":
				text = e.Value.(string)
			}
		}
		f.logs.Close()
		if text != "Created" {
			if test.want == "" || !strings.Contains(text, test.want) {
				t.Errorf("%s %v: %s", test.typ, test.body, text)
			}
			continue
		}
		logged := strings.Contains(log.String(), "AGENT (warning) CREATE: ") && strings.Contains(log.String(), test.want)
		if test.want == "" && (got != "" || log.Len() > 0) || test.want != "" && (!strings.Contains(got, test.want) || !logged) {
			t.Errorf("%s %v: got %q, logged %q", test.typ, test.body, got, log.String())
		}
	}
}
