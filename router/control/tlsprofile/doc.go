// Package tlsprofile turns sslProfile entities into *tls.Config, for servers
// and clients, and keeps their certificates up to date.
//
//	Spec (attributes) ─► load: read and check every file ─► material
//	                                                          │ atomic pointer
//	Profile.Server, Profile.Client ─► *tls.Config ── asks ────┘ at each handshake
//
// A [Profile] reads its files when it is made, again on [Profile.Reload], and,
// while [Profile.Watch] runs, a moment after one of them changed. New
// connections use the new material; connections that are up are not touched.
// New files that cannot be used leave the old material in force, and the error
// is returned or logged.
package tlsprofile
