package teatest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// lasting is kitsoki with the real agent, in a directory to which one process after the other comes back.
type lasting struct {
	*desk
	dir string
}

// last starts the first process.
func last(t *testing.T, script ...messagesapi.Step) *lasting {
	t.Helper()
	program(t)
	tmux.Require(t)
	l := &lasting{desk: &desk{t: t, api: messagesapi.Start(t, script...)}, dir: t.TempDir()}
	l.env = claudecli.Env(t, l.api.URL(), agent.EnvClaudeBin+"="+claudecli.Require(t, claudecli.Current))
	l.open()
	l.WaitFor("idle")
	return l
}

// open starts a process in the same directory. The terminal around it has another home: it is none of the family.
func (l *lasting) open(args ...string) {
	l.t.Helper()
	home := "HOME=" + lookup(l.env, "HOME")
	around := slices.Clone(l.env)
	around[slices.Index(around, home)] = "HOME=/"
	l.Pane = tmux.Start(l.t, 100, 30, around, append([]string{"env", home, program(l.t), "--cwd", l.dir}, args...)...)
}

// askedWithDraft sends a prompt, waits for the ask, and types half an answer into it, which is on the disk then.
func (l *lasting) askedWithDraft(prompt, draft string) {
	l.t.Helper()
	l.prompt(prompt)
	l.asked("Which DB?")
	l.Keys("i")
	l.Type(draft)
	l.WaitFor(draft)
	if !eventually(func() bool { return strings.Contains(readAll(l.t, lookup(l.env, "HOME"), "desk.json"), draft) }) {
		l.t.Fatal("the draft is not kept")
	}
}

// takes sends the draft of the ask that is shown.
func (l *lasting) takes() {
	l.t.Helper()
	quiet()
	l.Keys("Enter") // into the field of the own answer
	quiet()
	l.Keys("Enter") // takes it
}

// first is the ask of the first turn, and nothing of a later one.
func first() messagesapi.Step {
	s := ask("Postgres", "SQLite")
	s.When = messagesapi.All(s.When, messagesapi.PromptContains("build it"), messagesapi.Not(messagesapi.HasToolResult()))
	return s
}

// then is the step of a later prompt.
func then(prompt, words string) messagesapi.Step {
	return messagesapi.Step{Name: prompt, When: messagesapi.PromptContains(prompt), Reply: messagesapi.Say(words)}
}

// checkSameTalk checks that the request that holds the prompt goes on with the conversation of the first one, and
// that the call that was never answered is no part of it, or has an error for its result.
func (l *lasting) checkSameTalk(prompt string, before ...string) {
	l.t.Helper()
	var found *messagesapi.Request
	for _, r := range l.api.Requests() {
		if r.Kind == messagesapi.Conversation && strings.Contains(r.Prompt(), prompt) {
			found = &r
			break
		}
	}
	if found == nil {
		l.t.Fatalf("no request has the prompt %q", prompt)
	}
	var said []string
	for _, m := range found.Messages {
		for _, c := range m.Content {
			if c.Type == "text" {
				said = append(said, c.Text)
			}
			if c.Type == "tool_result" && c.ID == "toolu_db" && !c.IsError {
				l.t.Errorf("the call that nobody answered has the result %q", c.Text)
			}
		}
	}
	for _, b := range before {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, b) }) {
			l.t.Errorf("the conversation with %q has forgotten %q: %s", prompt, b, found.Body)
		}
	}
	started := l.traced("agent.started")
	argv, _ := started[len(started)-1].Data["argv"].([]any)
	if !slices.Contains(argv, any("--resume")) {
		l.t.Errorf("the agent was started with %v", argv)
	}
}

// checkReopened checks that the first ask ended as asker_gone, and that the second one says what it reopens.
func (l *lasting) checkReopened() {
	l.t.Helper()
	asked := l.traced("operator.question.asked")
	if len(asked) != 2 || asked[1].Data["reopens"] != asked[0].Data["question_id"] {
		l.t.Errorf("asked: %v", asked)
		return
	}
	outcomes := checkTrace(l.t, l.env)
	old, _ := asked[0].Data["question_id"].(string)
	again, _ := asked[1].Data["question_id"].(string)
	if outcomes[old] != "asker_gone" || outcomes[again] != "answered" {
		l.t.Errorf("the asks ended as %v", outcomes)
	}
}

// The host is killed in the middle of an ask, alone or with its agent. The next process shows the log, asks again
// with what was typed, and the answer is the next message of the same conversation.
func TestClaudeAndItsHostAreKilledWhileItAsks(t *testing.T) {
	program(t)
	for name, end := range map[string]func(l *lasting){
		"host": func(l *lasting) { kill(l.t, l.PID()) },
		"both": func(l *lasting) { // the host does not come to see the end of its agent
			claude := member(l.t, l.env, "stream-json")
			signal(l.t, l.PID(), unix.SIGSTOP)
			kill(l.t, claude)
			kill(l.t, l.PID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := last(t, first(), then(`{"answers":{"Which DB?":"half an answer"}}`, "Then that."))
			l.askedWithDraft("build it", "half an answer")
			end(l)
			if code := l.WaitExit(); code != 128+int(unix.SIGKILL) {
				t.Fatalf("exit code %d", code)
			}
			checkNobodyLeft(t, l.env)

			l.open("--continue")
			l.WaitFor("asked again")
			l.WaitFor("half an answer")
			l.takes()
			l.WaitFor("Then that.")
			l.WaitFor("the answer goes to the agent as the next message")
			l.WaitFor("idle")
			quit(t, l.Pane)
			l.checkSameTalk(`{"answers":{"Which DB?":"half an answer"}}`, "build it")
			l.checkReopened()
			checkNothingLeft(t, l.env)
			checkNobodyLeft(t, l.env)
		})
	}
}

// The agent is killed in the middle of an ask: what was typed is kept, and the next prompt goes on with the same
// conversation.
func TestClaudeIsKilledWhileItIsAnswered(t *testing.T) {
	t.Parallel()
	l := last(t, first(), then("half an answer and more", "Going on."))
	l.askedWithDraft("build it", "half an answer")
	kill(t, member(t, l.env, "stream-json"))
	l.WaitFor("This ask is over")
	quiet()
	l.Keys("Escape")
	l.WaitFor("not answered: asker gone")
	l.WaitFor("something outside ended it with SIGKILL")
	l.WaitFor("> half an answer")
	l.Type(" and more")
	l.WaitFor("half an answer and more")
	l.Keys("Enter")
	l.WaitFor("Going on.")
	l.WaitFor("idle")
	l.checkSameTalk("half an answer and more", "build it")
	l.leave("asker_gone")
	checkNobodyLeft(t, l.env)
}

// The grandchild is killed in the middle of an ask: the model reads an error in words, and never an answer.
func TestClaudesGrandchildIsKilledWhileItAsks(t *testing.T) {
	t.Parallel()
	l := last(t, first(), goOn("toolu_db", "Without it, then."))
	l.askedWithDraft("build it", "half an answer")
	kill(t, member(t, l.env, "mcp-operator-ask"))
	l.WaitFor("This ask is over")
	quiet()
	l.Keys("Escape")
	l.WaitFor("Without it, then.")
	l.WaitFor("idle")
	l.WaitFor("> half an answer")
	result := l.api.ToolResults()["toolu_db"]
	if !result.IsError || strings.TrimSpace(result.Text) == "" || strings.Contains(result.Text, "answers") {
		t.Errorf("the model read %+v", result)
	}
	l.leave("asker_gone")
	checkNobodyLeft(t, l.env)
}
