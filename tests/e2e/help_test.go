package e2e

import (
	"testing/synctest"
	"time"
)

// wait lets fake time pass.
func wait(seconds int) {
	time.Sleep(time.Duration(seconds) * time.Second)
	synctest.Wait()
}
