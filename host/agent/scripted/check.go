package scripted

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
)

// checker walks a scenario and stops at the first fault.
type checker struct {
	file string
	src  []byte
	ids  []string // of the calls so far, in the order of the source
	asks bool
	subs int // sub-agents around the step
}

func check(sc *Scenario, file string, src []byte) error {
	c := &checker{file: file, src: src}
	if _, err := parsePause(sc.Pace); err != nil {
		return c.fault("$.pace", "%v", err)
	}
	if sc.Name == "" || sc.Description == "" || len(sc.Steps) == 0 {
		return c.fault("$", "a scenario needs a name, a description and steps")
	}
	if err := c.steps("$.steps", sc.Steps); err != nil {
		return err
	}
	if c.asks && strings.TrimSpace(sc.WithoutOperator) == "" {
		return c.fault("$", "a scenario that asks needs without_operator: what it says when nobody can be asked")
	}
	return c.template("$.without_operator", sc.WithoutOperator)
}

// fault is an error with the place that a YAML path points at.
func (c *checker) fault(path, format string, args ...any) error {
	sentence := fmt.Sprintf(format, args...)
	where, err := yaml.PathString(path)
	if err == nil {
		if shown, err := where.AnnotateSource(c.src, false); err == nil {
			return fmt.Errorf("the scenario %s is not valid: %s\n%s", c.file, sentence, shown)
		}
	}
	return fmt.Errorf("the scenario %s is not valid: %s (at %s)", c.file, sentence, path)
}

func (c *checker) steps(path string, steps []Step) error {
	for i, s := range steps {
		at := fmt.Sprintf("%s[%d]", path, i)
		kind, act, err := s.action()
		if err != nil {
			return c.fault(at, "%v", err)
		}
		if err := act.check(c, at+"."+kind); err != nil {
			return err
		}
	}
	return nil
}

// call notes the id of a call. Two calls with one id would make templates ambiguous.
func (c *checker) call(path, id string) error {
	if id == "" {
		return nil
	}
	if slices.Contains(c.ids, id) {
		return c.fault(path, "the id %q is taken by an earlier step", id)
	}
	c.ids = append(c.ids, id)
	return nil
}

func (c *checker) template(path, text string) error {
	if _, err := parseTemplate(text, nil); err != nil {
		return c.fault(path, "%v", err)
	}
	return nil
}

func (c *checker) pause(path, text string) error {
	if _, err := parsePause(text); err != nil {
		return c.fault(path, "%v", err)
	}
	return nil
}

func (s *Say) check(c *checker, path string) error { return c.template(path, string(*s)) }

func (a *Ask) check(c *checker, path string) error {
	c.asks = true
	if (len(a.Questions) == 0) == (len(a.Arguments) == 0) {
		return c.fault(path, "an ask has either questions or arguments")
	}
	return c.call(path, a.ID)
}

func (t *Tool) check(c *checker, path string) error {
	switch {
	case t.Name == "":
		return c.fault(path, "a tool needs a name")
	case strings.HasPrefix(t.Name, "mcp__"):
		return c.fault(path, "only built-in tools can be imitated; tools of MCP servers are called for real")
	}
	if err := c.pause(path, t.Takes); err != nil {
		return err
	}
	return c.call(path, t.ID)
}

func (p *Parent) check(c *checker, path string) error {
	if p.Name == "" || len(p.Steps) == 0 {
		return c.fault(path, "a sub-agent needs a name and steps")
	}
	if err := c.call(path, p.ID); err != nil {
		return err
	}
	c.subs++
	defer func() { c.subs-- }()
	return c.steps(path+".steps", p.Steps)
}

func (t *Together) check(c *checker, path string) error {
	for i, s := range *t {
		_, act, err := s.action()
		if err != nil {
			return c.fault(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
		switch act.(type) {
		case caller, *Die:
		default:
			return c.fault(fmt.Sprintf("%s[%d]", path, i), "only ask, tool, parent and die can be together")
		}
	}
	return c.steps(path, *t)
}

func (o *On) check(c *checker, path string) error {
	if !slices.Contains(c.ids, o.Call) {
		return c.fault(path, "no step before this one has the id %q", o.Call)
	}
	if err := c.steps(path+".answered", o.Answered); err != nil {
		return err
	}
	return c.steps(path+".error", o.Error)
}

func (t *Told) check(c *checker, path string) error {
	if t.Words == "" {
		return c.fault(path, "told needs words to look for in the prompt")
	}
	if err := c.steps(path+".then", t.Then); err != nil {
		return err
	}
	return c.steps(path+".else", t.Else)
}

func (r *ResultEnd) check(c *checker, path string) error {
	if c.subs > 0 {
		return c.fault(path, "only the agent itself has a result event; a sub-agent's last words are its result")
	}
	if r.Text == nil {
		return nil
	}
	return c.template(path, string(*r.Text))
}

func (d *Die) check(c *checker, path string) error {
	if d.Signal != "" && signalNumber(d.Signal) == 0 {
		return c.fault(path, "the signal %q is not known; use KILL, TERM, INT, HUP, SEGV or ABRT", d.Signal)
	}
	return c.pause(path, d.After)
}

func (h *Hang) check(*checker, string) error { return nil }

func (f *Flood) check(c *checker, path string) error {
	if f.Lines < 1 {
		return c.fault(path, "a flood needs lines, a number above 0")
	}
	return c.pause(path, f.Pace)
}

func (g *Garbage) check(*checker, string) error { return nil }

func (l *Line) check(c *checker, path string) error {
	if l.Bytes < 1 {
		return c.fault(path, "a line needs bytes, a number above 0")
	}
	return nil
}

// parsePause reads a duration such as "15ms"; "0" and "" are none.
func parsePause(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a pause; use a duration such as 15ms, or 0", text)
	}
	return d, nil
}

func signalNumber(name string) syscall.Signal {
	switch strings.TrimPrefix(name, "SIG") {
	case "KILL":
		return syscall.SIGKILL
	case "TERM":
		return syscall.SIGTERM
	case "INT":
		return syscall.SIGINT
	case "HUP":
		return syscall.SIGHUP
	case "SEGV":
		return syscall.SIGSEGV
	case "ABRT":
		return syscall.SIGABRT
	}
	return 0
}
