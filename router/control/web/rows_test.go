package web

import "testing"

// Container-ids that are made up for each connection are not series of their own.
func TestContainerLabel(t *testing.T) {
	for id, want := range map[string]string{
		"orders":                                    "orders",
		"sluice-stat-10063":                         "sluice-stat",
		"sluice-statistic-1":                        "sluice-statistic-1",
		"orders-consumer-1":                         "orders-consumer-1",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":      Generated,
		"ID:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6:1": Generated,
		"tTDrV9dNZnpwE2OxIZ6ERi24DfKZbD9Lllj2ss9HnJwjtbCjgCJe9g":   Generated,
		"the-longest-name-of-a-service-that-somebody-may-think-of": "the-longest-name-of-a-service-that-somebody-may-think-of",
		"accountsreceivablesubledgerworker":                        "accountsreceivablesubledgerworker",
		"orders.eu-west-1.example.com":                             "orders.eu-west-1.example.com",
		"":                                                         "",
	} {
		if got := ContainerLabel(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}
