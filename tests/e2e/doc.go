// Package e2e holds conversations of raw peers with one router in the process.
package e2e
