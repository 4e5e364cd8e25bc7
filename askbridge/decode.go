package askbridge

import (
	"fmt"
	"strings"
)

// Decode reads the arguments of the ask tool. It is tolerant where what is meant is clear, and says so in the
// notes; where it is not, the error is a *Faults that names everything at once. Texts come out as they were
// sent; see Safe for showing them.
func Decode(raw []byte, lim Limits) ([]Question, []Note, error) {
	if err := checkFrame(raw, lim); err != nil {
		return nil, nil, err
	}
	d := &decoder{lim: lim}
	root, err := parse(raw, lim.Depth)
	if err != nil {
		d.faults.add("arguments", "%v", err)
		return nil, nil, &d.faults
	}
	qs := d.questions(root)
	if len(d.faults.List) > 0 {
		return nil, nil, &d.faults
	}
	return qs, d.notes, nil
}

// checkFrame reports as *Faults that arguments are too long to be sent.
func checkFrame(raw []byte, lim Limits) error {
	if len(raw) <= lim.Frame {
		return nil
	}
	f := &Faults{}
	f.add("", "the arguments are %d bytes, %d can be sent", len(raw), lim.Frame)
	return f
}

type decoder struct {
	lim    Limits
	notes  []Note
	faults Faults
}

func (d *decoder) note(path, format string, args ...any) {
	d.notes = append(d.notes, Note{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (d *decoder) questions(root value) []Question {
	if root.kind != isObject {
		d.faults.add("arguments", "must be an object with \"questions\", not %s", root.kind)
		return nil
	}
	if isFlat(root) {
		d.note("", "one question at top level, taken as questions[0]")
		return d.check([]Question{d.question("questions[0]", root)})
	}
	fields := d.fields("", root, "questions", "question", "header", "options", "multiSelect")
	list, ok := fields["questions"]
	for _, stray := range []string{"question", "header", "options", "multiSelect"} {
		if _, there := fields[stray]; there && ok {
			d.note(stray, "ignored: beside \"questions\" it means nothing")
		}
	}
	list = d.unwrap("questions", list)
	switch {
	case !ok:
		d.faults.add("questions", "is missing; give a list of questions")
		return nil
	case list.kind != isList:
		d.faults.add("questions", "must be a list of questions, not %s", list.kind)
		return nil
	case len(list.items) == 0:
		d.faults.add("questions", "is empty; give at least one question")
		return nil
	case len(list.items) > d.lim.Questions:
		d.faults.add("questions", "has %d questions, %d can be asked at once", len(list.items), d.lim.Questions)
		return nil
	}
	var qs []Question
	for i, item := range list.items {
		qs = append(qs, d.question(fmt.Sprintf("questions[%d]", i), item))
	}
	return d.check(qs)
}

// isFlat reports whether an object is itself a question.
func isFlat(root value) bool {
	flat := false
	for _, m := range root.members {
		if m.name == "questions" {
			return false
		}
		flat = flat || m.name == "question" && m.value.kind == isString
	}
	return flat
}

// unwrap reads a value that was sent as a JSON string once more, as models at times do.
func (d *decoder) unwrap(path string, v value) value {
	if v.kind != isString || !strings.ContainsAny(firstByte(v.text), "[{") {
		return v
	}
	inner, err := parse([]byte(v.text), d.lim.Depth)
	if err != nil {
		return v
	}
	d.note(path, "was a string of JSON, read as what it contains")
	return inner
}

func firstByte(s string) string {
	if s = strings.TrimSpace(s); s != "" {
		return s[:1]
	}
	return ""
}

func (d *decoder) question(path string, v value) Question {
	if v.kind != isObject {
		d.faults.add(path, "must be an object with \"question\" and \"options\", not %s", v.kind)
		return Question{}
	}
	fields := d.fields(path, v, "question", "header", "options", "multiSelect")
	q := Question{
		Question: d.text(path+".question", fields, "question", true, d.lim.Question),
		Header:   d.text(path+".header", fields, "header", false, d.lim.Header),
	}
	switch multi := fields["multiSelect"]; multi.kind {
	case isBool:
		q.MultiSelect = multi.truth
	case isNull:
		if _, there := fields["multiSelect"]; there {
			d.note(path+".multiSelect", "null, taken as false")
		}
	default:
		d.faults.add(path+".multiSelect", "must be true or false, not %s", multi.kind)
	}
	q.Options = d.options(path+".options", fields["options"])
	return q
}

func (d *decoder) options(path string, v value) []Option {
	v = d.unwrap(path, v)
	switch {
	case v.kind == isNull:
		return nil
	case v.kind != isList:
		d.faults.add(path, "must be a list of options, not %s", v.kind)
		return nil
	case len(v.items) > d.lim.Options:
		d.faults.add(path, "has %d options, %d can be shown", len(v.items), d.lim.Options)
		return nil
	}
	var out []Option
	for i, item := range v.items {
		out = append(out, d.option(fmt.Sprintf("%s[%d]", path, i), item))
	}
	return out
}

func (d *decoder) option(path string, v value) Option {
	switch v.kind {
	case isString:
		d.note(path, "a bare string, taken as the label")
		return Option{Label: d.text(path, map[string]value{"label": v}, "label", true, d.lim.Label)}
	case isObject:
		fields := d.fields(path, v, "label", "description", "preview")
		return Option{
			Label:       d.text(path+".label", fields, "label", true, d.lim.Label),
			Description: d.text(path+".description", fields, "description", false, d.lim.Description),
			Preview:     d.text(path+".preview", fields, "preview", false, d.lim.Preview),
		}
	}
	d.faults.add(path, "must be an object with \"label\" and \"description\", not %s", v.kind)
	return Option{}
}

// text reads one string. Blank counts as missing.
func (d *decoder) text(path string, fields map[string]value, name string, required bool, limit int) string {
	v := fields[name]
	switch {
	case v.kind == isNull && required:
		d.faults.add(path, "is missing")
	case v.kind == isNull:
	case v.kind != isString:
		d.faults.add(path, "must be a string, not %s", v.kind)
	case required && strings.TrimSpace(v.text) == "":
		d.faults.add(path, "is blank")
	case len(v.text) > limit:
		d.faults.add(path, "is %d bytes, %d can be shown; shorten it", len(v.text), limit)
	default:
		return v.text
	}
	return ""
}

// fields indexes the members of an object. A key that stands twice is a fault: which one is meant is anybody's
// guess. Keys that mean nothing here are noted once an object.
func (d *decoder) fields(path string, v value, known ...string) map[string]value {
	out := map[string]value{}
	var unknown []string
	for _, m := range v.members {
		at := strings.TrimPrefix(path+"."+m.name, ".")
		if _, twice := out[m.name]; twice {
			d.faults.add(Safe(at), "is given twice")
			continue
		}
		out[m.name] = m.value
		if !contains(known, m.name) {
			unknown = append(unknown, Safe(m.name))
		}
	}
	if len(unknown) > 0 {
		if len(unknown) > 8 {
			unknown = append(unknown[:8], "…")
		}
		d.note(path, "unknown fields ignored: %s", strings.Join(unknown, ", "))
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// check compares questions and labels: an answer is told apart by their texts when it goes home.
func (d *decoder) check(qs []Question) []Question {
	seen := map[string]int{}
	for i, q := range qs {
		path := fmt.Sprintf("questions[%d]", i)
		if first, twice := seen[q.Question]; twice && q.Question != "" {
			d.faults.add(path+".question", "repeats questions[%d].question; give each question its own text", first)
		} else {
			seen[q.Question] = i
		}
		labels := map[string]int{}
		for j, o := range q.Options {
			if first, twice := labels[o.Label]; twice && o.Label != "" {
				d.faults.add(fmt.Sprintf("%s.options[%d].label", path, j), "repeats %s.options[%d].label; give each option its own label", path, first)
			} else {
				labels[o.Label] = j
			}
		}
	}
	return qs
}
