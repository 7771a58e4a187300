package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Spent is the processor time used so far by the threads that live, in the
// kernel's nanoseconds: finer than CPU, for differences over short times. Where
// the kernel does not say, it is CPU.
func (b *Binary) Spent() time.Duration {
	b.t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", b.cmd.Process.Pid))
	var sum int64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			sum += n
		}
	}
	if sum == 0 {
		return b.cpu()
	}
	return time.Duration(sum)
}
