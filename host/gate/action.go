package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate/classify"
)

// action is one tool call of an agent, as the gate understands it.
type action struct {
	call    *askbridge.PermissionCall
	dir     string
	verdict classify.Verdict
	effect  host.Effect
	hash    string // of what would be done, see canonical
	change  *change
}

// read understands a call. An error is one that nobody needs to be asked about: it cannot be done anyway.
func (t *Turn) read(call *askbridge.PermissionCall) (*action, error) {
	a := &action{call: call, dir: t.dir}
	a.verdict = classify.Classify(classify.Call{Tool: call.Tool, Input: call.Input, Dir: t.dir, Roots: t.own(), Home: t.gate.opt.Home})
	if call.Tool == "Read" && a.verdict.Ask && t.isOutput(call.Input) {
		a.verdict.Ask = false
	}
	a.effect = host.Effect(a.verdict.Effect)
	canonical, err := canonical(call)
	if err != nil {
		return nil, err
	}
	a.hash = hash(call.Tool, canonical, t.dir)
	if call.Tool == "Bash" && a.verdict.Command == "" {
		return nil, errors.New(a.verdict.Reason) // it could not be run as it is shown
	}
	if call.Tool == "Write" || call.Tool == "Edit" {
		if a.change, err = readChange(call.Tool, call.Input, t.dir); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// canonical is what a call would do, in one form: without the words around it, which change from attempt to attempt.
func canonical(call *askbridge.PermissionCall) ([]byte, error) {
	in, err := members(call.Input)
	if err != nil {
		return nil, err
	}
	if call.Tool != "Bash" {
		var out bytes.Buffer
		err := json.Compact(&out, call.Input)
		return out.Bytes(), err
	}
	if _, err := text(in, "command"); err != nil {
		return nil, err
	}
	delete(in, "description")
	return json.Marshal(in)
}

// hash is what an approval is bound to.
func hash(tool string, canonical []byte, dir string) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(tool), canonical, []byte(dir)} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// proposal shows the action whole. Its texts are not safe yet.
func (a *action) proposal(held string) *host.Proposal {
	p := &host.Proposal{Tool: a.call.Tool, Effect: a.effect, Dir: a.dir, Reason: a.verdict.Reason, Held: held, Hash: a.hash}
	switch {
	case a.call.Tool == "Bash":
		p.Title, p.Text = "run a command", a.verdict.Command
	case a.change != nil:
		p.Title, p.Text, p.Diff = a.change.title(a.dir), a.change.diff(), true
	default:
		p.Title, p.Text = "call "+a.call.Tool, pretty(a.call.Input)
	}
	if a.effect == host.EffectRead {
		p.Title = "read " + strings.TrimPrefix(p.Title, "call ")
	}
	return p
}

// pretty is an input with a line a field.
func pretty(input json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, input, "", "  ") != nil {
		return string(input)
	}
	return out.String()
}

// rows are the answers that a proposal can have, with what each means.
func (a *action) rows() []host.OperatorOption {
	row := func(scope host.Scope, means string) host.OperatorOption {
		return host.OperatorOption{Label: string(scope), Description: means}
	}
	once, deny := row(host.ScopeAction, "this one, once"), host.OperatorOption{Label: host.Deny, Description: "it does not happen, and the agent is told so"}
	if a.effect != host.EffectWrite || a.verdict.Guarded {
		return []host.OperatorOption{once, deny}
	}
	return []host.OperatorOption{
		row(host.ScopeTurn, "this one, and whatever changes files or runs here until the turn ends"), once,
		row(host.ScopeSession, "the same until the session ends"), deny,
	}
}

// question is the proposal as a surface without a form for it shows it: whole, in words.
func (a *action) question(p *host.Proposal, asker host.Asker) host.OperatorQuestion {
	who := asker.Agent
	if len(asker.Path) > 0 {
		who += " › " + strings.Join(asker.Path, " › ")
	}
	text := p.Text
	if len(text) > questionBytes {
		text = fmt.Sprintf("(%d bytes, too many for this surface: decline it here, or open it in kitsoki's own terminal)", len(text))
	}
	return host.OperatorQuestion{
		Header:   "Proposal",
		Question: fmt.Sprintf("%s wants to %s (%s: %s):\n\n%s", who, p.Title, p.Effect, p.Reason, text),
		Options:  a.rows(),
	}
}

// questionBytes bounds what a question shows of an action. The proposal itself is always whole.
const questionBytes = 16 << 10

// short is a path as it is told: from the directory, where it is below it.
func short(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
