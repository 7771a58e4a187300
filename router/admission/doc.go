// Package admission answers what peers ask for: open and attach.
//
// A Connection is the handler of one connection. Its Attach goes through the
// kinds of terminus: named, anonymous, dynamic, coordinator.
// Every answer is either a link that an address knows, or a
// refusal with the spec's condition.
package admission
