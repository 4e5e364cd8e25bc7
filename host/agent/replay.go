package agent

import "example.com/kitsoki/host"

// Replay reads the stream of an agent again, from lines that were kept. The zero value is not ready; see NewReplay.
type Replay struct {
	dec    decoder
	askers *askers
}

// NewReplay starts before the first line of a run.
func NewReplay(name, dir string) *Replay {
	return &Replay{askers: newAskers(host.Asker{Agent: name, Dir: dir})}
}

// Line reads one line as it came and tells what it says, with the sub-agent that says it, as an Observer is told.
func (r *Replay) Line(line []byte, event func(StreamEvent, []string)) {
	for _, e := range r.dec.decode(line) {
		if use, ok := e.(ToolUse); ok {
			r.askers.saw(use)
		}
		event(e, r.askers.path(parentOf(e)))
	}
}
