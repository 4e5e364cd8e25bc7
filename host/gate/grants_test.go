package gate

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// modelGrant and grantModel say in the plainest way what grants do.
type modelGrant struct {
	id    string
	scope host.Scope
	turn  int
	uses  int
}

type grantModel struct {
	grants []modelGrant
	denied []denial
	next   int
}

func (m *grantModel) covering(effect host.Effect, turn int, hash string) (id string) {
	if effect != host.EffectWrite || slices.Contains(m.denied, denial{turn, hash}) {
		return ""
	}
	for i, g := range m.grants {
		if g.scope == host.ScopeSession || g.turn == turn {
			m.grants[i].uses++
			return g.id
		}
	}
	return ""
}

func effects() *rapid.Generator[host.Effect] {
	return rapid.SampledFrom([]host.Effect{host.EffectRead, host.EffectWrite, host.EffectExternal, ""})
}

// Whatever is granted, denied, ended and revoked in whatever order: grants are the model's.
func TestGrantsAreTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, m := newGrants(), &grantModel{}
		turn := rapid.IntRange(1, 3)
		hash := rapid.SampledFrom([]string{"a", "b", "c"})
		changed := g.change()
		moved := func(want bool) {
			select {
			case <-changed:
				if changed = g.change(); !want {
					t.Fatal("a change was told that was none")
				}
			default:
				if want {
					t.Fatal("a change was not told")
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				scope := rapid.SampledFrom([]host.Scope{host.ScopeAction, host.ScopeTurn, host.ScopeSession, "", "always"}).Draw(t, "scope")
				effect, n := effects().Draw(t, "effect"), turn.Draw(t, "turn")
				g.add(scope, effect, n, "x")
				counts := effect == host.EffectWrite && (scope == host.ScopeTurn || scope == host.ScopeSession)
				if counts {
					m.next++
					m.grants = append(m.grants, modelGrant{id: fmt.Sprint(m.next), scope: scope, turn: n})
				}
				moved(counts)
			},
			"deny": func(t *rapid.T) {
				d := denial{turn.Draw(t, "turn"), hash.Draw(t, "hash")}
				g.deny(d.turn, d.hash)
				m.denied = append(m.denied, d)
				moved(true)
			},
			"cover": func(t *rapid.T) {
				effect, n, h := effects().Draw(t, "effect"), turn.Draw(t, "turn"), hash.Draw(t, "hash")
				gr, ok := g.covers(effect, n, h)
				if want := m.covering(effect, n, h); ok != (want != "") || gr.ID != want {
					t.Fatalf("%s in turn %d is covered by %q, want %q", effect, n, gr.ID, want)
				}
				moved(false)
			},
			"end": func(t *rapid.T) {
				n := turn.Draw(t, "turn")
				g.endTurn(n)
				m.grants = slices.DeleteFunc(m.grants, func(g modelGrant) bool { return g.scope == host.ScopeTurn && g.turn == n })
				m.denied = slices.DeleteFunc(m.denied, func(d denial) bool { return d.turn == n })
				moved(true)
			},
			"revoke": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, m.next+1).Draw(t, "id"))
				i := slices.IndexFunc(m.grants, func(g modelGrant) bool { return g.id == id })
				if got := g.revoke(id); got != (i >= 0) {
					t.Fatalf("revoking %s: %v", id, got)
				}
				if i >= 0 {
					m.grants = slices.Delete(m.grants, i, i+1)
				}
				moved(true)
			},
			"": func(t *rapid.T) {
				all := g.all()
				if len(all) != len(m.grants) {
					t.Fatalf("there are %+v, want %+v", all, m.grants)
				}
				for i, want := range m.grants {
					if got := all[i]; got.ID != want.id || got.Scope != want.scope || got.Uses != want.uses || got.Effect != host.EffectWrite {
						t.Fatalf("there is %+v, want %+v", got, want)
					}
				}
				for n := 1; n <= 3; n++ {
					for _, h := range []string{"a", "b", "c"} {
						if g.refused(n, h) != slices.Contains(m.denied, denial{n, h}) {
							t.Fatalf("%s in turn %d: refused %v", h, n, g.refused(n, h))
						}
					}
				}
			},
		})
	})
}

// Nobody sees a grant of a turn that has ended, or an action that was denied, covered, whatever happens at once.
func TestGrantsAtOnce(t *testing.T) {
	g := newGrants()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 200 {
				turn := n*1000 + i
				g.add(host.ScopeTurn, host.EffectWrite, turn, "x")
				if _, ok := g.covers(host.EffectWrite, turn, "h"); !ok {
					t.Error("a grant does not cover its own turn")
				}
				g.deny(turn, "h")
				if _, ok := g.covers(host.EffectWrite, turn, "h"); ok {
					t.Error("a grant covers what was denied")
				}
				g.endTurn(turn)
				if _, ok := g.covers(host.EffectWrite, turn, "other"); ok {
					t.Error("a grant covers after its turn")
				}
			}
		})
	}
	all.Wait()
	if left := g.all(); len(left) != 0 || len(g.denied) != 0 {
		t.Errorf("left are %+v and %d denials", left, len(g.denied))
	}
}
