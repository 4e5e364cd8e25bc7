package cli

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts that run whole sessions with the scripted agent. They are apart from those that look at traces: a process
// that is being started has the files of this one open for a moment, and a trace that is open counts as live.
func TestProgramScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/program",
		RequireExplicitExec: true,
		Setup:               plainHome,
	})
}
