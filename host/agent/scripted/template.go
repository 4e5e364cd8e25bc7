package scripted

import (
	"fmt"
	"strings"
	"text/template"
)

// promptRunes is how much of a prompt short leaves.
const promptRunes = 60

// parseTemplate reads a text of a scenario:
//
//	{{.Prompt}}                    the prompt of the run
//	{{short .Prompt}}              the first line of it, cut
//	{{answer "id" "question"}}     the answer to one question; a list is joined. An error when it was skipped
//	{{range answers "id"}}         every question of an ask, each an Answer
//	{{error "id"}}                 what a failed call said
//
// Everything that is not there is an error, never an empty text. m may be nil, to check the syntax alone.
func parseTemplate(text string, m *memory) (*template.Template, error) {
	return template.New("text").Option("missingkey=error").Funcs(template.FuncMap{
		"short":   short,
		"answer":  m.answerText,
		"answers": m.answerList,
		"error":   m.errorText,
	}).Parse(text)
}

// expand fills a text of the scenario in.
func (p *player) expand(text string) (string, error) {
	t, err := parseTemplate(text, &p.memory)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, struct{ Prompt string }{p.prompt}); err != nil {
		return "", fmt.Errorf("the scenario's text cannot be filled in: %w", err)
	}
	return out.String(), nil
}

func (m *memory) answerText(id, question string) (string, error) {
	out, err := m.answered(id)
	if err != nil {
		return "", err
	}
	a, err := out.answer(question)
	if err == nil && a.Skipped {
		err = fmt.Errorf("the question %q was skipped", question)
	}
	return a.Text, err
}

func (m *memory) answerList(id string) ([]Answer, error) {
	out, err := m.answered(id)
	if err != nil {
		return nil, err
	}
	var list []Answer
	for _, q := range out.asked {
		a, err := out.answer(q)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (m *memory) answered(id string) (outcome, error) {
	out, err := m.outcome(id)
	if err == nil && out.failed {
		err = fmt.Errorf("the call %q failed", id)
	}
	return out, err
}

func (m *memory) errorText(id string) (string, error) {
	out, err := m.outcome(id)
	if err == nil && !out.failed {
		err = fmt.Errorf("the call %q did not fail", id)
	}
	return out.text, err
}

func short(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(strings.TrimSpace(line))
	if len(runes) > promptRunes {
		return string(runes[:promptRunes-1]) + "…"
	}
	if more {
		return string(runes) + " …"
	}
	return string(runes)
}
