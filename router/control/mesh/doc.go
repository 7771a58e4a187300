// Package mesh speaks the routing protocol between interior routers: who is there, by which paths, and which addresses
// have consumers where. Two halves:
//
// Message is one control message with its typed body. Decode and Append translate it from and to the bytes of a whole
// AMQP message, byte for byte in the form of Qpid Dispatch 1.19, so that meshes may be mixed.
//
// Engine is the state machine. Events and the time go in, outputs come out; there is no goroutine, clock, socket or lock.
// Whoever owns it reads control links into Step, calls Tick at Next, and acts upon Ready in order.
//
//	LinkUp, LinkDown ──┐                                ┌──► Send      to a control link
//	Received ──────────┤  ┌──────────────────────────┐  ├──► *Routes   to the data plane, as a pointer to swap
//	LocalAdd,          ├─►│ links → neighbours       │  ├──► RemoteAdd, RemoteRemove   to the address table
//	LocalRemove ───────┤  │   → own link state       │──┼──► RouterGone   a number is free again
//	Tick ──────────────┘  │ link states → paths      │  ├──► Refuse    close a connection
//	                      │ deltas → addresses       │  └──► Notice    for the log
//	                      └──────────────────────────┘
//
// # The protocol
//
//	HELLO   neighbours, each second   I am X in this life, I hear these
//	RA      all, each 30 s            my link state has number n, my addresses have number m
//	LSR     one                       tell me your link state
//	LSU     one                       my neighbours and their costs
//	MAR     one                       tell me your addresses, I know up to number m
//	MAU     all, or one               addresses that came and went, number m; or all there are
//
// A router is a neighbour while it says HELLO with this router in its list. Several links to it are one neighbour.
// Paths are shortest paths over all link states. All routers break ties alike, and so each can tell which routers' messages
// may pass through it on their way to which others: the valid origins.
//
// # Rules for the data plane
//
// Routes holds exactly the routers that have a path. It never changes once it was handed out. The numbers of
// routers stay the same for as long as a router is known, and are given away again only after RouterGone, which comes
// behind a Routes without it; there may be any number of them.
//
// An address of a remote router is shown, by RemoteAdd, while there is a path and the router has confirmed since the path
// was found that what is known is current. The moment there is no path, all its addresses are taken away by RemoteRemove,
// and are kept here: when the path is back, an RA with the same number shows them again, and otherwise a MAR brings those
// that there are now. RemoteLSMaxAge after a router was heard last all of it is forgotten.
//
// Keys of all announced classes are shown, those of link routes (C, D, E, F) too.
//
// # Beyond the first implementation
//
// What Qpid Dispatch 1.19 does worse, and why doing it otherwise does not disturb it; numbers are sections of the
// description of the protocol.
//
//   - Addresses of dead routers stay for a minute (15.2). Here they go with the path. Nobody else notices.
//   - A router that waits for the answer to a MAR applies whatever deltas come (5.7). Here nothing is applied that does not
//     fit, and the question is repeated.
//   - Floods multiply on cyclic graphs (15.1). Here each is passed on once, to all neighbours rather than along a tree, so
//     that it arrives even while trees are in flux; a second time only when a copy comes by a way shorter by two, because
//     1.19 drops messages that have passed more routers than its radius plus one.
//   - Everything takes whole seconds (15.8). Here a change of links is told after 5 ms, and one of addresses after
//     20 ms. 1.19 takes messages at any time.
//   - Who joins learns of the others by their next RAs (5.7). Here the neighbour passes their last ones on.
//   - Each router asks each other one for its link state after a change (5.5). Here the LSU is sent unasked, nearest first,
//     and the RA comes behind; who has it does not ask. 1.19 takes an LSU without having asked.
//   - An LSU may say number 0, which nobody takes (5.5). Here numbers begin at 1.
//   - LSRs are sent for each RA copy (15.8). Here for news only, and again only when there is no answer.
//   - Who asks with a MAR but knows all gets no answer. Here it gets an RA, which confirms it.
//   - Parallel connections flap (1.6). Here they are a set.
//   - A duplicate id is only logged (1.6). Here both ends of a link refuse it, and a neighbour of two refuses the newer.
//     Another life on another link is a duplicate only if the first still says HELLO; otherwise it has restarted, and is
//     believed after one and a half HELLO intervals.
//   - A restart within the second is not noticed (15.8). Here an instance may be as fine as its owner likes, and 1.19 takes
//     any integer. Numbers that go back for longer than a late copy can take are a restart, too.
//   - 128 routers, MAUs of any size (15.8). Here numbers are not limited, and deltas are.
//
// # Bounds
//
// Config limits routers, peers, addresses and the lengths of ids and keys. What is beyond is left out, with a Notice. A
// message that is malformed is dropped, with a Notice. The memory of floods is bounded for each router. A hostile router
// within these bounds can lie about itself, as in any link-state protocol; connections between routers are to be
// authenticated.
package mesh
