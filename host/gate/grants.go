package gate

import (
	"slices"
	"strconv"
	"sync"

	"example.com/kitsoki/host"
)

// Grant is a yes of the operator that reaches further than one action.
type Grant struct {
	ID     string // short, for revoking it
	Scope  host.Scope
	Effect host.Effect
	Turn   int // in which it was given; of ScopeTurn it ends with it
	Action string
	Uses   int
}

// grants are what an operator allowed in one session, and what was denied in its turns. A denial of an action stands
// until its turn ends, whatever is granted later; nothing that leaves the machine is ever covered.
type grants struct {
	mu      sync.Mutex // guards all below
	list    []Grant
	next    int
	denied  map[denial]bool
	changed chan struct{} // closed at the next change
}

// denial is an action that was denied, by its hash, and the turn in which it was.
type denial struct {
	turn int
	hash string
}

func newGrants() *grants {
	return &grants{denied: map[denial]bool{}, changed: make(chan struct{})}
}

// add grants. What can never be granted is not.
func (g *grants) add(scope host.Scope, effect host.Effect, turn int, action string) {
	if effect != host.EffectWrite || (scope != host.ScopeTurn && scope != host.ScopeSession) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	g.list = append(g.list, Grant{ID: strconv.Itoa(g.next), Scope: scope, Effect: effect, Turn: turn, Action: action})
	g.changedLocked()
}

// covers reports the grant under which an action may be done, and counts it.
func (g *grants) covers(effect host.Effect, turn int, hash string) (Grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if effect != host.EffectWrite || g.denied[denial{turn, hash}] {
		return Grant{}, false
	}
	for i := range g.list {
		if gr := &g.list[i]; gr.Effect == effect && (gr.Scope == host.ScopeSession || gr.Turn == turn) {
			gr.Uses++
			return *gr, true
		}
	}
	return Grant{}, false
}

// deny remembers that an action was denied; refused reports whether it was, in this turn.
func (g *grants) deny(turn int, hash string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.denied[denial{turn, hash}] = true
	g.changedLocked()
}

func (g *grants) refused(turn int, hash string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.denied[denial{turn, hash}]
}

// endTurn takes away what a turn had.
func (g *grants) endTurn(turn int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(gr Grant) bool { return gr.Scope == host.ScopeTurn && gr.Turn == turn })
	for d := range g.denied {
		if d.turn == turn {
			delete(g.denied, d)
		}
	}
	g.changedLocked()
}

// revoke takes a grant away; false when there is none with this id.
func (g *grants) revoke(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.list)
	g.list = slices.DeleteFunc(g.list, func(gr Grant) bool { return gr.ID == id })
	g.changedLocked()
	return len(g.list) < n
}

func (g *grants) all() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.list)
}

// change is closed at the next change of what is granted.
func (g *grants) change() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *grants) changedLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}
