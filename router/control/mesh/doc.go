// Package mesh speaks the routing protocol between interior routers: who is there, by which paths, and which addresses
// have consumers where.
//
// Message is one control message with its typed body. Decode and Append translate it from and to the bytes of a whole
// AMQP message, in the form of Qpid Dispatch 1.19, so that meshes may be mixed.
package mesh
