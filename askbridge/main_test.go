package askbridge_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.com/kitsoki/askbridge"
)

// childEnv names the runtime directory of a test binary that plays a host which is killed.
const childEnv = "ASKBRIDGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if runtime := os.Getenv(childEnv); runtime != "" {
		os.Exit(child(runtime))
	}
	goleak.VerifyTestMain(m)
}

// child makes a dispatch's directory, prints its path, and holds it until it is killed or standard input ends.
func child(runtime string) int {
	dir, err := askbridge.NewDir(runtime)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(dir.Path())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
