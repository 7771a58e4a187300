// Package auth holds what proves who a peer is: the users file for SASL PLAIN,
// and the ways in which a configuration names a password.
//
// The layers below declare the interface that they consume, which [Users]
// implements: Verify(user, password string) (identity string, ok bool).
//
// Identities of peers with a TLS certificate are made in package tlsprofile,
// which has the certificate and the profile's uidFormat.
package auth
