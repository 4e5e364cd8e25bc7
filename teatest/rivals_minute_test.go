package teatest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// A person's times: reading one ask, and pressing a key.
const (
	reading = 700 * time.Millisecond
	keying  = 150 * time.Millisecond
)

// minute is an operator who looks at the screen before each ask, reads in its head who asks, and knows what is right
// for whom.
type minute struct {
	*screen
	rivals []*rival
	right  map[string]string // the digit of the right row, by agent
	every  time.Duration     // between two asks
	began  time.Time         // when the first one came
	came   int
	over   map[string]bool // answered, or dead
	keys   int             // digits and Enters
}

// spend lets time pass, in which agents ask.
func (m *minute) spend(d time.Duration) {
	const step = 10 * time.Millisecond
	for ; d > 0; d -= step {
		m.clock.Advance(step)
		m.arrive()
	}
}

func (m *minute) arrive() {
	for m.came < len(m.rivals) && m.clock.Now().Sub(m.began) >= time.Duration(m.came)*m.every {
		m.rivals[m.came].asks()
		m.came++
		m.seeOpen(m.came - len(m.over))
	}
}

// who is the agent whose ask has the screen and is open; empty when there is none.
func (m *minute) who() string {
	head, _, _ := strings.Cut(m.view(), "\n")
	found := regexp.MustCompile(`^ (?:ask )?\d+(?: of |/)\d+ (?:· )?(agent\d)`).FindStringSubmatch(head)
	if found == nil || strings.Contains(head, "ended: ") {
		return ""
	}
	return found[1]
}

// look waits, as a person does, for an ask on the screen.
func (m *minute) look() string {
	m.t.Helper()
	for wait := time.Duration(0); wait < time.Minute; wait += 10 * time.Millisecond {
		if who := m.who(); who != "" {
			return who
		}
		m.spend(10 * time.Millisecond)
	}
	m.t.Fatalf("no ask comes to the screen:\n%s", m.view())
	return ""
}

// hit presses a key.
func (m *minute) hit(key string) {
	m.spend(keying)
	m.press(key)
	m.keys++
}

func (m *minute) of(agent string) *rival { return m.rivals[agent[len(agent)-1]-'1'] }

// kills ends an agent, and waits until the screen has it.
func (m *minute) kills(agent string) {
	front := m.who() == agent
	m.of(agent).dies()
	m.of(agent).ends(host.AskerGone)
	m.over[agent] = true
	if front {
		m.see("ended: asker gone")
		return
	}
	m.seeOpen(m.came - len(m.over))
}

// close leaves an ask that ended while it had the screen.
func (m *minute) close() {
	m.spend(keying)
	m.press("Esc")
	m.gone("ended: ")
}

// play works off all asks. fate is told of every step, and may kill somebody.
func (m *minute) play(fate func(step, agent string)) {
	m.t.Helper()
	m.arrive()
	for len(m.over) < len(m.rivals) {
		agent := m.look()
		m.spend(reading)
		fate("read", agent)
		if m.over[agent] {
			m.close()
			continue
		}
		m.hit(m.right[agent])
		fate("digit", agent)
		m.hit("Enter")
		if m.over[agent] {
			m.close()
			continue
		}
		row := m.of(agent).qs[0].Options[m.right[agent][0]-'1'].Label
		m.of(agent).got(row)
		m.over[agent] = true
		m.until("leaves the ask of "+agent, func(string) bool { return m.who() != agent })
	}
}

// The operator's minute: five agents ask, two of them the same words with different right answers. It takes
// ten keys, a digit and an Enter for each, and every answer is right, whatever the pattern that they come in.
func TestTheOperatorsMinute(t *testing.T) {
	right := map[string]string{"agent1": "2", "agent2": "3", "agent3": "1", "agent4": "2", "agent5": "3"}
	var askers []asker
	for i := range 5 {
		q := host.OperatorQuestion{Question: fmt.Sprintf("Which way for step %d?", i+1), Header: "Way", Options: labels("left", "straight on", "right")}
		if i == 1 || i == 3 {
			q = host.OperatorQuestion{Question: "Which port?", Header: "Port", Options: labels("8080", "8081", "8082")}
		}
		askers = append(askers, simple(fmt.Sprintf("agent%d", i+1), q))
	}
	for _, tc := range []struct {
		name       string
		every      time.Duration
		step, when string // at which step of whose ask
		dies       string
		keys       int
	}{
		{name: "2 s apart", every: 2 * time.Second, keys: 10},
		{name: "all within 0.3 s", every: 60 * time.Millisecond, keys: 10},
		{name: "a twin dies unread", every: 60 * time.Millisecond, step: "read", when: "agent2", dies: "agent4", keys: 8},
		{name: "one dies while it is read", every: 60 * time.Millisecond, step: "read", when: "agent2", dies: "agent2", keys: 8},
		{name: "one dies under the Enter", every: 60 * time.Millisecond, step: "digit", when: "agent3", dies: "agent3", keys: 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				s, rs := cast(t, w, h, askers...)
				for _, r := range rs {
					r.t = t
				}
				s.prompt()
				m := &minute{screen: s, rivals: rs, right: right, every: tc.every, began: s.clock.Now(), over: map[string]bool{}}
				m.play(func(step, agent string) {
					if step == tc.step && agent == tc.when {
						m.kills(tc.dies)
					}
				})
				s.see("idle")
				if m.keys != tc.keys {
					t.Errorf("%d keys, want %d", m.keys, tc.keys)
				}
				if view := s.view(); !strings.Contains(view, "> |") {
					t.Errorf("a key went to the prompt:\n%s", view)
				}
				answers := len(rs)
				if tc.dies != "" {
					answers--
				}
				t.Logf("%s, %dx%d: %d of %d right, %d keys, %.1f s", tc.name, w, h, answers, answers, m.keys, s.clock.Now().Sub(m.began).Seconds())
			})
		})
	}
}
