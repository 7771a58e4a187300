package management

import "testing"

func TestUnbracketed(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1:5672": "127.0.0.1:5672", "[::1]:5672": "::1:5672", "a.example:amqp": "a.example:amqp", "@": "@", "": "",
	} {
		if got := unbracketed(host); got != want {
			t.Errorf("%q: %q", host, got)
		}
	}
}
