package question

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

func options(labels ...string) []host.OperatorOption {
	out := make([]host.OperatorOption, len(labels))
	for i, l := range labels {
		out[i].Label = l
	}
	return out
}

var (
	database = host.OperatorQuestion{Question: "Which database?", Header: "DB", Options: options("Postgres", "SQLite", "Other")}
	checks   = host.OperatorQuestion{Question: "Which checks?", Header: "Checks", Options: options("lint", "unit", "race"), MultiSelect: true}
	name     = host.OperatorQuestion{Question: "Which name?", Header: "Name"}
)

func sheet(qs ...host.OperatorQuestion) Sheet { return New(qs, nil) }

// play does actions, going on after each finished question as the form does.
func play(s Sheet, actions ...Action) (Sheet, Effect) {
	var e Effect
	for _, a := range actions {
		s, e = s.Reduce(a)
		if e.Finished {
			s, e = s.Advance()
		}
	}
	return s, e
}

var (
	up, down = Action{Do: Move, N: -1}, Action{Do: Move, N: 1}
	enter    = Action{Do: Take}
	space    = Action{Do: Pick}
	esc      = Action{Do: Leave}
	tab      = Action{Do: Turn, N: 1}
	back     = Action{Do: Turn, N: -1}
)

func write(text string) Action { return Action{Do: Write, Text: text} }

func TestSingleSelectSendsTheLitRowAtEnter(t *testing.T) {
	_, e := play(sheet(database), down, enter)
	if len(e.Send) != 1 || len(e.Send[0].Picked) != 1 || e.Send[0].Picked[0] != 1 {
		t.Fatalf("sent %+v", e.Send)
	}
}

func TestMovingAndLightingNeverAnswers(t *testing.T) {
	s, e := play(sheet(database, checks), down, down, up, Action{Do: Light, N: 1}, tab, down, tab, back)
	if e.Send != nil || s.Taken() != 0 {
		t.Fatalf("answered %+v", s.Drafts)
	}
}

// O3 (oh-my-pi#12521): nothing ticked is asked about once, then sent as an explicit none.
func TestMultiSelectWithNothingTickedWarnsFirst(t *testing.T) {
	s, e := play(sheet(checks), enter)
	if !e.Warned || e.Send != nil || s.Notice == "" {
		t.Fatalf("the first Enter gave %+v", e)
	}
	if _, e := play(s, enter); len(e.Send) != 1 || !e.Send[0].None {
		t.Fatalf("the second Enter gave %+v", e)
	}
	if _, e := play(s, down, enter); !e.Warned {
		t.Fatal("the warning outlived another key")
	}
}

func TestMultiSelectTakesWhatIsTickedNeverTheLitRow(t *testing.T) {
	_, e := play(sheet(checks), space, down, down, space, up, enter)
	if len(e.Send) != 1 || len(e.Send[0].Picked) != 2 || e.Send[0].Picked[0] != 0 || e.Send[0].Picked[1] != 2 {
		t.Fatalf("sent %+v", e.Send)
	}
}

// O4 (Pivot#48): Enter on the own answer's row opens the field; an option that is called Other is only an option.
func TestEnterOnTheOwnRowOpensTheField(t *testing.T) {
	s, e := play(sheet(database), down, down, down, enter)
	if s.Place != Own || e.Send != nil {
		t.Fatalf("place %v, effect %+v", s.Place, e)
	}
	s, e = play(s, enter)
	if s.Place != Own || e.Send != nil || s.Notice == "" {
		t.Fatalf("Enter on the empty field: place %v, effect %+v", s.Place, e)
	}
}

// O5 (claude-code#25624): digits in the field are text.
func TestOwnAnswerIsSentAsTyped(t *testing.T) {
	_, e := play(sheet(database), Action{Do: Open}, write("15:00"), enter)
	if len(e.Send) != 1 || e.Send[0].Text != "15:00" || len(e.Send[0].Picked) != 0 {
		t.Fatalf("sent %+v", e.Send)
	}
}

// O6 (copilot-cli#4890): a draft survives going to other questions.
func TestDraftsSurviveTurning(t *testing.T) {
	s, _ := play(sheet(name, name, checks), write("A"), enter, write("B"), back)
	if s.Focus != 0 || s.Drafts[0].Text != "A" || !s.Drafts[0].Taken || s.Drafts[1].Text != "B" || s.Drafts[1].Taken {
		t.Fatalf("focus %d, drafts %+v", s.Focus, s.Drafts)
	}
}

// O8 (claude-code#73136): ticks and own text of a multi-select go out together.
func TestMultiSelectWithOwnText(t *testing.T) {
	_, e := play(sheet(checks), space, down, space, Action{Do: Open, Text: "fuzz, nightly"}, enter, enter)
	if len(e.Send) != 1 || len(e.Send[0].Picked) != 2 || e.Send[0].Text != "fuzz, nightly" {
		t.Fatalf("sent %+v", e.Send)
	}
}

// O9 (claude-code#92788): own text is not lost when a row is taken: it is shown on the review and goes along.
func TestTextBesideARowGoesThroughReview(t *testing.T) {
	s, e := play(sheet(database), Action{Do: Open}, write("long own words"), esc, up, up, enter)
	if !e.Warned || s.OnReview() || !strings.Contains(s.Notice, "your own answer is a draft") {
		t.Fatalf("the row that was only lit was taken: effect %+v, focus %d, %q", e, s.Focus, s.Notice)
	}
	s, e = play(s, enter)
	if e.Send != nil || !s.OnReview() {
		t.Fatalf("effect %+v, focus %d", e, s.Focus)
	}
	_, e = play(s, enter)
	if len(e.Send) != 1 || e.Send[0].Text != "long own words" || len(e.Send[0].Picked) != 1 {
		t.Fatalf("sent %+v", e.Send)
	}
}

// O10 (claude-code#56890, #78175): Esc in the field keeps the draft and earlier answers.
func TestEscInTheFieldKeepsEverything(t *testing.T) {
	s, e := play(sheet(database, checks), enter, Action{Do: Open}, write("half a"), esc)
	if e.Fold || s.Place != List || s.Drafts[1].Text != "half a" || !s.Drafts[0].Taken {
		t.Fatalf("place %v, drafts %+v", s.Place, s.Drafts)
	}
	if _, e = play(s, esc); !e.Fold {
		t.Fatal("Esc in the list did not fold")
	}
}

func TestReviewWarnsOfOpenQuestionsAndDrafts(t *testing.T) {
	s, _ := play(sheet(database, checks, name), enter, space, tab, tab)
	if !s.OnReview() {
		t.Fatalf("focus %d", s.Focus)
	}
	s, e := play(s, enter)
	if e.Send != nil || s.LitRow() != 1 {
		t.Fatalf("a draft went by: %+v, lit %d", e, s.LitRow())
	}
	s, e = play(s, space, enter)
	if e.Send != nil || !e.Warned {
		t.Fatalf("an open question went by: %+v", e)
	}
	_, e = play(s, enter)
	if len(e.Send) != 3 || len(e.Send[1].Picked) != 1 || !e.Send[2].Skipped {
		t.Fatalf("sent %+v", e.Send)
	}
}

func TestReviewCanLeaveADraftOut(t *testing.T) {
	s, _ := play(sheet(database, name), enter, write("x"), tab, down, space, space)
	s, e := play(s, enter)
	if len(e.Send) != 2 || !e.Send[1].Skipped || s.Drafts[1].Text != "x" {
		t.Fatalf("sent %+v, draft %+v", e.Send, s.Drafts[1])
	}
}

func TestDeclineCarriesReasonAndWhatWasAnswered(t *testing.T) {
	s, _ := play(sheet(database, checks), enter, Action{Do: Decline})
	if s.Place != Reason {
		t.Fatalf("place %v", s.Place)
	}
	kept, _ := play(s, write("not today"), esc)
	if kept.Place != List || kept.Reason != "not today" {
		t.Fatalf("place %v, reason %q", kept.Place, kept.Reason)
	}
	_, e := play(s, write("not today"), enter)
	if e.Decline == nil || e.Decline.Reason != "not today" || len(e.Decline.Partial[0].Picked) != 1 || !e.Decline.Partial[1].Empty() {
		t.Fatalf("declined %+v", e.Decline)
	}
}

func TestTheListIsAsItWasAfterTheField(t *testing.T) {
	s, _ := play(sheet(database), down, Action{Do: Open}, write("no,"), esc)
	if s.LitRow() != 1 {
		t.Errorf("row %d is lit", s.LitRow())
	}
	s, _ = play(s, down, down) // onto the own answer, which has a draft
	s, e := play(s, enter)
	if s.Place != Own || e.Send != nil {
		t.Errorf("Enter on the own answer's row sent its draft: %+v", e)
	}
}

func TestNoteGoesAlongAndEnterInItOnlySaves(t *testing.T) {
	s, e := play(sheet(database), Action{Do: Annotate}, write("for now"), enter)
	if e.Send != nil || s.Place != List {
		t.Fatalf("Enter in the note gave %+v", e)
	}
	_, e = play(s, enter)
	if len(e.Send) != 1 || e.Send[0].Note != "for now" || len(e.Send[0].Picked) != 1 {
		t.Fatalf("sent %+v", e.Send)
	}
}

func TestFilterListsAndAnswersOnlyWhatIsSeen(t *testing.T) {
	s, _ := play(sheet(database), Action{Do: Search}, write("LITE"), enter)
	if got := s.Listed(); len(got) != 1 || s.LitRow() != 1 {
		t.Fatalf("listed %v, lit %d", got, s.LitRow())
	}
	if _, e := play(s, enter); len(e.Send) != 1 || e.Send[0].Picked[0] != 1 {
		t.Errorf("sent %+v", e.Send)
	}
	s, e := play(sheet(database), Action{Do: Search}, write("nothing like it"), enter, enter, space)
	if e.Send != nil || len(s.Draft().Picked) != 0 {
		t.Errorf("a hidden row was taken: %+v", s.Draft())
	}
	if s, e = play(s, esc); e.Fold || len(s.Listed()) != 3 {
		t.Errorf("Esc gave %+v with %d rows", e, len(s.Listed()))
	}
}

func TestBlankOwnTextIsNoAnswer(t *testing.T) {
	_, e := play(sheet(checks), Action{Do: Open}, write(" \n"), esc, space, enter)
	if len(e.Send) != 1 || e.Send[0].Text != "" || len(e.Send[0].Picked) != 1 {
		t.Fatalf("sent %+v", e.Send)
	}
}

func TestSkipLeavesAQuestionOut(t *testing.T) {
	s, _ := play(sheet(database, checks), Action{Do: Skip}, space, enter)
	if !s.OnReview() {
		t.Fatalf("focus %d", s.Focus)
	}
	if _, e := play(s, enter); len(e.Send) != 2 || !e.Send[0].Skipped {
		t.Fatalf("sent %+v", e.Send)
	}
	// A stray letter must not open a field in which the next Enter ends the ask.
	if s, _ := play(sheet(database), Action{Do: Skip}); s.Place != List || s.Draft().Skipped || !strings.Contains(s.Notice, "^X") {
		t.Errorf("skipping the only question led to place %v, %q", s.Place, s.Notice)
	}
}

// A5 (eca#416): without options the field is focused, and Esc is no answer.
func TestQuestionWithoutOptionsIsAField(t *testing.T) {
	s := sheet(name)
	if s.Place != Own {
		t.Fatalf("place %v", s.Place)
	}
	s, e := play(s, esc)
	if e.Send != nil || s.Taken() != 0 {
		t.Fatalf("Esc gave %+v", e)
	}
}

// Whatever is done: what is sent answers every question and can be sent, no text that was typed is gone, and the
// sheet before a step is as it was.
func TestAnySequenceKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qs := rapid.SampledFrom([][]host.OperatorQuestion{
			{database}, {checks}, {name}, {database, checks}, {name, database, checks, name},
		}).Draw(t, "questions")
		s := New(qs, nil)
		written := make([]string, len(qs))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			a := Action{Do: Do(rapid.IntRange(0, int(Search)).Draw(t, "do")), N: rapid.IntRange(-2, 4).Draw(t, "n")}
			if a.Do == Write {
				a.Text = rapid.SampledFrom([]string{"", "a", "two words", "\n"}).Draw(t, "text")
				if s.Place == Own {
					written[s.Focus] = a.Text
				}
			}
			before := append([]host.Draft(nil), s.Drafts...)
			old := s
			next, e := s.Reduce(a)
			for i := range before {
				if old.Drafts[i].Text != before[i].Text || old.Drafts[i].Taken != before[i].Taken {
					t.Fatal("a step changed the sheet that it came from")
				}
			}
			if e.Finished {
				next, e = next.Advance()
			}
			s = next
			for i, w := range written {
				if s.Drafts[i].Text != w {
					t.Fatalf("question %d has %q, %q was typed", i, s.Drafts[i].Text, w)
				}
			}
			if e.Send != nil {
				if err := host.CheckAnswers(qs, e.Send); err != nil {
					t.Fatalf("what is sent cannot be: %v", err)
				}
				return
			}
			if s.Focus < 0 || s.Focus > len(qs) || s.LitRow() < 0 || s.LitRow() >= s.rows() {
				t.Fatalf("focus %d, lit %d", s.Focus, s.LitRow())
			}
		}
	})
}
