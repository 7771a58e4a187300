// Package buffers holds the bytes of messages while they pass through the
// router. It knows nothing of AMQP.
//
// Three types do the work:
//
//	Chunk    counted memory from a pool, in power-of-two size classes
//	Slice    a reference to a part of a Chunk
//	Content  the bytes of one message: one writer, any number of Cursors
//
// Bytes are immutable from the moment they are in a Slice that somebody else
// can see: every copy of a message shares them, and nobody writes them again.
// A connection reads into a Chunk and hands out Slices of it:
//
//	socket ─► Chunk │frame│frame│frame│····free····│
//	             ▲     ▲     ▲
//	          reader  Slice Slice ──► Content ──► Cursor of each destination
//
// Ownership is counted. A function takes, borrows or returns a reference, and
// its comment uses that verb. The count reaching zero returns the Chunk to its
// pool; a negative count is a bug and panics at once. With the build tag
// "poison" a returned Chunk is overwritten, so that a reader that kept a stale
// reference delivers visible garbage instead of somebody else's message.
//
// InUse is the number of bytes of all Chunks that somebody holds. It is the
// figure that the process-wide byte budget looks at.
package buffers
