package teatest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// askedWithDraft sends the prompt, waits for the ask, and types half an answer into it, which is on the disk then.
func (l *lasting) askedWithDraft(draft string) {
	l.t.Helper()
	l.prompt("build it")
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
			l.askedWithDraft("half an answer")
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
	l.askedWithDraft("half an answer")
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
	l.askedWithDraft("half an answer")
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

// The host is killed between an answer and its delivery: the grandchild was suspended, and the answer went no further.
// The next process hands it over without asking again, and says so.
func TestClaudeGetsAnAnswerThatWasOnItsWay(t *testing.T) {
	t.Parallel()
	const answers = `{"answers":{"Which DB?":"SQLite, the 小 one; yes"}}`
	l := last(t, first(), then(answers, "SQLite it is."))
	l.askedWithDraft("SQLite, the 小 one; yes")
	signal(t, member(t, l.env, "mcp-operator-ask"), unix.SIGSTOP)
	l.Keys("Enter")
	if !eventually(func() bool { return len(l.traced("operator.question.answered")) == 1 }) {
		t.Fatal("the answer was not accepted")
	}
	kill(t, l.PID())
	l.WaitExit()
	if n := len(l.traced("operator.question.delivered")); n > 0 {
		t.Fatal("the answer was delivered")
	}

	l.open("--continue")
	l.WaitFor("the answer goes to the agent as the next message")
	l.WaitFor("SQLite it is.")
	l.WaitFor("idle")
	l.WaitFor("taken") // and not only sent
	quit(t, l.Pane)
	l.checkSameTalk(answers, "build it")
	if asked := l.traced("operator.question.asked"); len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
	if d := l.traced("operator.question.delivered"); len(d) != 1 || d[0].Data["delivered"] != true {
		t.Errorf("delivered: %v", d)
	}
	checkTrace(t, l.env)
	checkNothingLeft(t, l.env)
	checkNobodyLeft(t, l.env)
}

// Another day: what was typed, queued, said and spent is there again, and the conversation goes on.
func TestClaudeGoesOnAnotherDay(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	l := last(t,
		then("build it", "It is built."),
		messagesapi.Step{Name: "held", When: messagesapi.PromptContains("polish it"), Reply: messagesapi.Say("never"), Hold: hold, Optional: true},
		then("ship it", "It is shipped."), then("and tell them", "They know."),
	)
	l.prompt("build it")
	l.WaitFor("It is built.")
	l.WaitFor("idle")
	spent := regexp.MustCompile(`\$\d+\.\d+ · \S+ tokens`)
	cost := l.WaitMatch(spent)[0]
	l.prompt("polish it")
	l.api.WaitRequest(2)
	l.prompt("ship it")
	l.WaitFor("1 queued")
	l.Type("and tell")
	l.WaitFor("> and tell")
	quit(t, l.Pane)
	checkNobodyLeft(t, l.env)

	l.open("--continue")
	l.WaitFor("taken up again; 1 queued, held")
	l.WaitFor("It is built.")
	l.WaitFor("> and tell")
	if again := l.WaitMatch(spent)[0]; again != cost || strings.HasPrefix(cost, "$0.0000") {
		t.Errorf("it cost %s, and %s after it was taken up again", cost, again)
	}
	l.Type(" them")
	l.WaitFor("> and tell them")
	l.Keys("Enter")
	l.WaitFor("They know.")
	l.WaitFor("It is shipped.") // the queue goes on after a turn that ended well
	l.WaitFor("idle")
	for _, older := range []string{"and tell them", "ship it", "polish it", "build it"} {
		l.Keys("Up")
		l.WaitFor("> " + older)
	}
	l.Keys("C-u")
	quit(t, l.Pane)
	l.checkSameTalk("and tell them", "build it", "It is built.")
	l.checkSameTalk("ship it", "build it", "and tell them", "They know.")
	checkTrace(t, l.env)
	checkNothingLeft(t, l.env)
	checkNobodyLeft(t, l.env)
}

// run runs kitsoki to its end without a terminal, in the same environment and directory.
func (l *lasting) run(args ...string) (out string, code int) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), program(l.t), append(args, "--cwd", l.dir)...)
	cmd.Env, cmd.Dir = l.env, l.dir
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// A session belongs to one process: whoever else comes is told so, and disturbs nothing.
func TestClaudesSessionIsOpenElsewhere(t *testing.T) {
	t.Parallel()
	l := last(t, first(), goOn("toolu_db", "Well chosen."))
	l.askedWithDraft("half an answer")
	id := filepath.Base(filepath.Dir(traceFile(t, l.env)))
	for _, args := range [][]string{{"--plain", "--resume", id}, {"--plain", "--continue"}, {"turn", "go on", "--session", "last"}} {
		out, code := l.run(args...)
		if code != 1 || !strings.Contains(out, id) || !strings.Contains(out, "open in another kitsoki") || strings.Contains(out, "--help") {
			t.Errorf("%v: exit code %d, %q", args, code, out)
		}
	}
	l.WaitFor("half an answer")
	quiet()
	l.Keys("Enter")
	l.WaitFor("Well chosen.")
	l.WaitFor("idle")
	l.leave("answered")
	checkNobodyLeft(t, l.env)
}

// A turn without an operator goes on with a session of the terminal, and the terminal with it afterwards.
func TestClaudesTurnsFromAShellAndTheTerminal(t *testing.T) {
	t.Parallel()
	l := last(t, then("build it", "It is built."), then("test it", "It is tested."), then("ship it", "It is shipped."))
	l.prompt("build it")
	l.WaitFor("It is built.")
	l.WaitFor("idle")
	l.Type("ship")
	l.WaitFor("> ship")
	quit(t, l.Pane)
	if out, code := l.run("turn", "test it", "--session", "last"); code != 0 || strings.TrimSpace(out) != "It is tested." {
		t.Errorf("exit code %d, %q", code, out)
	}
	l.checkSameTalk("test it", "build it", "It is built.")

	l.open("--continue")
	l.WaitFor("It is built.")
	l.WaitFor("It is tested.")
	l.WaitFor("> ship")
	l.Type(" it")
	l.WaitFor("> ship it")
	l.Keys("Enter")
	l.WaitFor("It is shipped.")
	l.WaitFor("idle")
	l.checkSameTalk("ship it", "build it", "test it", "It is tested.")
	l.leave()
	checkNobodyLeft(t, l.env)
}

// A conversation that the agent has thrown away, as claude does some time after its last turn, fails one turn, and the next one begins
// anew.
func TestClaudeHasForgottenTheConversation(t *testing.T) {
	t.Parallel()
	l := last(t, then("build it", "It is built."), then("ship it", "It is shipped."))
	l.prompt("build it")
	l.WaitFor("It is built.")
	l.WaitFor("idle")
	quit(t, l.Pane)
	if err := os.RemoveAll(filepath.Join(lookup(l.env, "HOME"), ".claude", "projects")); err != nil {
		t.Fatal(err)
	}
	l.open("--continue")
	l.WaitFor("It is built.")
	l.prompt("ship it")
	l.WaitFor("No conversation found")
	l.WaitFor("your next prompt begins a new one")
	l.WaitFor("failed")
	l.Keys("Up")
	quiet()
	l.Keys("Enter")
	l.WaitFor("It is shipped.")
	l.WaitFor("idle")
	l.leave()
}
