package question

import (
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// Place is what the keyboard works on.
type Place int

// The places.
const (
	List   Place = iota // the options of a question
	Own                 // the field of its own answer
	Review              // the page that lists every answer
	Reason              // the reason of a decline
	Note                // the field of a question's note
	Filter              // the field that narrows the options
)

// Sheet is what the operator has made of one ask so far. It is a value: Reduce returns a new one and leaves the
// old one as it was.
type Sheet struct {
	Questions []host.OperatorQuestion
	Drafts    []host.Draft // one a question
	Focus     int          // a question; len(Questions) is the review
	Place     Place
	Reason    string // of a decline, while it is being typed
	Back      bool   // the reason is what the agent should explain first
	Notice    string // what the last step has to say
	Lit       []int  // the lit row of each question and, last, of the review; the row after the options is the own answer

	Narrow string // what the labels of the focused question have to contain to be listed

	back   int   // the row that was lit when the own answer's field was opened
	before Place // where Reason was opened
	warned bool  // the next Enter goes through, because the last one was answered with a warning
}

// New makes the sheet of an ask from its drafts, which may come from an earlier sheet of the same ask.
func New(qs []host.OperatorQuestion, drafts []host.Draft) Sheet {
	s := Sheet{Questions: qs, Drafts: make([]host.Draft, len(qs)), Lit: make([]int, len(qs)+1)}
	copy(s.Drafts, drafts)
	for i, d := range s.Drafts {
		if len(d.Picked) > 0 {
			s.Lit[i] = d.Picked[0]
		} else if d.Text != "" {
			s.Lit[i] = len(qs[i].Options)
		}
	}
	return s.visit(s.firstOpen(0))
}

// HasReview reports whether the ask goes through the review page: with several questions, and when a row was
// taken while the own answer's field still holds text, which goes along as a note.
func (s Sheet) HasReview() bool {
	if len(s.Questions) > 1 {
		return true
	}
	d := s.Drafts[0]
	return !s.Questions[0].MultiSelect && len(d.Picked) > 0 && strings.TrimSpace(d.Text) != ""
}

// OnReview reports whether the review page has the focus.
func (s Sheet) OnReview() bool { return s.Focus >= len(s.Questions) }

// Question returns the focused question; the zero question on the review.
func (s Sheet) Question() host.OperatorQuestion {
	if s.OnReview() {
		return host.OperatorQuestion{}
	}
	return s.Questions[s.Focus]
}

// Draft returns the draft of the focused question.
func (s Sheet) Draft() host.Draft {
	if s.OnReview() {
		return host.Draft{}
	}
	return s.Drafts[s.Focus]
}

// LitRow returns the lit row of the focused page.
func (s Sheet) LitRow() int { return s.Lit[s.Focus] }

// OwnRow is the row of the own answer in the focused question.
func (s Sheet) OwnRow() int { return len(s.Question().Options) }

// OnOwnRow reports whether the own answer's row is lit in the list.
func (s Sheet) OnOwnRow() bool { return !s.OnReview() && s.LitRow() == s.OwnRow() }

// Taken counts the questions that the operator finished with.
func (s Sheet) Taken() int {
	n := 0
	for _, d := range s.Drafts {
		if d.Taken {
			n++
		}
	}
	return n
}

// Answers returns what would be sent now: finished questions as they are, all others skipped.
func (s Sheet) Answers() []host.Answer {
	out := make([]host.Answer, len(s.Drafts))
	for i, d := range s.Drafts {
		if !d.Taken || d.Skipped {
			out[i] = host.Answer{Skipped: true}
			continue
		}
		out[i] = answer(d)
	}
	return out
}

// answer is what a finished draft says. White space alone in the own answer's field is no answer.
func answer(d host.Draft) host.Answer {
	if strings.TrimSpace(d.Text) == "" {
		d.Text = ""
	}
	return d.Answer
}

// partial returns the finished answers alone, for a decline.
func (s Sheet) partial() []host.Answer {
	out := make([]host.Answer, len(s.Drafts))
	for i, d := range s.Drafts {
		if d.Taken && !d.Skipped {
			out[i] = answer(d)
		}
	}
	return out
}

// Unsent returns the texts that the operator typed and that are in none of the answers which went out: what must
// not be lost when the ask goes away. sent is nil when nothing went out; declined tells whether the reason did.
func (s Sheet) Unsent(sent []host.Answer, declined bool) []string {
	var out []string
	for i, d := range s.Drafts {
		if noted := i < len(sent) && sent[i].Note == d.Note; strings.TrimSpace(d.Note) != "" && !noted {
			out = append(out, d.Note)
		}
		gone := i < len(sent) && !sent[i].Skipped && sent[i].Text == d.Text
		if strings.TrimSpace(d.Text) != "" && !gone {
			out = append(out, d.Text)
		}
	}
	if strings.TrimSpace(s.Reason) != "" && !declined {
		out = append(out, s.Reason)
	}
	return out
}

// firstOpen returns the first question from the given one on, round the end, that is not finished; the review
// when all are.
func (s Sheet) firstOpen(from int) int {
	for n := range s.Questions {
		if i := (from + n) % len(s.Questions); !s.Drafts[i].Taken {
			return i
		}
	}
	return len(s.Questions)
}

// visit moves the focus. A question without options is its own answer's field.
func (s Sheet) visit(page int) Sheet {
	s.Focus, s.Place, s.Narrow = page, List, ""
	switch {
	case s.OnReview():
		s.Place = Review
	case len(s.Question().Options) == 0 && !s.Draft().Taken:
		s.Place = Own
	}
	return s
}

// edit returns a sheet whose focused draft is the changed one. A changed draft has to be finished again.
func (s Sheet) edit(change func(*host.Draft)) Sheet {
	s.Drafts = slices.Clone(s.Drafts)
	d := s.Drafts[s.Focus]
	d.Picked = slices.Clone(d.Picked)
	d.Taken, d.Skipped, d.None = false, false, false
	change(&d)
	s.Drafts[s.Focus] = d
	return s
}

func (s Sheet) light(row int) Sheet {
	s.Lit = slices.Clone(s.Lit)
	s.Lit[s.Focus] = max(0, min(row, s.rows()-1))
	return s
}

// Listed returns the options of the focused question that are listed, by index.
func (s Sheet) Listed() []int {
	var out []int
	want := strings.ToLower(s.Narrow)
	for i, o := range s.Question().Options {
		if strings.Contains(strings.ToLower(o.Label), want) {
			out = append(out, i)
		}
	}
	return out
}

// hidden reports whether the lit row is an option that is not listed.
func (s Sheet) hidden() bool { return !s.OnOwnRow() && !slices.Contains(s.Listed(), s.LitRow()) }

// move lights the row n listed rows away. The own answer's row comes after the options.
func (s Sheet) move(n int) Sheet {
	if s.OnReview() {
		return s.light(s.LitRow() + n)
	}
	rows := append(s.Listed(), s.OwnRow())
	at := 0
	for i, row := range rows {
		if row <= s.LitRow() {
			at = i
		}
	}
	return s.light(rows[max(0, min(at+n, len(rows)-1))])
}

// rows counts the rows of the focused page.
func (s Sheet) rows() int {
	if s.OnReview() {
		return len(s.Questions)
	}
	return len(s.Question().Options) + 1
}
