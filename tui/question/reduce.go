package question

import (
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// Action is one thing that the operator does. The zero Action does nothing.
type Action struct {
	Do   Do
	N    int    // of Move, Light, Turn
	Text string // of Write and Open
}

// Do names an action.
type Do int

// The actions.
const (
	Nothing   Do = iota
	Move         // the lit row by N; never answers
	Light        // row N
	Pick         // toggle the lit row, or choose it in a single select
	Take         // Enter: finish the question, accept the field, send the review, decline
	Open         // the own answer's field, with Text added to what stands in it
	Write        // Text is what now stands in the field
	Leave        // Esc
	Turn         // N pages on
	Skip         // leave the focused question out
	Decline      // ask for the reason
	Annotate     // the field of the focused question's note
	Search       // the field that narrows the options
	AskBack      // ask for what the agent should explain
	Recommend    // tick what the agent recommends, where nothing is answered yet, and go to the review
)

// Effect is what a step asks of the world beyond the sheet. At most one of its parts is set.
type Effect struct {
	Finished bool          // the focused question is finished; Advance says what comes next
	Send     []host.Answer // settle the ask
	Decline  *Refusal
	Fold     bool
	Warned   bool // an Enter was answered with a warning; the next one goes through
}

// Refusal is a decline with the operator's reason and what had been answered.
type Refusal struct {
	Reason  string
	Partial []host.Answer
}

// Reduce does one action.
func (s Sheet) Reduce(a Action) (Sheet, Effect) {
	warned := s.warned
	s.warned, s.Notice = false, ""
	switch a.Do {
	case Move:
		return s.move(a.N), Effect{}
	case Light:
		if a.N >= 0 && a.N < s.rows() && (s.OnReview() || slices.Contains(s.Listed(), a.N)) {
			s = s.light(a.N)
		}
		return s, Effect{}
	case Pick:
		return s.pick()
	case Take:
		return s.take(warned)
	case Open:
		return s.open(a.Text), Effect{}
	case Write:
		return s.write(a.Text), Effect{}
	case Leave:
		return s.leave()
	case Turn:
		return s.turn(a.N), Effect{}
	case Skip:
		return s.skip()
	case Annotate:
		if s.Place == List {
			s.Place = Note
		}
		return s, Effect{}
	case Search:
		if s.Place == List && len(s.Question().Options) > 0 {
			s.Place = Filter
		}
		return s, Effect{}
	case Decline, AskBack:
		if s.Place != Reason {
			s.before, s.Place = s.Place, Reason
		}
		s.Back = a.Do == AskBack
		return s, Effect{}
	case Recommend:
		return s.recommend(), Effect{}
	}
	s.warned = warned
	return s, Effect{}
}

// Advance goes on after a finished question: to the next open one, to the review, or, when the ask has a
// single question, straight to sending.
func (s Sheet) Advance() (Sheet, Effect) {
	next := s.firstOpen(s.Focus + 1)
	if next < len(s.Questions) {
		return s.visit(next), Effect{}
	}
	if !s.HasReview() {
		return s, Effect{Send: s.Answers()}
	}
	return s.visit(next), Effect{}
}

func (s Sheet) pick() (Sheet, Effect) {
	if s.OnReview() {
		return s.decide(), Effect{}
	}
	if s.OnOwnRow() {
		return s.open(""), Effect{}
	}
	if s.hidden() {
		return s, Effect{}
	}
	row := s.LitRow()
	multi := s.Question().MultiSelect
	return s.edit(func(d *host.Draft) {
		at := slices.Index(d.Picked, row)
		switch {
		case at >= 0:
			d.Picked = slices.Delete(d.Picked, at, at+1)
		case multi:
			d.Picked = append(d.Picked, row)
			slices.Sort(d.Picked)
		default:
			d.Picked = []int{row}
		}
	}), Effect{}
}

func (s Sheet) take(warned bool) (Sheet, Effect) {
	switch {
	case s.Place == Reason:
		return s, Effect{Decline: &Refusal{Reason: s.reason(), Partial: s.partial()}}
	case s.OnReview():
		return s.send(warned)
	case s.Place == Own:
		return s.accept()
	case s.Place == Note, s.Place == Filter: // Enter only saves
		s.Place = List
		return s, Effect{}
	case s.OnOwnRow():
		return s.open(""), Effect{}
	case !s.Question().MultiSelect && s.hidden():
		s.Notice = "no row is listed: Esc shows all"
		return s, Effect{}
	case !s.Question().MultiSelect && !warned && len(s.Draft().Picked) == 0 && strings.TrimSpace(s.Draft().Text) != "":
		s.warned = true
		s.Notice = fmt.Sprintf("your own answer is a draft: i, then Enter, sends it; Enter now takes row %d, with it as a note", s.LitRow()+1)
		return s, Effect{Warned: true}
	case !s.Question().MultiSelect:
		row := s.LitRow()
		return s.finish(func(d *host.Draft) { d.Picked = []int{row} })
	case s.Question().MultiSelect && len(s.Draft().Picked) == 0 && strings.TrimSpace(s.Draft().Text) == "":
		if !warned {
			s.warned, s.Notice = true, "nothing is ticked: Space ticks a row, Enter again answers “none of them”"
			return s, Effect{Warned: true}
		}
		return s.finish(func(d *host.Draft) { d.None = true })
	}
	return s.finish(func(*host.Draft) {})
}

// accept finishes the own answer's field. In a multi-select it is one more tick; the list is taken as a whole.
func (s Sheet) accept() (Sheet, Effect) {
	if strings.TrimSpace(s.Draft().Text) == "" {
		s.Notice = "the own answer is empty: type it, or Esc goes back to the list"
		return s, Effect{}
	}
	if s.Question().MultiSelect && len(s.Question().Options) > 0 {
		s = s.light(s.back)
		s.Place, s.Notice = List, "own answer added; Enter takes all that is ticked"
		return s, Effect{}
	}
	return s.finish(func(*host.Draft) {})
}

func (s Sheet) finish(change func(*host.Draft)) (Sheet, Effect) {
	s = s.edit(func(d *host.Draft) {
		change(d)
		d.Taken = true
	})
	s.Place = List
	return s, Effect{Finished: true}
}

func (s Sheet) open(text string) Sheet {
	if s.OnReview() {
		return s
	}
	if s.Place != Own {
		// Afterwards the list is as it was; left on the own answer's row, every printable key would open the field.
		s.back = min(s.LitRow(), max(0, s.OwnRow()-1))
	}
	s = s.light(s.OwnRow())
	s.Place = Own
	if text != "" {
		s = s.write(s.Draft().Text + text)
	}
	return s
}

func (s Sheet) write(text string) Sheet {
	switch {
	case s.Place == Reason:
		s.Reason = text
	case s.Place == Filter:
		s.Narrow = text
		if listed := s.Listed(); len(listed) > 0 && !slices.Contains(listed, s.LitRow()) {
			return s.light(listed[0])
		}
	case s.Place == Note:
		s.Drafts = slices.Clone(s.Drafts)
		s.Drafts[s.Focus].Note = text // beside the answer, which stays as finished as it is
	case s.Place == Own && text != s.Draft().Text:
		return s.edit(func(d *host.Draft) { d.Text = text })
	}
	return s
}

func (s Sheet) leave() (Sheet, Effect) {
	switch s.Place {
	case Own:
		s = s.light(s.back)
		s.Place = List
		return s, Effect{}
	case Reason:
		s.Place = s.before
		return s, Effect{}
	case Note:
		s.Place = List
		return s, Effect{}
	case Filter:
		s.Place, s.Narrow = List, ""
		return s, Effect{}
	case Review:
		return s.visit(s.LitRow()), Effect{}
	}
	if s.Narrow != "" {
		s.Narrow = ""
		return s, Effect{}
	}
	return s, Effect{Fold: true}
}

func (s Sheet) turn(n int) Sheet {
	if s.Place == Reason {
		return s
	}
	pages := len(s.Questions)
	if s.HasReview() {
		pages++
	}
	return s.visit(((s.Focus+n)%pages + pages) % pages)
}

func (s Sheet) skip() (Sheet, Effect) {
	switch {
	case s.OnReview():
		return s, Effect{}
	case len(s.Questions) == 1:
		s.Notice = "this is the only question: to skip it is to decline, with ^X"
		return s, Effect{}
	}
	return s.finish(func(d *host.Draft) { d.Skipped = true })
}

// unfinished lists the questions that a send must not pass over silently: those with nothing in them, and those
// with a draft that was not taken.
func (s Sheet) unfinished() (empty, drafts []int) {
	for i, d := range s.Drafts {
		switch {
		case d.Taken:
		case answer(d).Empty():
			empty = append(empty, i)
		default:
			drafts = append(drafts, i)
		}
	}
	return empty, drafts
}

// decide turns the lit draft of the review to "use it", to "leave it", and back.
func (s Sheet) decide() Sheet {
	i := s.LitRow()
	d := s.Drafts[i]
	content := answer(d)
	content.Skipped = false
	if content.Empty() {
		s.Notice = fmt.Sprintf("question %d has no draft: Esc goes to it", i+1)
		return s
	}
	s.Drafts = slices.Clone(s.Drafts)
	d.Skipped = d.Taken && !d.Skipped
	d.Taken = true
	s.Drafts[i] = d
	return s
}

func (s Sheet) send(warned bool) (Sheet, Effect) {
	empty, drafts := s.unfinished()
	if len(drafts) > 0 {
		s = s.light(drafts[0])
		s.Notice = fmt.Sprintf("question %d has a draft that is not taken: Space uses it, Space again leaves it out", drafts[0]+1)
		return s, Effect{Warned: true}
	}
	answers := s.Answers()
	if !warned {
		switch {
		case s.allSkipped(answers):
			s.warned, s.Notice = true, "no question is answered: Enter again declines"
		case len(empty) > 0:
			s.warned, s.Notice = true, fmt.Sprintf("%s open: Enter again sends without, Esc goes to it", count(len(empty), "question is", "questions are"))
		}
		if s.warned {
			if len(empty) > 0 {
				s = s.light(empty[0])
			}
			return s, Effect{Warned: true}
		}
	}
	return s, Effect{Send: answers}
}

func (s Sheet) allSkipped(as []host.Answer) bool {
	return !slices.ContainsFunc(as, func(a host.Answer) bool { return !a.Skipped })
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
