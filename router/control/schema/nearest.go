package schema

import "strings"

// Nearest returns the candidate that a misspelled name most likely means, or
// "" if none is near enough to be worth suggesting.
func Nearest(name string, candidates []string) string {
	if name == "" || len(name) > maxNearest {
		return ""
	}
	best, bestDistance := "", len(name)/3+2
	if len(name) <= 3 {
		bestDistance = 2 // short names resemble everything
	}
	folded := strings.ToLower(CamelCase(name))
	for _, c := range candidates {
		d := distance(folded, strings.ToLower(c))
		// A name that is just cut short, or says too much, counts as near.
		if d >= bestDistance && len(folded) >= 3 && len(c) >= 3 &&
			(strings.HasPrefix(strings.ToLower(c), folded) || strings.HasPrefix(folded, strings.ToLower(c))) {
			d = bestDistance - 1
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// maxNearest is the longest name for which a suggestion is sought, in bytes:
// the search takes quadratic time, and no valid name is nearly as long.
const maxNearest = 64

// Distance is how many letters must be inserted, deleted, replaced or swapped with
// their neighbour to turn one name into another, whatever case they have.
func Distance(a, b string) int {
	if len(a) > maxNearest || len(b) > maxNearest {
		return max(len(a), len(b))
	}
	return distance(strings.ToLower(CamelCase(a)), strings.ToLower(b))
}

// distance returns the number of letters to insert, delete, replace or swap
// with their neighbour to turn a into b.
func distance(a, b string) int {
	// Three rows of the usual matrix: two ago, previous, current.
	two, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], two[j-2]+1)
			}
		}
		two, prev, cur = prev, cur, two
	}
	return prev[len(b)]
}
