// Package files opens the files that a configuration names: certificates, keys,
// passwords, users, and logs. Who may connect to management names them, too, so
// that none may hold up the router, or cost it memory without bound.
//
// What is read is a regular file, also behind symbolic links, which is how
// Kubernetes mounts secrets. A pipe may have nobody who writes to it, and a device
// may have no end.
package files
