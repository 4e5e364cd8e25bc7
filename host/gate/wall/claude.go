package wall

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxProject is how long a name Claude Code gives to a project as it is; longer ones get a sum at their end.
const maxProject = 200

// Conversations makes, and returns, what Claude Code must be able to write of its configuration directory when it
// works in dir, so that a conversation can be continued: the transcripts of this project, and nothing else.
// Measured with 2.1.332, everything else that it keeps there (sessions, shell-snapshots, session-env, tasks,
// file-history, backups, plugins, statistics, ~/.claude.json) is not missed by a headless run. Much of it is read,
// and some is run, by whatever other agents the operator has: it is not to be written by this one.
func Conversations(config, dir string) ([]string, error) {
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("find the agent's directory: %w", err)
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
	projects := filepath.Join(config, "projects")
	place := filepath.Join(projects, name)
	if len(name) > maxProject {
		place = projects // and those of other projects with it
	}
	if err := os.MkdirAll(place, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the directory of the agent's transcripts: %w", err)
	}
	return []string{place}, nil
}
