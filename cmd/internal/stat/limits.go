package stat

import "time"

const (
	// sortedAnyway is how many rows are sorted without being asked to. More are
	// printed as they come.
	sortedAnyway = 2000
	// maxSorted is how many rows are held to be sorted; each takes about a
	// kilobyte.
	maxSorted = 500_000
	// atOnce is how many routers are asked at the same time.
	atOnce = 32
	// firstRows is how many rows are asked for before the columns are chosen, of
	// all routers together.
	firstRows = 20_000
	// singly is how many connections are looked up one by one to name the peers
	// of a page of links. For more, all are read.
	singly = 16
	// maxLogLines is how many lines a router keeps at most.
	maxLogLines = 1000

	// MinInterval is the shortest time between two looks of a watch.
	MinInterval = 100 * time.Millisecond
	// DefaultInterval is the usual one.
	DefaultInterval = 2 * time.Second
)
