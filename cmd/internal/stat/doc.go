// Package stat shows what routers have: the views of sluice stat.
//
//	routers ── pages ──► records ──► kept? ──► in order, so many ──► table, list or JSON
//
// A [View] names an entity type and the columns that are made of its attributes.
// A [Look] asks one router or several for a view, all at the same time, and
// prints the rows of one after the other as they come. Only what is to be sorted
// is held, as the text of its cells. Routers that do not have an attribute, as
// Qpid Dispatch has not those of sluice, lack the columns made of it; routers
// that do not answer are named, and the others shown.
//
// A [Watch] looks again and again, and knows the difference to the last time.
package stat
