package teatest

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// step is one thing that happens to the program: from the keyboard, the terminal, an agent, another surface, or time.
type step struct {
	name string
	keys []string // of a burst
	do   func(s *storm, keys []string)
}

// String is the step as a person does it.
func (s step) String() string { return strings.TrimSpace(s.name + " " + strings.Join(s.keys, " ")) }

// TestStorm and the test after it play 10,000 random keys, pastes, resizes, asks and deadlines against the real program with real
// sessions, in time that only moves when it is told to. Whatever happens: no ask is answered that could not be seen, no answer goes to another
// ask, each ask ends once, every frame fits the terminal, and nothing panics.
func TestStorm(t *testing.T) { weather{keys: stormKeys(), asks: 4, proposals: 1}.check(t) }

// TestStormLosesNoText is TestStorm without the keys that take text away: all that was typed and pasted where text
// is taken has gone out, or is in a prompt, once all asks are over.
func TestStormLosesNoText(t *testing.T) {
	weather{keys: stormKeysThatKeep(), asks: 4, proposals: 1, lossless: true}.check(t)
}

// weather is what a storm is made of.
type weather struct {
	keys     []string
	lossless bool // all text has to be found again

	asks, proposals int // how often they come
}

// stormSteps is the length of a storm. Most steps are of several keys.
const stormSteps = 200

// check plays storms, and shows the first fault with the fewest steps. The flags of rapid's have the last say.
func (w weather) check(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no git, no editor
	setDefault(t, "rapid.checks", "100", stormChecks)
	setDefault(t, "rapid.shrinktime", "30s", "0s") // fewest does that
	dir, n, done, allowed := t.TempDir(), 0, 0, 0
	play := func(steps []step) *storm {
		n++
		s := newStorm(fmt.Sprintf("%s/%d", dir, n), w.lossless)
		synctest.Test(t, func(*testing.T) { s.play(steps) })
		done += s.steps
		allowed += s.allowed
		return s
	}
	var failed []step
	var kind string
	defer func() {
		if failed != nil {
			s := fewest(failed, play)
			t.Logf("%s\nafter\n  %s", s.fault, strings.Join(s.script, "\n  "))
		}
	}()
	defer func() {
		t.Logf("%d keys, pastes, resizes, asks and deadlines; %d proposals were allowed", done, allowed)
		if w.proposals > 1 && allowed == 0 && done > 3000 {
			t.Error("nothing was ever allowed, so that nothing was tested")
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.OneOf(w.kinds()...), stormSteps, stormSteps).Draw(rt, "steps")
		if failed == nil {
			if s := play(steps); s.fault != "" {
				failed, kind = steps, s.kind
			}
		}
		if failed != nil { // fewest makes it smaller, because it knows what a step is
			rt.Fatal(kind)
		}
	})
}

// fewest leaves out steps, and keys of bursts, as long as the fault stays. It gives up after a while.
func fewest(steps []step, play func([]step) *storm) *storm {
	worst, until := play(steps), time.Now().Add(*shrinkFor)
	if worst.fault == "" {
		worst.fault = "the fault did not show a second time; it hangs on what runs at the same time"
		return worst
	}
	kind := worst.kind
	without := func(from, to int) bool {
		fewer := slices.Concat(steps[:from], steps[to:])
		if s := play(fewer); s.kind == kind {
			steps, worst = fewer, s
			return true
		}
		return false
	}
	for size := len(steps); size > 0 && time.Now().Before(until); {
		shrunk := false
		for from := max(0, len(steps)-size); time.Now().Before(until); from -= size {
			shrunk = without(max(0, from), min(len(steps), max(0, from)+size)) || shrunk
			if from <= 0 {
				break
			}
		}
		if size > 1 || !shrunk {
			size /= 2
		}
	}
	for i := 0; i < len(steps); i++ {
		for k := 0; k < len(steps[i].keys) && time.Now().Before(until); {
			fewer := slices.Clone(steps)
			fewer[i].keys = slices.Delete(slices.Clone(fewer[i].keys), k, k+1)
			if s := play(fewer); s.kind == kind {
				steps, worst = fewer, s
			} else {
				k++
			}
		}
	}
	return worst
}

// shrinkFor bounds fewest.
var shrinkFor = flag.Duration("storm.shrinktime", 30*time.Second, "how long a test of storms looks for fewer steps")

// setDefault changes a flag of rapid's that stands at its default, for one test.
func setDefault(t *testing.T, name, old, now string) {
	t.Helper()
	f := flag.Lookup(name)
	if f.Value.String() != old {
		return
	}
	if err := f.Value.Set(now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(old) })
}

// play does the steps one after the other, until something is wrong, and ends everything.
func (s *storm) play(steps []step) {
	defer s.end()
	s.guarded(func() {
		s.begin()
		for _, st := range steps {
			s.script = append(s.script, st.String())
			st.do(s, st.keys)
			s.steps++
			s.settle()
			if s.fault != "" {
				return
			}
		}
		s.script = append(s.script, "all asks end, and every prompt is sent")
		s.drain()
		if s.fault == "" {
			s.checkTexts()
		}
	})
}

// after lets time pass, in a few pieces, and the program take in what happens meanwhile.
func (s *storm) after(d time.Duration) {
	const pieces = 4
	for range pieces {
		<-time.After(d / pieces)
		s.settle()
	}
}
