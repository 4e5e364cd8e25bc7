package cli

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts that run whole sessions with the scripted agent. They are apart from those that look at traces: a process
// that is being started has the files of this one open for a moment, and a trace that is open counts as live.
func TestProgramScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/program",
		RequireExplicitExec: true,
		Setup:               plainHome,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// exists-soon PATH waits until another process has made a file.
			"exists-soon": func(ts *testscript.TestScript, _ bool, args []string) {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for end := time.Now().Add(20 * time.Second); ; <-tick.C {
					_, err := os.Stat(ts.MkAbs(args[0]))
					if err == nil {
						return
					}
					if time.Now().After(end) {
						ts.Check(err)
					}
				}
			},
		},
	})
}
