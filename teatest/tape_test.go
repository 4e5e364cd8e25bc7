package teatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// The tape's own program and what stands for it here: building is the test's business, and the agents work in a
// directory of the test's.
const tapeProgram = "go run . demo"

// The recording that is shown to strangers goes the way that it shows: the same keys, waiting for the same words,
// lead to three answered asks of two agents.
func TestDemoTapeAnswersItsThreeAsks(t *testing.T) {
	tmux.Require(t)
	src, err := os.ReadFile("../demo.tape")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := readTape(string(src))
	if err != nil {
		t.Fatal(err)
	}
	env := claudecli.Env(t, "http://127.0.0.1:9", "PS1=> ")
	p := tmux.Start(t, 88, 26, env, "sh", "-i") // about what its pixels are
	p.WaitMatch(shellPrompt)
	instead := fmt.Sprintf("%s demo --cwd %s", program(t), t.TempDir())
	for _, s := range steps {
		s.text = strings.ReplaceAll(s.text, tapeProgram, instead)
		s.play(t, p)
	}
	p.Type("exit\n")
	p.WaitExit()

	outcomes, sessions := settledAsks(t, env)
	if want := []string{"answered", "answered", "answered"}; !slices.Equal(outcomes, want) || sessions != 2 {
		t.Errorf("the asks of %d sessions ended as %q, want %q of 2", sessions, outcomes, want)
	}
	checkNothingLeft(t, env)
}

// A tape that the test does not understand in full would be played in part.
func TestTapeReaderRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, bad := range []string{"Dance", "Type Hello", `Type "one" two`, "Sleep long", "Wait+Screen@5s", "Wait+Screen /(/", "Tab twice", "Wait+Line /x/"} {
		if steps, err := readTape(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, steps)
		}
	}
	steps, err := readTape("# a comment\n\nSet Width 860\nHide\nType \"left out\"\nShow\nType `say \"hi\"`\nTab 2\nCtrl+L\nSleep 1.5s\nWait@3s\n")
	want := `[{text say "hi"} {keys [Tab Tab]} {keys [C-l]} {rest 1.5s} {wait >\s*$}]`
	if got := fmt.Sprint(steps); err != nil || got != want {
		t.Errorf("read %s, %v; want %s", got, err, want)
	}
}

// tapeStep is one thing that a tape does; one of its parts is set.
type tapeStep struct {
	text string
	keys []string // by tmux's names
	rest time.Duration
	wait *regexp.Regexp
}

// String is for failures.
func (s tapeStep) String() string {
	switch {
	case s.wait != nil:
		return fmt.Sprintf("{wait %s}", s.wait)
	case s.keys != nil:
		return fmt.Sprintf("{keys %v}", s.keys)
	case s.text != "":
		return fmt.Sprintf("{text %s}", s.text)
	}
	return fmt.Sprintf("{rest %s}", s.rest)
}

// play does one step. Rests are for those who watch, so that long ones are cut to an operator's quick look: what
// the tape needs to be there it has to wait for.
func (s tapeStep) play(t *testing.T, p *tmux.Pane) {
	t.Helper()
	switch {
	case s.wait != nil:
		p.WaitMatch(s.wait)
	case s.keys != nil:
		p.Keys(s.keys...)
	case s.text != "":
		p.Type(s.text)
	default:
		pause(min(s.rest, 600*time.Millisecond))
	}
}

// pause lets real time pass, because the program's guard goes by it: see quiet.
func pause(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // time itself is what the program waits for
}

var (
	shellPrompt = regexp.MustCompile(`>\s*$`)
	tapeWait    = regexp.MustCompile(`^Wait\+Screen(?:@\S+)? /(.+)/$`)
	tapeLine    = regexp.MustCompile(`^Wait(?:@\S+)?$`)
	tapeType    = regexp.MustCompile("^Type(?:@\\S+)? (?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)$")
	tapeCtrl    = regexp.MustCompile(`^Ctrl\+([A-Z])$`)
)

// readTape reads a tape of VHS: the part that is shown, and of its commands those that a demo needs.
func readTape(src string) ([]tapeStep, error) {
	var steps []tapeStep
	hidden := false
	for n, line := range strings.Split(src, "\n") {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#' || slices.Contains([]string{"Set", "Output", "Require"}, word):
			continue
		case line == "Hide", line == "Show":
			hidden = line == "Hide"
			continue
		}
		step, err := readTapeStep(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the tape: %w", n+1, err)
		}
		if !hidden {
			steps = append(steps, step)
		}
	}
	return steps, nil
}

func readTapeStep(line string) (s tapeStep, err error) {
	word, arg, _ := strings.Cut(line, " ")
	switch {
	case tapeWait.MatchString(line):
		s.wait, err = regexp.Compile(tapeWait.FindStringSubmatch(line)[1])
		return s, err
	case tapeLine.MatchString(line):
		return tapeStep{wait: shellPrompt}, nil
	case tapeType.MatchString(line):
		return tapeStep{text: strings.Join(tapeType.FindStringSubmatch(line)[1:], "")}, nil
	case tapeCtrl.MatchString(line):
		return tapeStep{keys: []string{"C-" + strings.ToLower(tapeCtrl.FindStringSubmatch(line)[1])}}, nil
	case word == "Sleep":
		s.rest, err = time.ParseDuration(arg)
		return s, err
	case slices.Contains([]string{"Enter", "Down", "Up", "Left", "Right", "Tab", "Escape", "Space"}, word):
		times := 1
		if arg != "" {
			if times, err = strconv.Atoi(arg); err != nil {
				return s, err
			}
		}
		return tapeStep{keys: slices.Repeat([]string{word}, times)}, nil
	}
	return s, fmt.Errorf("%q is not known to the test that plays it; teach it there", line)
}

// settledAsks reads the traces of all sessions of an environment. It returns how their asks ended, sorted, with
// "open" for those that did not, and how many sessions there were.
func settledAsks(t *testing.T, env []string) (outcomes []string, sessions int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(lookup(env, "XDG_STATE_HOME"), "kitsoki", "sessions", "*", "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		report := trace.Check(bytes.NewReader(raw), false)
		for _, v := range report.Violations {
			t.Errorf("the trace does not hold together: %v", v)
		}
		for line := range bytes.Lines(raw) {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("trace line %q: %v", line, err)
			}
			switch id, _ := r.Data["question_id"].(string); r.Event {
			case "operator.question.asked":
				ends[id] = "open"
			case "operator.question.answered", "operator.question.unanswered":
				ends[id], _ = r.Data["outcome"].(string)
			}
		}
	}
	return slices.Sorted(maps.Values(ends)), len(files)
}
